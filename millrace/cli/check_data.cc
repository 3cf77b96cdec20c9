#include "millrace/cli/check_data.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/literal.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::cli {
namespace {

// What a file is, by the end of its name: how its rows are found, where that is by
// scanning, and which source reads them all.
struct Ending {
  std::string_view text;
  std::optional<storage::RowFormat> format;
  std::string_view source;
  std::string_view arguments = "";
};

constexpr std::string_view kWithDefaults = ", missing=\"default\"";

constexpr std::array<Ending, 13> kEndings = {{
    {".tar", storage::RowFormat::kTar, "read_tar", ", fields=[]"},
    {".tgz", storage::RowFormat::kTar, "read_tar", ", fields=[]"},
    {".tfrecord", storage::RowFormat::kTfrecord, "read_tfrecord"},
    {".tfrecords", storage::RowFormat::kTfrecord, "read_tfrecord"},
    {".txt", storage::RowFormat::kLines, "read_text"},
    {".csv", storage::RowFormat::kCsv, "read_csv"},
    {".json", storage::RowFormat::kLines, "read_jsonl", kWithDefaults},
    {".jsonl", storage::RowFormat::kLines, "read_jsonl", kWithDefaults},
    {".ndjson", storage::RowFormat::kLines, "read_jsonl", kWithDefaults},
    {".parquet", std::nullopt, "read_parquet", kWithDefaults},
    {".arrow", std::nullopt, "read_arrow", kWithDefaults},
    {".arrows", std::nullopt, "read_arrow", kWithDefaults},
    {".feather", std::nullopt, "read_arrow", kWithDefaults},
}};

absl::StatusOr<Ending> EndingOf(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst", ".lz4", ".sz"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending;
  }
  return absl::InvalidArgumentError(
      base::StrCat("cannot tell the format of ", path,
                   ": its name should end in .tar, .tgz, .tfrecord, .jsonl, .csv or "
                   ".txt, or that and .gz, .zst, .lz4 or .sz; or in .parquet, .arrow "
                   "or .feather"));
}

// Writes down every bad row, and goes on.
class Noted final : public ops::BadRows {
 public:
  explicit Noted(CheckedFile& checked) : checked_(checked) {}

  absl::Status LeaveOut(const ops::BadRow& row) override {
    checked_.bad.emplace_back(base::ToStd(row.why.message()));
    return absl::OkStatus();
  }

 private:
  CheckedFile& checked_;
};

absl::Status ReadAll(ops::Source& source, CheckedFile& checked) {
  Noted noted(checked);
  const lanes::Manifest manifest = TRY(source.List());
  const int64_t end = manifest.splits.at(0).rows.value_or(lanes::kRowsMax);
  const std::unique_ptr<ops::Reader> reader =
      TRY(source.Open({.split = 0, .begin = 0, .end = end}));
  while (true) {
    TRY(reader->Fetch());
    const std::optional<core::Block> block = TRY(reader->Next(noted));
    if (!block) return absl::OkStatus();
    checked.rows += block->rows();
  }
}

}  // namespace

absl::StatusOr<storage::RowFormat> FormatOf(const std::string& path) {
  const Ending ending = TRY(EndingOf(path));
  if (ending.format) return *ending.format;
  return absl::InvalidArgumentError(
      base::StrCat("files like ", path, " need no index: they count their rows"));
}

absl::StatusOr<CheckedFile> CheckFile(const std::string& path) {
  const Ending ending = TRY(EndingOf(path));
  const std::string text = base::StrCat("%0 = ", ending.source, "(paths=[",
                                        ir::Quote(path), "]", ending.arguments, ")");
  const ops::Library& library = ops::DefaultLibrary();
  const ir::Pipeline node = TRY(ir::Parse(text, {}, library.catalog()));
  CheckedFile checked;
  const std::unique_ptr<ops::Source> source =
      library.MakeSource(node, {.pool = core::HeapPool(), .with_ids = false});
  TRY(ReadAll(*source, checked));
  return checked;
}

}  // namespace millrace::cli
