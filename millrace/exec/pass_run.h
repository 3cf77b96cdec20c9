// One pass at work: the lanes that are open, what they have ready, and how far the
// consumer took them. Lanes are opened in order, a few ahead where there is memory, and
// delivered in order, or each as it comes. Like the stages it is made of, it has no
// lock of its own: the engine's guards all of it, but for the running of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/mutex.h"
#include "millrace/core/pool.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/read_stage.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/rest.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

// Where a pass runs.
struct PassPlace {
  const ops::Library& library;
  core::Pool& pool;
  const Memory& memory;
  Meters& meters;
  int threads = 1;
  base::CondVar* changed = nullptr;  // Of the pass that this one is nested in.
};

class PassRun {
 public:
  // Runs these lanes of the plan, in this order. Requires: all outlive it.
  // The plan grows as the pass goes on, where it can.
  PassRun(PassPlan& plan, const PassPlace& place, std::vector<lanes::LaneRange> lanes);
  ~PassRun();
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  // Takes up work, nearest to the consumer first; false when there is none now.
  // `first`: this pass is being delivered.
  bool Claim(bool first, Task& task);
  bool ClaimFetch(bool first, Task& task);
  void Complete(Task task);

  // Tells whether tasks of a stage are this pass's to complete.
  bool Owns(const StageRun* stage) const;

  // Tells whether a claim might be granted: sometimes says so where it would not be,
  // never the other way round.
  bool HasWork() const;
  bool HasFetch() const;

  // Tasks that are being run; none may be when the pass is destroyed.
  int running() const { return running_; }

  // Gives up: no more work is claimed.
  void Stop() { stopped_ = true; }

  // Whether Take has an answer: a block, the end, or an error.
  bool ready() const;

  // Blocks of the lane of a turn, each with its position in that lane's stream.
  struct Ready {
    int64_t turn = 0;
    std::deque<Item> items = {};
  };

  // Takes the blocks that are ready of a lane; an error is the last of them. Nothing at
  // the end of the pass. Requires: ready().
  Ready TakeReady();

  // What is left once every lane was given up to these positions.
  std::vector<lanes::LaneRange> Left(const Positions& positions) const;

  // Lanes that were cut so far.
  int64_t planned_lanes() const { return plan_.lanes.size(); }

  // Signalled when the pass became ready, or its last running task ended; of a nested
  // one, that of the outermost.
  base::CondVar& changed() { return *place_.changed; }

 private:
  class Lane;

  // Opens the next lane where there is one, and room for it.
  bool OpenLane();
  bool MayOpenLane() const;
  void GrowLanes();
  RowWiseWork& WorkOf(const Stage& stage);

  bool any_order() const { return plan_.order == Delivery::kAny; }

  bool joins() const { return plan_.join < std::ssize(plan_.nodes); }

  bool MayEnd() const { return !any_order() || !ending_; }

  Joiner::Ending End();
  void EndJoining(int64_t turn, Stream stream, Carry left);
  void BeginJoining(Lane& lane, Carry carry);
  void DropEndedLanes();
  Lane* FirstReady() const;

  PassPlan& plan_;
  base::CondVar own_changed_;
  const PassPlace place_;
  const int64_t lanes_max_;  // Open at once.
  std::vector<lanes::LaneRange> lanes_;
  ReadWork read_work_;
  std::map<std::pair<int, int>, RowWiseWork>
      row_wise_work_;  // By first and last place.
  std::deque<std::unique_ptr<Lane>> open_;
  size_t next_lane_ = 0;        // In lanes_.
  size_t joined_ = 0;           // Lanes whose joining operator has ended.
  std::optional<Carry> carry_;  // For a lane that is not open yet.
  bool ending_ = false;         // In any order: a lane comes to its end.
  Progress progress_;
  int running_ = 0;
  bool stopped_ = false;
  absl::Status grown_;  // Why no more lanes could be cut.
};

}  // namespace millrace::exec
