// One pass at work: the lanes that are open, what they have ready, and how far the
// consumer took them. Lanes are opened in order, a few ahead where there is memory, and
// delivered in order, or each as it comes. Like the stages it is made of, it has no
// lock of its own: the engine's guards all of it, but for the running of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/mutex.h"
#include "millrace/exec/ahead_limit.h"
#include "millrace/exec/engine_work.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/lane.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {

class PassRun final : public EngineWork, private Joiner {
 public:
  // Runs these lanes of the plan, in this order. Requires: all outlive it.
  // The plan grows as the pass goes on, where it can.
  PassRun(PassPlan& plan, const PassPlace& place, std::vector<lanes::LaneRange> lanes);
  ~PassRun() override;
  PassRun(const PassRun&) = delete;
  PassRun& operator=(const PassRun&) = delete;

  bool Claim(bool first, Task& task) override;
  bool ClaimFetch(bool first, Task& task) override;
  void Complete(Task task) override;

  // Tells whether tasks of a stage are this pass's to complete.
  bool Owns(const StageRun* stage) const;

  bool HasWork() const override;
  bool HasFetch() const override;

  int running() const override { return running_; }

  // Tasks, so that each of several passes has its turn.
  Urgency urgency() const override { return {.served = claims_}; }

  void Stop() override { stopped_ = true; }

  bool ready() const override;

  // Its consumer came: what it finds says how much is to be made ahead of it.
  void Came();

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

  // Of a nested one, that of the outermost.
  base::CondVar& changed() override { return *place_.changed; }

 private:
  // Opens the next lane where there is one, and room for it.
  bool OpenLane();
  bool MayOpenLane() const;

  // Whether enough is ready for now, so that nothing is made.
  bool HasEnough() const;
  ReadyAmount ReadyNow() const;

  void GrowLanes();
  std::optional<int64_t> KnownPosition();

  bool any_order() const { return plan_.order == Delivery::kAny; }

  bool joins() const { return plan_.join < std::ssize(plan_.nodes); }

  bool MayEnd() const override { return !any_order() || !ending_; }

  Ending End() override;
  void Ended(int64_t turn, Stream stream, Carry left) override;
  void BeginJoining(Lane& lane, Carry carry);
  void DropEndedLanes();
  Lane* FirstReady() const;

  PassPlan& plan_;
  base::CondVar own_changed_;
  const PassPlace place_;
  const int64_t lanes_max_;  // Open at once.
  std::vector<lanes::LaneRange> lanes_;
  PassWork work_;
  std::deque<std::unique_ptr<Lane>> open_;
  size_t next_lane_ = 0;  // In lanes_.
  // Of the first row of the lane opened last, in the pass, as far as that is known.
  std::optional<int64_t> position_ = 0;
  size_t joined_ = 0;           // Lanes whose joining operator has ended.
  std::optional<Carry> carry_;  // For a lane that is not open yet.
  bool ending_ = false;         // In any order: a lane comes to its end.
  Progress progress_;
  AheadLimit ahead_limit_;
  int running_ = 0;
  int64_t claims_ = 0;
  bool stopped_ = false;
  absl::Status grown_;  // Why no more lanes could be cut.
};

}  // namespace millrace::exec
