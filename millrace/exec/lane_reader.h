// Reads what comes out of a run of lanes of a plan, one block after another: for
// operators that make one stream of several, in the sequential runner. Tails are joined
// from lane to lane, and end with the last.
#pragma once

#include <cstdint>
#include <deque>
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
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

class NestedReader;

class LaneReader {
 public:
  // Requires: library and pool outlive it.
  LaneReader(LaneSeries run, const ops::Library& library, core::Pool& pool);
  LaneReader(LaneReader&& other) noexcept;
  LaneReader& operator=(LaneReader&&) = delete;
  ~LaneReader();

  // Gives rows, or that a row was left out; nothing at the end. What came out before an
  // error is given before it.
  absl::StatusOr<std::optional<Item>> Next();

 private:
  class Notes;

  // Whether an operator wants no more of the lane's rows.
  bool EndedBefore() const;

  absl::Status ReadOn();
  absl::Status ReadRows();
  absl::Status ReadNested();
  absl::Status EndPart();
  absl::Status Named(const absl::Status& status) const;
  absl::Status Push(core::Block block);
  absl::Status OpenNext();
  absl::Status BeginLane();
  absl::StatusOr<bool> HasLane();
  absl::Status EndLane();
  absl::Status FinishOperators(bool is_last);
  absl::Status PushJoining();
  void Collect();

  const LaneSeries run_;
  const ops::Library& library_;
  core::Pool& pool_;
  std::unique_ptr<Meters> meters_;  // Of nobody.
  int64_t lane_;
  bool in_lane_ = false;
  bool ended_ = false;
  std::vector<ops::RowRanges> parts_;     // Of the lane, the last one first.
  std::unique_ptr<ops::Reader> reader_;   // Of a part, ...
  std::unique_ptr<NestedReader> nested_;  // ... where its rows come from other passes.
  std::unique_ptr<Chain> before_;         // Operators before the joining one, if any.
  std::unique_ptr<Chain> joining_;        // That one and those behind it, if any.
  Tails tails_;                           // Of the lane before.
  SkippedRows to_skip_;
  std::deque<Item> ready_;
  absl::Status named_;  // The error that says where it happened.
};

}  // namespace millrace::exec
