#include "millrace/cli/check_data.h"

#include <array>
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

struct Ending {
  std::string_view text;
  storage::RowFormat format;
};

constexpr std::array<Ending, 6> kEndings = {{
    {".tar", storage::RowFormat::kTar},
    {".tgz", storage::RowFormat::kTar},
    {".tfrecord", storage::RowFormat::kTfrecord},
    {".tfrecords", storage::RowFormat::kTfrecord},
    {".txt", storage::RowFormat::kLines},
    {".csv", storage::RowFormat::kCsv},
}};

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

std::string SourceText(const std::string& path, storage::RowFormat format) {
  const std::string paths = base::StrCat("paths=[", ir::Quote(path), "]");
  switch (format) {
    case storage::RowFormat::kTar:
      return base::StrCat("%0 = read_tar(", paths, ", fields=[])");
    case storage::RowFormat::kTfrecord:
      return base::StrCat("%0 = read_tfrecord(", paths, ")");
    case storage::RowFormat::kCsv:
    case storage::RowFormat::kCsvWithoutHeader:
      return base::StrCat("%0 = read_csv(", paths, ")");
    case storage::RowFormat::kLines:
      break;
  }
  return base::StrCat("%0 = read_text(", paths, ")");
}

absl::Status ReadAll(const ops::Source& source, CheckedFile& checked) {
  Noted noted(checked);
  const std::unique_ptr<ops::Reader> reader =
      TRY(source.Open({.split = 0, .begin = 0, .end = lanes::kRowsMax}));
  while (true) {
    TRY(reader->Fetch());
    const std::optional<core::Block> block = TRY(reader->Next(noted));
    if (!block) return absl::OkStatus();
    checked.rows += block->rows();
  }
}

}  // namespace

absl::StatusOr<storage::RowFormat> FormatOf(const std::string& path) {
  std::string_view name = path;
  for (const std::string_view packed : {".gz", ".zst", ".lz4", ".sz"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.format;
  }
  return absl::InvalidArgumentError(
      base::StrCat("cannot tell the format of ", path,
                   ": its name should end in .tar, .tgz, .tfrecord, .csv or .txt, "
                   "or that and .gz, .zst, .lz4 or .sz"));
}

absl::StatusOr<CheckedFile> CheckFile(const std::string& path) {
  const storage::RowFormat format = TRY(FormatOf(path));
  const ops::Library& library = ops::DefaultLibrary();
  const ir::Pipeline node =
      TRY(ir::Parse(SourceText(path, format), {}, library.catalog()));
  CheckedFile checked;
  const std::unique_ptr<ops::Source> source =
      library.MakeSource(node, {.pool = core::HeapPool(), .with_ids = false});
  TRY(source->List());
  TRY(ReadAll(*source, checked));
  return checked;
}

}  // namespace millrace::cli
