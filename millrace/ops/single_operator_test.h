// For tests: one operator of the library, made from its text, fed with blocks of
// numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::ops {

// A block with the field `value`, and an identity for each row.
inline core::Block NumberBlock(const std::vector<int64_t>& numbers) {
  const auto rows = static_cast<int64_t>(numbers.size());
  std::vector<core::RowId> ids;
  ids.reserve(numbers.size());
  for (const int64_t number : numbers) ids.push_back(SourceRowId(0, 0, number));
  core::Column values =
      core::Column::Dense(core::DType::kInt64, rows, {},
                          *core::CopyBytes(numbers.data(), rows * 8, core::HeapPool()));
  return core::Block(rows, core::FieldNames{"value"}, {std::move(values)})
      .WithIds(*core::IdColumn(ids, core::HeapPool()));
}

// Numbers begin, ..., end - 1.
inline core::Block Numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return NumberBlock(numbers);
}

class SingleOperator {
 public:
  // `text` is the operator as it would stand behind a range: "batch(%0, size=4)".
  explicit SingleOperator(const std::string& text,
                          LaneContext lane = TestLane(NoBadRows()))
      : node_(Parse(text)), runs_(DefaultLibrary().Make(node_, lane)) {}

  static LaneContext TestLane(BadRows& bad_rows = NoBadRows()) {
    return {.pool = core::HeapPool(),
            .seed = 1,
            .epoch = 0,
            .lane = {3, 4},
            .bad_rows = bad_rows};
  }

  const ir::Pipeline& node() const { return node_; }

  Operator& operator*() const { return *runs_; }

  Collector& out() { return out_; }

  absl::Status Push(core::Block block) { return runs_->Push(std::move(block), out_); }

  absl::Status Finish() {
    while (TRY(runs_->Finish(out_)) == Held::kMore) {
    }
    return absl::OkStatus();
  }

  // The field's values in all blocks so far.
  std::vector<int64_t> Values(std::string_view field = "value") const {
    std::vector<int64_t> values;
    for (const core::Block& block : out_.blocks) {
      const auto part = block.Find(field)->As<int64_t>();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

 private:
  static ir::Pipeline Parse(const std::string& text) {
    absl::StatusOr<ir::Pipeline> pipeline =
        ir::Parse(base::StrCat("%0 = range(stop=1000)\n%1 = ", text), {},
                  DefaultLibrary().catalog());
    CHECK(pipeline.ok()) << pipeline.status();
    return *std::move(pipeline);
  }

  ir::Pipeline node_;
  std::unique_ptr<Operator> runs_;
  Collector out_;
};

// Why an operator cannot stand behind a range.
inline std::string ErrorOf(const std::string& text) {
  return std::string(ir::Parse(base::StrCat("%0 = range(stop=1000)\n%1 = ", text), {},
                               DefaultLibrary().catalog())
                         .status()
                         .message());
}

}  // namespace millrace::ops
