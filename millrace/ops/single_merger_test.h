// For tests: one merger of the library, made from its text, fed with blocks of numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/merger.h"

namespace millrace::ops {

// What stands behind three inputs, "zip(%0, %1, %2)": two ranges of 10 and 20 rows with
// the field value, and one of 30 rows with the field x.
inline absl::StatusOr<ir::Pipeline> BehindInputs(const std::string& text) {
  return ir::Parse(base::StrCat("%0 = range(stop=10) %1 = range(stop=20) ",
                                "%2 = range(stop=30) %3 = rename(%2, from=[\"value\"], "
                                "to=[\"x\"]) %4 = ",
                                text),
                   {}, DefaultLibrary().catalog());
}

class SingleMerger {
 public:
  explicit SingleMerger(const std::string& text, uint64_t seed = 1, uint64_t epoch = 0)
      : node_(*BehindInputs(text)),
        runs_(DefaultLibrary().MakeMerger(
            node_, {.pool = core::HeapPool(),
                    .inputs = static_cast<int>(node_.inputs().size()),
                    .seed = seed,
                    .epoch = epoch})) {}

  int Wants() const { return runs_->Wants(); }

  absl::Status Push(core::Block rows) { return runs_->Push(std::move(rows), out_); }

  absl::Status End() { return runs_->End(out_); }

  // Gives it the blocks of each input, whichever it wants, until it wants none.
  absl::Status RunAll(std::vector<std::vector<core::Block>> inputs) {
    std::vector<size_t> given(inputs.size());
    while (Wants() != Merger::kNone) {
      const int input = Wants();
      CHECK_LT(input, std::ssize(inputs));
      const bool ended = given[input] == inputs[input].size();
      TRY(ended ? End() : Push(inputs[input][given[input]++]));
    }
    return absl::OkStatus();
  }

  const std::vector<core::Block>& blocks() const { return out_.blocks; }

  // The field's values in all blocks so far.
  std::vector<int64_t> Values(std::string_view field = "value") const {
    std::vector<int64_t> values;
    for (const core::Block& block : out_.blocks) {
      const auto part = block.Find(field)->As<int64_t>();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

  std::vector<core::RowId> Ids() const {
    std::vector<core::RowId> ids;
    for (const core::Block& block : out_.blocks) {
      for (int64_t row = 0; row < block.rows(); ++row) ids.push_back(block.IdAt(row));
    }
    return ids;
  }

 private:
  ir::Pipeline node_;
  std::unique_ptr<Merger> runs_;
  Collector out_;
};

}  // namespace millrace::ops
