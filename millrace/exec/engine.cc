#include "millrace/exec/engine.h"

#include <algorithm>
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

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/exec/engine_work.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/least_memory.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/nested_source.h"  // IWYU pragma: keep
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_run.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/work_queue.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

namespace {

// How long an interrupt may go unnoticed.
constexpr absl::Duration kInterruptPeriod = absl::Milliseconds(50);

// Whether an operator waits for others: whoever runs it cannot be interrupted.
bool Waits(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(
      nodes, [](const ir::Pipeline& node) { return node.schema().traits.waits; });
}

constexpr int64_t kRowBytesLeast = int64_t{16} << 20;  // Allowed with any budget.

// Whether what comes out are batches, made by it or by passes nested in it.
bool GivesBatches(const PassPlan& plan) {
  const bool apart = std::ranges::any_of(plan.nodes, [](const ir::Pipeline& node) {
    return node.schema().traits.unstacks;
  });
  if (apart || plan.last_batching >= 0) return !apart;
  return plan.nested != nullptr &&
         std::ranges::all_of(plan.nested->inputs(),
                             [](const auto& input) { return GivesBatches(*input); });
}

}  // namespace

Engine::Engine(const EngineOptions& options)
    : options_(options),
      pool_(options.shares_memory ? core::MakeLargeSharedAllocator()
                                  : core::MakeHeapAllocator(),
            {}),
      caches_(options.cache_bytes),
      memory_(pool_, options.memory_bytes) {
  CHECK_GE(options.threads, 0);
  CHECK_GE(options.io_threads, options.threads > 0 ? 1 : 0);
  for (int i = 0; i < options.threads; ++i) {
    threads_.emplace_back(
        [this, i](const std::stop_token& stop) { Work(Role::kCompute, i, stop); });
  }
  for (int i = 0; options.threads > 0 && i < options.io_threads; ++i) {
    threads_.emplace_back(
        [this, i](const std::stop_token& stop) { Work(Role::kFetch, i, stop); });
  }
}

Engine::~Engine() {
  for (std::jthread& thread : threads_) thread.request_stop();
  {
    const base::MutexLock lock(&mutex_);
    CHECK(works_.empty()) << "an iterator outlives its engine";
    compute_.NotifyAll();
    fetch_.NotifyAll();
  }
  threads_.clear();
}

void Engine::Work(Role role, int thread, const std::stop_token& stop) {
  base::CondVar& changed = role == Role::kCompute ? compute_ : fetch_;
  const base::MutexLock lock(&mutex_);
  int& asleep = role == Role::kCompute ? computing_asleep_ : fetching_asleep_;
  while (!stop.stop_requested()) {
    Task task;
    EngineWork* work = nullptr;
    if (Pick(role, task, work)) {
      Wake(*work);  // There may be more of it.
      RunTask(std::move(task), *work, thread);
      Call(*work);
    } else {
      ++asleep;
      changed.WaitUntil(&mutex_, absl::InfiniteFuture());
      --asleep;
    }
  }
}

bool Engine::Pick(Role role, Task& task, EngineWork*& work) {
  work = works_.Pick([&](EngineWork& candidate) {
    return role == Role::kCompute ? candidate.Claim(true, task)
                                  : candidate.ClaimFetch(true, task);
  });
  return work != nullptr;
}

void Engine::RunTask(Task task, EngineWork& work, int thread) {
  const int64_t reserved_bytes = task.reserved_bytes;
  memory_.Start(reserved_bytes);
  mutex_.Unlock();
  task.stage->Run(task, thread);
  mutex_.Lock();
  memory_.End(reserved_bytes);
  work.Complete(std::move(task));
}

// Who waits is told before the call: while that goes on, the work cannot be removed.
void Engine::Call(EngineWork& work) {
  const std::function<void()>* const call = work.BeginCall();
  if (work.ready() || work.running() == 0) work.changed().NotifyAll();
  Wake(work);
  if (call == nullptr) return;
  mutex_.Unlock();
  (*call)();
  mutex_.Lock();
  work.EndCall();
}

// Whoever waits for a pass does what there is to do for it rather than sleep, in place
// of a thread that sleeps: to wake either up would cost more than many a task.
bool Engine::Help(EngineWork& work) {
  Task task;
  const bool alone = options_.threads == 0;
  if (computing_asleep_ == 0 && !alone) return false;
  const bool found = work.Claim(true, task) || (alone && work.ClaimFetch(true, task));
  if (!found) return false;
  Wake(work);
  RunTask(std::move(task), work, options_.threads);
  Wake(work);
  return true;
}

// A thread that looks for work and finds none costs two switches of context: only
// those are woken that have something to find.
void Engine::Wake(EngineWork& work) {
  if (computing_asleep_ > 0 && work.HasWork()) compute_.NotifyOne();
  if (fetching_asleep_ > 0 && work.HasFetch()) fetch_.NotifyOne();
}

void Engine::WakeAny() {
  const auto has_work = [](const EngineWork& work) { return work.HasWork(); };
  const auto has_fetch = [](const EngineWork& work) { return work.HasFetch(); };
  if (computing_asleep_ > 0 && works_.Any(has_work)) compute_.NotifyOne();
  if (fetching_asleep_ > 0 && works_.Any(has_fetch)) fetch_.NotifyOne();
}

void Engine::Add(EngineWork& work, const WorkPlace& place) {
  const base::MutexLock lock(&mutex_);
  works_.Add(work, place);
  Wake(work);
}

void Engine::Remove(EngineWork& work) {
  const base::MutexLock lock(&mutex_);
  work.Stop();
  while (work.running() > 0) work.changed().WaitUntil(&mutex_, absl::InfiniteFuture());
  works_.Remove(work);
}

PassOptions Engine::Completed(PassOptions options) {
  // A row takes several times its bytes while it is found and made.
  options.row_bytes_max = std::min(options.row_bytes_max,
                                   std::max(options_.memory_bytes / 4, kRowBytesLeast));
  options.caches = &caches_;
  options.cancelled = std::make_shared<std::atomic<bool>>(false);
  return options;
}

absl::StatusOr<std::shared_ptr<LanePlan>> Engine::PlanLanes(
    const rewrite::Rewritten& pipeline, const ops::Library& library,
    PassOptions options) {
  options = Completed(std::move(options));
  options.with_ids = true;  // They are digested.
  PassPlan plan = TRY(PlanPass(pipeline, library, options, pool_));
  TRY(CheckBudget(plan, options_.memory_bytes));
  // Whoever deals lanes must know how many there are, unless there is no end of them.
  if (plan.ends()) TRY(plan.GrowToEnd());
  return std::shared_ptr<LanePlan>(new LanePlan(*this, std::move(plan), pipeline.before,
                                                library, options.cancelled));
}

absl::StatusOr<std::unique_ptr<LaneRun>> Engine::OpenLane(
    const std::shared_ptr<LanePlan>& plan, const LaneWork& work, LaneOptions options) {
  CHECK(&plan->engine_ == this) << "a plan is run by the engine that made it";
  const base::MutexLock opening(&plan->opening_);
  TRY(plan->Prepare(work));
  const WorkPlace place = options.place;
  std::unique_ptr<LaneRun> run(
      new LaneRun(plan, work, std::move(options), plan->opened_++));
  {
    const base::MutexLock lock(&mutex_);
    if (plan->wanted_++ == 0) plan->cancelled_->store(false);
  }
  Add(*run, place);
  return run;
}

absl::StatusOr<std::unique_ptr<Iterator>> Engine::Open(
    const rewrite::Rewritten& pipeline, const ops::Library& library,
    PassOptions options, const std::optional<lanes::State>& from) {
  if (from) options.cuts = from->cuts;
  options = Completed(std::move(options));
  PassPlan plan = TRY(PlanPass(pipeline, library, options, pool_));
  while (from && plan.lanes.size() < from->lanes) {
    if (!TRY(plan.Grow())) break;
  }
  TRY(CheckBudget(plan, options_.memory_bytes));
  lanes::State state;
  state.epoch = options.epoch;
  state.seed = options.seed;
  state.row_fingerprint = ir::RowFingerprint(pipeline.before);
  state.manifest_hash = plan.manifest_hash;
  state.cuts = plan.cuts;
  state.lanes = plan.lanes.size();
  lanes::Rest rest = lanes::DealAll(plan.joined_rows, 1);
  if (from) {
    TRY(lanes::Fits(*from, {.row_fingerprint = state.row_fingerprint,
                            .manifest_hash = state.manifest_hash,
                            .seed = state.seed,

                            .cuts = {}}));
    rest = TRY(lanes::Resume(*from, plan.joined_rows, state.order));
    state.pass = from->pass;
  }
  Iterator::Start start = {std::move(state), std::move(rest), options.cancelled};
  return std::unique_ptr<Iterator>(
      new Iterator(*this, std::move(plan), library, std::move(start)));
}

Iterator::Iterator(Engine& engine, PassPlan plan, const ops::Library& library,
                   Start start)
    : engine_(engine),
      plan_(std::move(plan)),
      meters_(plan_.pipeline.size(), engine.options_.clock, engine.options_.meters),
      left_out_(plan_.pipeline),
      nested_batches_(plan_.last_batching < 0 && GivesBatches(plan_)),
      helps_(engine.options_.threads == 0 || !Waits(plan_.pipeline)),
      opened_(engine.options_.clock.Monotonic()),
      state_(std::move(start.state)),
      deal_(std::move(start.rest.deal)),
      cancelling_(std::move(start.cancelling)),
      pass_(plan_,
            {.library = library,
             .pool = engine.pool_,
             .memory = engine.memory_,
             .meters = meters_,
             .threads = std::max(1, engine.options_.threads)},
            start.rest.tracks[0].lanes) {
  engine_.Add(pass_, {});
}

Iterator::~Iterator() {
  cancelling_->store(true);
  engine_.Remove(pass_);
}

absl::StatusOr<std::optional<core::Block>> Iterator::Next() {
  Item item = TRY(Take());
  while (item.left_out) {
    const absl::Status allowed = left_out_.Add(*item.left_out);
    if (!allowed.ok()) return Fail(allowed);
    item = TRY(Take());
  }
  if (ended_) return std::nullopt;
  if (!item.status.ok()) return Fail(item.status);
  Advance(item.position, item.block);
  item.block.LeaveBudget();
  Count(item.block);
  return std::move(item.block);
}

void Iterator::Advance(int64_t position, const core::Block& block) {
  if (std::ssize(positions_) <= turn_) positions_.resize(turn_ + 1, 0);
  facts_.rows += nested_batches_ ? RowsInBatch(block) : position - positions_[turn_];
  positions_[turn_] = position;
}

absl::StatusOr<Item> Iterator::Take() {
  if (taken_.empty()) TRY(Refill());
  ended_ = taken_.empty();
  if (ended_) return Item();
  Item item = std::move(taken_.front());
  taken_.pop_front();
  return item;
}

absl::Status Iterator::Fail(const absl::Status& status) {
  taken_ = {Item::Error(status)};  // It stays so.
  const base::MutexLock lock(&engine_.mutex_);
  pass_.Stop();
  return status;
}

void Iterator::Count(const core::Block& block) {
  facts_.wall = engine_.options_.clock.Monotonic() - opened_;
  if (facts_.blocks == 0) {
    facts_.first_block = facts_.wall;
    facts_.waited = absl::ZeroDuration();
  }
  ++facts_.blocks;
  facts_.bytes += block.content_bytes();
}

profile::PassFacts Iterator::Facts() const {
  profile::PassFacts facts = facts_;
  facts.threads = engine_.options_.threads;
  facts.io_threads = engine_.options_.io_threads;
  facts.fetching = meters_.fetching();
  facts.memory_peak_bytes = engine_.memory().peak_bytes;
  const std::vector<MeterReading> readings = meters_.Read();
  for (size_t number = 0; number < readings.size(); ++number) {
    const MeterReading& reading = readings[number];
    const bool is_outer = std::ranges::count(plan_.numbers, number) > 0;
    // A shuffle that is done by reading does nothing itself.
    if (!is_outer && reading.blocks == 0) continue;
    const ir::Pipeline& node = plan_.pipeline[number];
    facts.operators.push_back({.name = node.name(),
                               .number = static_cast<int>(number),
                               .row_wise = node.schema().traits.row_wise,
                               .busy = reading.busy,
                               .rows_in = reading.rows_in,
                               .rows_out = reading.rows_out,
                               .bytes_out = reading.bytes_out,
                               .rows_left_out = left_out_.counts()[number]});
  }
  facts.first_left_out = left_out_.first();
  return facts;
}

bool Iterator::WaitReady() {
  const absl::Time deadline = interrupt_
                                  ? engine_.options_.clock.Now() + kInterruptPeriod
                                  : absl::InfiniteFuture();
  const base::MutexLock lock(&engine_.mutex_);
  while (!cancelled_ && !pass_.ready()) {
    // Looking for work may have shown that there is none left, ever.
    const bool helped = helps_ && engine_.Help(pass_);
    if (interrupt_ && helped && engine_.options_.clock.Now() > deadline) return false;
    if (helped || pass_.ready()) continue;
    if (!pass_.changed().WaitUntil(&engine_.mutex_, deadline)) return false;
  }
  return true;
}

absl::Status Iterator::Refill() {
  const absl::Duration begin = engine_.options_.clock.Monotonic();
  const absl::Cleanup count = [&] {
    facts_.waited += engine_.options_.clock.Monotonic() - begin;
  };
  {
    const base::MutexLock lock(&engine_.mutex_);
    pass_.Came();
  }
  while (!WaitReady()) {  // Asked without the lock: the answer may take one of its own.
    if (interrupt_()) return absl::AbortedError("interrupted");
  }
  const base::MutexLock lock(&engine_.mutex_);
  if (cancelled_) return absl::CancelledError("the pass was cancelled");
  PassRun::Ready ready = pass_.TakeReady();
  turn_ = ready.turn;
  taken_ = std::move(ready.items);
  engine_.Wake(pass_);
  return absl::OkStatus();
}

void Iterator::Cancel() {
  cancelling_->store(true);
  const base::MutexLock lock(&engine_.mutex_);
  cancelled_ = true;
  pass_.Stop();
  pass_.changed().NotifyAll();
}

lanes::State Iterator::state() const {
  lanes::State state = state_;
  const base::MutexLock lock(&engine_.mutex_);
  // At the end nothing is left, also where rows that fill no batch were dropped.
  lanes::Track left;
  if (!ended_) left.lanes = pass_.Left(positions_);
  lanes::Rest rest = {.deal = deal_, .tracks = {std::move(left)}};
  rest.deal.others.Add(state.lanes, pass_.planned_lanes());
  state.lanes = pass_.planned_lanes();
  lanes::SetRest(state, rest, state.lanes);
  return state;
}

}  // namespace millrace::exec
