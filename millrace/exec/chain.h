// The operators of one stage in a row: what one gives enters the next, and what the
// last gives is collected. Runs the pass's operators on one thread at a time, meters
// them, and names the operator and the row in an error, or notes where a row was left
// out. At the joining place (the last batching
// operator) the tails of a lane are kept for the next lane; elsewhere they are flushed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {

// Rows that fill no batch, by key.
using Tails = std::map<int64_t, core::Block>;

// The lane that a chain works on.
struct ChainLane {
  ops::LaneContext context;
  int64_t number = 0;
};

class Chain {
 public:
  // Makes fresh operators, for this lane. Everything must outlive the chain.
  Chain(const PassPlan& plan, const Stage& stage, const ops::Library& library,
        const ChainLane& lane, Meters& meters);
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  // Works on another lane from now on. Requires: only row-wise operators.
  void SetLane(int64_t number) { lane_number_ = number; }

  // Says where the rows of the next Push are wanted, by field of what comes out.
  void WriteInto(std::vector<core::Buffer> places) {
    operators_.back()->WriteInto(std::move(places));
  }

  // Runs the next rows of the lane through all operators.
  absl::Status Push(core::Block block);

  // Gives the joining operator, which is the first, what the lane before left over.
  absl::Status PushCarry(const Tails& tails);

  // Lets the operators give what they hold back, a piece at a time. `ends_pass`: there
  // is no further lane to take the tails.
  absl::StatusOr<ops::Held> Finish(bool ends_pass);

  // Whether nothing comes out any more, whatever is pushed.
  bool ended() const { return EndedBehind(stage_.first - 1); }

  // Takes what came out so far: rows, and which were left out between them.
  std::vector<Item> TakeOutput();

  // Takes the joining operator's tails, once finished.
  Tails TakeTails();

 private:
  class Output;

  ops::Operator& At(int place) { return *operators_[place - stage_.first]; }

  Output& OutputOf(int place) { return *outputs_[place - stage_.first]; }

  // Whether an operator behind this place gives nothing any more.
  bool EndedBehind(int place) const;

  // Runs one operator; `run` returns its status.
  template <typename Run>
  absl::Status Enter(int place, const Run& run);

  absl::Status PushAt(int place, core::Block block);
  absl::Status FinishPass(int place);
  void SwitchTo(int place);

  const PassPlan& plan_;
  const Stage stage_;
  Meters& meters_;
  int64_t lane_number_;
  std::vector<std::unique_ptr<ops::Operator>> operators_;
  std::vector<std::unique_ptr<Output>> outputs_;  // One of each operator.
  std::vector<Item> collected_;
  Tails tails_;
  int64_t key_ = -1;    // Of what leaves the joining operator, where it tells.
  int finishing_;       // The place that is being finished.
  bool named_ = false;  // The error on its way out has been named.
  int timed_ = -1;      // The place whose time is running.
  int64_t timed_since_ = 0;
};

}  // namespace millrace::exec
