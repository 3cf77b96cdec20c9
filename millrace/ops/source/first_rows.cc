#include "millrace/ops/source/first_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/scan_source.h"

namespace millrace::ops {
namespace {

constexpr int64_t kRowsWanted = 1000;
constexpr int64_t kBytesWanted = 1 << 20;

// Whoever reads all of the rows hears of them.
class PassedOver final : public BadRows {
 public:
  absl::Status LeaveOut(const BadRow& /*row*/) override { return absl::OkStatus(); }
};

absl::StatusOr<std::vector<std::string>> ReadSome(Reader& reader) {
  std::vector<std::string> texts;
  int64_t bytes = 0;
  PassedOver bad_rows;
  while (true) {
    TRY(reader.Fetch());
    const std::optional<core::Block> block = TRY(reader.Next(bad_rows));
    if (!block) return texts;
    for (int64_t row = 0; row < block->rows(); ++row) {
      if (std::ssize(texts) >= kRowsWanted || bytes >= kBytesWanted) return texts;
      const core::Tensor text = TRY(block->columns()[0].Row(row));
      texts.emplace_back(text.TextAt(0));
      bytes += std::ssize(texts.back());
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadFirstTexts(
    const std::vector<std::string>& paths, const ScanFormat& format) {
  ScanSource source(paths, format, {.pool = core::HeapPool(), .with_ids = false});
  const lanes::Manifest manifest = TRY(source.List());
  for (int64_t split = 0; split < std::ssize(manifest.splits); ++split) {
    const int64_t end = manifest.splits[split].rows.value_or(lanes::kRowsMax);
    const std::unique_ptr<Reader> reader =
        TRY(source.Open({.split = split, .begin = 0, .end = end}));
    std::vector<std::string> texts = TRY(ReadSome(*reader));
    if (!texts.empty()) return texts;
  }
  return absl::InvalidArgumentError(
      "the files have no rows to tell the fields by: give argument fields");
}

}  // namespace millrace::ops
