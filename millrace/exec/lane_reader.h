// Reads what comes out of a run of lanes of a plan, as a source's reader gives rows:
// for operators that make one stream of several. Where the plan's operators are all
// row-wise they run in the work that makes a block, on any thread; else one after
// another, as blocks are found. Tails are joined from lane to lane, and end with the
// last.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/clock.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// What to read.
struct LaneRun {
  std::shared_ptr<PassPlan> plan;  // Grows where the run goes on to its end.
  int64_t begin = 0;               // The first lane, ...
  std::optional<int64_t> end =
      {};             // ... and the one behind the last; none: to the end.
  int64_t skip = 0;   // Rows to leave out.
  uint64_t turn = 0;  // The key of a repeat's turn; rows of later ones are other rows.
};

class LaneReader final : public ops::FindingReader {
 public:
  // Requires: library and pool outlive it.
  LaneReader(LaneRun run, const ops::Library& library, core::Pool& pool);

  absl::Status Fetch() override;
  absl::StatusOr<bool> FetchNow() override;
  std::shared_ptr<ops::FetchAhead> Ahead() override;
  int64_t ahead() const override;
  absl::StatusOr<std::optional<ops::FoundWork>> Find() override;

 private:
  class Pushes;

  absl::Status OpenNext();
  absl::Status BeginLane();
  absl::StatusOr<bool> HasLane();
  absl::Status EndLane();
  absl::Status FinishOperators(bool is_last);
  absl::Status PushJoining();
  void Collect();
  std::optional<ops::FoundWork> TakeReady();

  const LaneRun run_;
  const ops::Library& library_;
  core::Pool& pool_;
  const bool row_wise_;  // All operators are, and nothing is left out.
  Meters meters_;        // Of nobody.
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
};

// The identities that rows have in the turn of a repeat that has this key.
absl::StatusOr<core::Block> InTurn(const core::Block& block, uint64_t turn,
                                   core::Pool& pool);

}  // namespace millrace::exec
