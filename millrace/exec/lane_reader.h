// Reads what comes out of a run of lanes of a plan, as a source's reader gives rows:
// for operators that make one stream of several, in the sequential runner. Operators
// run one after another, as blocks are read. Tails are joined from lane to lane, and
// end with the last.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

class LaneReader final : public ops::Reader {
 public:
  // Requires: one run, and no merger; library and pool outlive it.
  LaneReader(Inputs inputs, const ops::Library& library, core::Pool& pool);

  absl::Status Fetch() override;
  absl::StatusOr<std::optional<core::Block>> Next(ops::BadRows& bad_rows) override;

 private:
  class Notes;

  absl::Status ReadOn();
  absl::Status Push(core::Block block);
  absl::Status OpenNext();
  absl::Status BeginLane();
  absl::StatusOr<bool> HasLane();
  absl::Status EndLane();
  absl::Status FinishOperators(bool is_last);
  absl::Status PushJoining();
  void Collect();

  const LaneRun run_;
  std::function<void(bool any)> tell_ended_;
  const ops::Library& library_;
  core::Pool& pool_;
  Meters meters_;  // Of nobody.
  int64_t lane_;
  bool in_lane_ = false;
  bool ended_ = false;
  std::vector<ops::RowRanges> parts_;    // Of the lane, the last one first.
  std::unique_ptr<ops::Reader> reader_;  // Of a part.
  std::unique_ptr<Chain> before_;        // Operators before the joining one, if any.
  std::unique_ptr<Chain> joining_;       // That one and those behind it, if any.
  Tails tails_;                          // Of the lane before.
  SkippedRows to_skip_;
  std::deque<Item> ready_;
  bool any_ = false;  // Rows were given.
};

}  // namespace millrace::exec
