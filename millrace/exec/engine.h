// The engine of a process: threads and memory, shared by all passes that run in it.
// Threads that compute are as many as its CPU budget; a few others only wait for
// disks. All passes stand under one lock, which is held for picking work and for
// taking its results in, never for doing it.
//
//   Engine engine({.threads = 8});
//   auto batches = TRY(engine.Open(rewritten, library, {}));
//   while (std::optional<core::Block> batch = TRY(batches->Next())) …
//
// What an iterator gives is what SequentialRunner gives, row for row, whatever the
// number of threads. Without any, whoever calls Next does all the work itself: for
// debugging. The engine outlives its iterators.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/caches.h"
#include "millrace/exec/engine_work.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_run.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/work_queue.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

struct EngineOptions {
  int threads = 1;                          // That compute; 0: see below.
  int io_threads = 2;                       // That wait for disks.
  int64_t memory_bytes = int64_t{1} << 30;  // For all that is in work or ready.
  int64_t cache_bytes = int64_t{1} << 30;   // For what caches keep in memory, besides.
  bool meters = true;                       // Whether operators are measured.
  bool shares_memory = false;  // Whether other processes can map large buffers.
  base::Clock& clock = base::RealClock();  // For the meters.
};

class Iterator;

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Begins a pass, from a state where one is given. The library outlives the iterator.
  absl::StatusOr<std::unique_ptr<Iterator>> Open(
      const rewrite::Rewritten& pipeline, const ops::Library& library,
      PassOptions options, const std::optional<lanes::State>& state = {});

  // Plans a pass whose lanes are to be run one by one. The library outlives the plan.
  absl::StatusOr<std::shared_ptr<LanePlan>> PlanLanes(
      const rewrite::Rewritten& pipeline, const ops::Library& library,
      PassOptions options);

  // Begins a lane. Costs some microseconds: nothing is listed or read here.
  absl::StatusOr<std::unique_ptr<LaneRun>> OpenLane(
      const std::shared_ptr<LanePlan>& plan, const LaneWork& work,
      LaneOptions options = {});

  const EngineOptions& options() const { return options_; }

  core::PoolStats memory() const { return pool_.stats(); }

  // Gives memory that is kept to be used again back to the system.
  void TrimMemory() { pool_.Trim(); }

  // What caches keep, for all passes.
  const Caches& caches() const { return caches_; }

 private:
  friend class Iterator;
  friend class LanePlan;
  friend class LaneRun;

  enum class Role : uint8_t { kCompute, kFetch };

  void Work(Role role, int thread, const std::stop_token& stop);
  bool Pick(Role role, Task& task, EngineWork*& work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RunTask(Task task, EngineWork& work, int thread)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Help(EngineWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls who wants to know that it is ready.
  void Call(EngineWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes a thread of each role that sleeps and may find work of this.
  void Wake(EngineWork& work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for work of any: memory was freed.
  void WakeAny() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void Add(EngineWork& work, const WorkPlace& place);
  // Waits until no thread works on it, then forgets it.
  void Remove(EngineWork& work);

  // What all passes are planned with.
  PassOptions Completed(PassOptions options);

  const EngineOptions options_;
  core::Pool pool_;
  Caches caches_;
  base::Mutex mutex_;
  base::CondVar compute_;  // There may be work.
  base::CondVar fetch_;
  Memory memory_ ABSL_GUARDED_BY(mutex_);
  WorkQueue works_ ABSL_GUARDED_BY(mutex_);
  int computing_asleep_ ABSL_GUARDED_BY(mutex_) = 0;  // Threads.
  int fetching_asleep_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::jthread> threads_;  // Last: they use all of the above.
};

// One pass in an engine. One thread uses it, but Cancel may come from any.
class Iterator {
 public:
  ~Iterator();
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  // Gives the next block, waiting for it; nothing at the end of the pass. The block
  // leaves the engine's memory budget. An error names operator and lane and is given
  // again by every later call; Cancelled after Cancel.
  absl::StatusOr<std::optional<core::Block>> Next();

  // Ends the pass at once, also a Next that waits.
  void Cancel();

  // Has a function asked, now and then, while Next waits: where it says true, Next
  // gives Aborted, and can be called again.
  void SetInterrupt(std::function<bool()> interrupt) {
    interrupt_ = std::move(interrupt);
  }

  // The state after what Next has given: opening with it goes on from there.
  lanes::State state() const;

  const PassPlan& plan() const { return plan_; }

  // What the pass did so far. From the thread that calls Next.
  profile::PassFacts Facts() const;

 private:
  friend class Engine;

  // What a pass begins with.
  struct Start {
    lanes::State state;
    lanes::Rest rest;
    std::shared_ptr<std::atomic<bool>> cancelling;
  };

  Iterator(Engine& engine, PassPlan plan, const ops::Library& library, Start start);

  // Takes what comes next, waiting for it; sets ended_ where there is nothing.
  absl::StatusOr<Item> Take();

  // Ends the pass with an error.
  absl::Status Fail(const absl::Status& status);

  // A block is given that takes its lane's stream up to there.
  void Advance(int64_t position, const core::Block& block);

  // Counts a block that is given.
  void Count(const core::Block& block);

  // Waits until something is ready; false where it is time to ask for interrupts.
  bool WaitReady();

  // Brings over what is ready. Waits for something; nothing where the pass is over.
  absl::Status Refill();

  Engine& engine_;
  PassPlan plan_;  // Grows, where it can; guarded by the engine's lock then.
  exec::Meters meters_;
  profile::PassFacts facts_;  // What Next has seen; the rest is in the meters.
  LeftOut left_out_;
  const bool nested_batches_;  // Made before a repeat or merge: rows in them count.
  const bool helps_;           // The consumer works too, while it waits.
  const absl::Duration opened_;
  const lanes::State state_;  // All but what is left.
  const lanes::Deal deal_;
  const std::shared_ptr<std::atomic<bool>> cancelling_;
  std::deque<Item> taken_;  // Brought over, not yet given.
  int64_t turn_ = 0;        // Of the lane whose blocks these are.
  Positions positions_;     // Of what was given, by turn.
  bool ended_ = false;      // Next has said so.
  std::function<bool()> interrupt_;
  bool cancelled_ = false;  // Guarded by the engine's lock, as is the pass.
  PassRun pass_;
};

}  // namespace millrace::exec
