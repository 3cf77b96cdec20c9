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
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

using Events = std::vector<std::string>;

// A row is written as its number, a batch as "1,2,3", a row that was left out as "-",
// and an error as "!".
class ReadLog final : public ops::RowsSink {
 public:
  absl::Status Give(core::Block block) override {
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Tensor values = *block.Find("value")->Row(row);
      std::string text;
      for (const int64_t value : values.As<int64_t>()) {
        text += base::StrCat(text.empty() ? "" : ",", value);
      }
      events.push_back(std::move(text));
      if (block.has_ids()) ids.push_back(block.IdAt(row));
    }
    return absl::OkStatus();
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    events.emplace_back("-");
    why = row.why;
    return absl::OkStatus();
  }

  void Fail(absl::Status status) {
    events.emplace_back("!");
    why = std::move(status);
  }

  Events events;
  std::vector<core::RowId> ids;
  absl::Status why;  // Of the last row that was left out, or the error.
};

// Reads with Next, to the end or the first error.
inline ReadLog LogNext(ops::Reader& reader) {
  ReadLog log;
  while (true) {
    if (absl::Status fetched = reader.Fetch(); !fetched.ok()) {
      log.Fail(std::move(fetched));
      return log;
    }
    absl::StatusOr<std::optional<core::Block>> block = reader.Next(log);
    if (!block.ok()) log.Fail(block.status());
    if (!block.ok() || !*block) return log;
    CHECK(log.Give(**block).ok());
  }
}

// Reads with Find, all work done only after all was found, as by other threads.
inline ReadLog LogFind(ops::Reader& reader) {
  ReadLog log;
  std::vector<ops::FoundWork> found;
  absl::Status status;
  while (status.ok()) {
    status = reader.Fetch();
    if (!status.ok()) break;
    absl::StatusOr<std::optional<ops::FoundWork>> work = reader.Find();
    status = work.status();
    if (!status.ok() || !*work) break;
    found.push_back(**std::move(work));
  }
  for (ops::FoundWork& work : found) {
    const absl::Status made = std::move(work)(log);
    if (made.ok()) continue;
    log.Fail(made);
    return log;
  }
  if (!status.ok()) log.Fail(std::move(status));
  return log;
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
