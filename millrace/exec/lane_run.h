// One lane of a planned pass, run by itself: its batches in order, then what fills
// none, then its end. This is what a worker of the service runs: any number of lanes at
// once, of one plan or several, in one engine.
//
//   std::shared_ptr<LanePlan> plan = TRY(engine.PlanLanes(rewritten, library, {}));
//   auto run = TRY(engine.OpenLane(plan, {.lane = 7, .from_row = 64}));
//   while (std::optional<LaneBatch> batch = TRY(run->Next())) …
//   run->end().rows
//
// What comes out of a lane is the same whoever runs it, from whatever row on. Joined in
// logical order (a tail goes on into the next lane, tails.h) it is what
// SequentialRunner gives. A run that nobody reads stops when its buffer is full, and
// holds no thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/engine_work.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/work_queue.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/listing.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

class Engine;

// What is to be run. Rows are those that come to the joining operator, as cursors count
// them: before the last batching, or those that come out where nothing joins lanes.
// Where lanes give runs, batches are counted, and behind them rows that fill no run.
struct LaneWork {
  int64_t lane = 0;
  int64_t from_row = 0;  // Those before are skipped, unread where that can be.
};

struct LaneOptions {
  int64_t buffer_bytes = int64_t{64} << 20;  // Ready and not read; about.
  WorkPlace place = {};                      // When it has its turn.
  // Called once each time that something is ready after TryNext had nothing: from a
  // thread of the engine, without its lock. It must be quick, and not end the run.
  std::function<void()> ready = nullptr;
};

// Rows begin_row, ..., end_row - 1 of a lane.
struct LaneBatch {
  core::Block block;  // A batch; rows, where nothing is batched.
  int64_t begin_row = 0;
  int64_t end_row = 0;
  // Of the lane's rows before begin_row, also of those that were skipped, and of those
  // up to end_row.
  lanes::Digest digest_before = {};
  lanes::Digest digest = {};
  // They fill no batch: rows as they stand just before the last batching operator.
  bool tail = false;
  int64_t key = -1;                 // Of a batch, where lanes give runs ...
  std::vector<int64_t> tails = {};  // ... and of the lane's tail: its rows, by key.
  std::vector<LeftOutRow> left_out = {};  // Before these rows, since those before.
};

struct LaneEnd {
  int64_t rows = 0;                       // Of the lane, in all.
  lanes::Digest digest = {};              // Of all of them.
  std::vector<int64_t> tails = {};        // Of them, by key, where lanes give runs.
  std::vector<LeftOutRow> left_out = {};  // Behind the last rows that were given.
};

// A pass, planned once, whose lanes are run one by one; made by Engine::PlanLanes and
// shared by its runs. Thread-safe. Engine and library outlive it.
class LanePlan {
 public:
  // What is known of it beforehand. Of an endless pass, as far as it was cut.
  JobFacts Facts() const;

  // Cuts lanes of a pass without end, until there are so many; gives how many there are
  // then. Of any other pass all are cut.
  absl::StatusOr<int64_t> CutTo(int64_t lanes) ABSL_LOCKS_EXCLUDED(opening_);

  // What was listed: with it, the cuts, seed and epoch the same is planned elsewhere.
  const lanes::Listing& listing() const { return plan_.listing; }

  // What the operators did so far, over all runs, by number in the text form.
  std::vector<MeterReading> Readings() const { return meters_.Read(); }

 private:
  friend class Engine;
  friend class LaneRun;

  LanePlan(Engine& engine, PassPlan plan, ir::Pipeline written,
           const ops::Library& library, std::shared_ptr<std::atomic<bool>> cancelled);

  absl::Status Grow(int64_t lanes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(opening_);

  // Cuts lanes up to this one, and checks what is to be run.
  absl::Status Prepare(const LaneWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(opening_);

  Engine& engine_;
  const ir::Pipeline written_;
  mutable base::Mutex opening_;  // Taken before the engine's lock; both for cutting.
  PassPlan plan_;
  Meters meters_;
  const PassPlace place_;
  PassWork work_;
  const std::shared_ptr<std::atomic<bool>> cancelled_;  // Nobody wants any of it.

  int64_t opened_ ABSL_GUARDED_BY(opening_) = 0;  // Runs, ever.

  // The engine's lock guards these.
  int64_t wanted_ = 0;    // Runs, less those that were cancelled.
  bool helping_ = false;  // Of an engine without threads: somebody works on it.
  base::CondVar helped_;  // Nobody does any more.
};

// A lane at work in an engine. One thread at a time uses it, but Cancel may come from
// any.
class LaneRun final : private EngineWork, private Joiner {
 public:
  // Waits for what runs of it, and frees all it holds.
  ~LaneRun() override;
  LaneRun(const LaneRun&) = delete;
  LaneRun& operator=(const LaneRun&) = delete;

  // Gives the next rows, waiting for them; nothing at the lane's end. They leave the
  // engine's memory budget. DeadlineExceeded at the deadline: ask again. Any other
  // error is given again by every later call, and names operator and lane; Cancelled
  // after Cancel.
  absl::StatusOr<std::optional<LaneBatch>> Next(
      absl::Time deadline = absl::InfiniteFuture());

  // The same without waiting: nothing also where none are ready. In an engine without
  // threads only Next gets anything done.
  absl::StatusOr<std::optional<LaneBatch>> TryNext() { return Poll(true); }

  // Whether somebody waits for what it makes, as is so until it is told otherwise; what
  // is made ahead comes behind all that is waited for, of the same place.
  void SetNeeded(bool needed);

  // Whether all was given, and what there is to say then.
  bool ended() const { return ended_; }

  // Requires: ended().
  const LaneEnd& end() const;

  // Ends the run at once, also a Next that waits.
  void Cancel();

 private:
  friend class Engine;

  LaneRun(std::shared_ptr<LanePlan> plan, const LaneWork& work, LaneOptions options,
          int64_t number);

  // What was taken from the lane.
  struct Taken {
    std::vector<core::Block> blocks = {};  // Of one batch.
    int64_t position = 0;
    lanes::Digest digest_before = {};
    lanes::Digest digest = {};
    int64_t key = -1;
    absl::Status status = {};
    bool ended = false;
  };

  bool Claim(bool first, Task& task) override;
  bool ClaimFetch(bool first, Task& task) override;
  void Complete(Task task) override;
  bool HasWork() const override;
  bool HasFetch() const override;

  void Stop() override { stopped_ = true; }

  int running() const override { return running_ + calling_; }

  // Blocks, so that of many lanes each comes to its next one before any is far ahead.
  Urgency urgency() const override { return {needed_, lane_->accepted()}; }

  bool ready() const override;

  base::CondVar& changed() override { return changed_; }

  const std::function<void()>* BeginCall() override;
  void EndCall() override;

  bool MayEnd() const override { return true; }

  Ending End() override { return {}; }

  void Ended(int64_t turn, Stream stream, Carry left) override;

  bool MayClaim() const;
  bool IsWaitedFor() const;
  absl::Status WaitReady(absl::Time deadline);
  absl::StatusOr<std::optional<LaneBatch>> Poll(bool call);
  Taken Take(bool call);
  void TakeItem(Taken& taken);
  void NoLongerWanted();
  absl::StatusOr<LaneBatch> BatchOf(Taken taken);
  absl::StatusOr<std::optional<LaneBatch>> GiveEnd();
  LaneBatch GiveTail();
  absl::StatusOr<std::optional<LaneBatch>> GiveKeyedEnd();
  std::optional<LaneBatch> EndAt(int64_t rows, std::vector<int64_t> tails);
  std::vector<int64_t> TailRows() const;
  absl::Status CheckSkipped(int64_t missing) const;

  // Lanes give runs, whose batches are counted.
  bool runs() const { return plan_->plan_.runs.has_value(); }

  bool joins() const { return lane_->joining() != nullptr; }

  const std::shared_ptr<LanePlan> plan_;
  Engine& engine_;
  const LaneWork work_;
  const LaneOptions options_;
  const int64_t batch_rows_;
  absl::Status status_;
  bool ended_ = false;
  LaneEnd end_;
  lanes::Digest digest_;  // Of rows that no operator joins, once there are any.
  bool begun_ = false;
  lanes::Digest joined_digest_;  // Up to the last batch, once there was one.
  bool joined_ = false;
  std::vector<LeftOutRow> left_out_;  // Taken, and told with the rows behind.

  // The engine's lock guards these.
  base::CondVar changed_;
  std::unique_ptr<Lane> lane_;
  std::optional<core::Block> tail_;
  Tails tails_;          // The same by key, where lanes give runs.
  int64_t batches_ = 0;  // That came out then.
  int64_t joined_rows_ = 0;
  int running_ = 0;
  int calling_ = 0;
  bool stopped_ = false;
  bool cancelled_ = false;
  bool released_ = false;  // It counts no longer among those that are wanted.
  bool asked_ = false;     // The consumer waits for it ...
  bool call_ = false;      // ... to be called.
  bool needed_ = true;
};

}  // namespace millrace::exec
