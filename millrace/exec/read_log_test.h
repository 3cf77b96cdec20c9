// For tests: reads what a reader gives, and writes down all that happens, in order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/nested_reader.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

using Events = std::vector<std::string>;

// A row is written as its number, a batch as "1,2,3", a row that was left out as "-",
// and an error as "!".
class ReadLog {
 public:
  void Add(const Item& item) {
    if (item.left_out) {
      events.emplace_back("-");
      why = item.left_out->why;
      return;
    }
    const core::Block& block = item.block;
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Tensor values = *block.Find("value")->Row(row);
      std::string text;
      for (const int64_t value : values.As<int64_t>()) {
        text += base::StrCat(text.empty() ? "" : ",", value);
      }
      events.push_back(std::move(text));
      if (block.has_ids()) ids.push_back(block.IdAt(row));
    }
  }

  void Fail(absl::Status status) {
    events.emplace_back("!");
    why = std::move(status);
  }

  Events events;
  std::vector<core::RowId> ids;
  absl::Status why;  // Of the last row that was left out, or the error.
};

// Reads to the end or the first error. Readers give items.
template <typename Reader>
ReadLog LogOf(Reader& reader) {
  ReadLog log;
  while (true) {
    absl::StatusOr<std::optional<Item>> item = reader.Next();
    if (!item.ok()) log.Fail(item.status());
    if (!item.ok() || !*item) return log;
    log.Add(**item);
  }
}

// What a source's passes give of a split, from a row on.
inline ReadLog LogOf(const NestedSource& source, int64_t split, int64_t begin = 0) {
  NestedReader reader(source.InputsOf({split, begin, lanes::kRowsMax}).value(),
                      ops::DefaultLibrary(), core::HeapPool());
  return LogOf(reader);
}

// Plans a pass whose sources are cut into lanes of so many rows.
inline std::shared_ptr<PassPlan> PlanInLanes(std::string_view text, int64_t lane_rows,
                                             PassOptions options = {}) {
  const std::vector<ir::Pipeline> nodes = MustParse(text).Nodes();
  for (const ir::Pipeline& node : nodes) {
    if (!node.schema().traits.source) continue;
    options.cuts.push_back({.lane_rows = lane_rows, .exact_ends = true});
  }
  absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten(text), ops::DefaultLibrary(), options);
  CHECK(plan.ok()) << plan.status();
  return std::make_shared<PassPlan>(*std::move(plan));
}

}  // namespace millrace::exec
