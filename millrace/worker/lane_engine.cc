#include "millrace/worker/lane_engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/ids.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/lane_run.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {
namespace {

constexpr size_t kToPlanMax = 1 << 16;

using Task = std::function<void()>;

}  // namespace

LaneEngine::LaneEngine(exec::Engine& engine, std::unique_ptr<Plans> plans, Post post,
                       LaneEvents events)
    : engine_(engine),
      post_(std::move(post)),
      events_(std::move(events)),
      plans_(std::move(plans)),
      to_plan_(kToPlanMax),
      planner_([this](const std::stop_token& stop) {
        while (true) {
          absl::StatusOr<Task> task = to_plan_.Pop(absl::InfiniteFuture(), stop);
          if (!task.ok()) return;
          (*task)();
        }
      }) {}

LaneEngine::~LaneEngine() {
  planner_.request_stop();
  to_plan_.Cancel();
  planner_.join();
}

// --- Planning ---

void LaneEngine::SetJob(const api::WorkerJob& job) {
  jobs_[job.job] = job;
  for (const auto& [id, run] : runs_) {
    if (run.lane == nullptr && run.start.lane.job == job.job) {
      AskForPlan(run.start.lane);
    }
  }
}

// A reader may ask for a lane before the dispatcher has told what its job is, in this
// start of it.
bool LaneEngine::Knows(const delivery::JobLane& lane) const {
  const auto job = jobs_.find(lane.job);
  return job != jobs_.end() && job->second.incarnation == lane.incarnation;
}

void LaneEngine::List(const api::WorkerJob& job) {
  to_plan_.TryPush([this, job] {
    const absl::StatusOr<api::JobFacts> facts = plans_->List(job);
    api::ListedJob listed{.job = job.job, .pipeline = job.pipeline};
    if (facts.ok()) {
      listed.facts = *facts;
    } else {
      listed.failed = api::ToError(facts.status());
    }
    post_([this, listed] { events_.on_listed(listed); });
  });
}

// What was planned for starts and passes long before is not asked for again; runs of it
// keep it as long as they need it.
void LaneEngine::ForgetBefore(const delivery::JobLane& lane) {
  std::erase_if(passes_, [&](const auto& entry) {
    const auto& [job, incarnation, pass] = entry.first;
    const bool older = incarnation < lane.incarnation ||
                       (incarnation == lane.incarnation && pass + 1 < lane.at.pass);
    return job == lane.job && older && entry.second.plan != nullptr;
  });
}

void LaneEngine::AskForPlan(const delivery::JobLane& lane) {
  if (!Knows(lane)) return;
  ForgetBefore(lane);
  Pass& pass = passes_[KeyOf(lane)];
  if (std::exchange(pass.asked, true)) return;
  const api::WorkerJob job = jobs_[lane.job];
  to_plan_.TryPush([this, job, key = KeyOf(lane), number = lane.at.pass] {
    const absl::StatusOr<SharedPlan> plan = plans_->Plan(job, number);
    post_([this, key, plan] { OnPlanned(key, plan); });
  });
}

void LaneEngine::OnPlanned(const PassKey& key, const absl::StatusOr<SharedPlan>& plan) {
  std::vector<delivery::RunId> waiting;
  for (const auto& [id, run] : runs_) {
    if (KeyOf(run.start.lane) == key && run.lane == nullptr) waiting.push_back(id);
  }
  if (plan.ok()) {
    passes_[key].plan = *plan;
  } else {
    passes_.erase(key);
  }
  for (const delivery::RunId id : waiting) {
    if (plan.ok()) {
      Open(id);
    } else {
      Fail(id, plan.status());
    }
  }
}

// --- Running ---

void LaneEngine::Start(const delivery::StartRun& start) {
  runs_[start.run] = {.start = start};
  if (passes_[KeyOf(start.lane)].plan == nullptr) {
    AskForPlan(start.lane);
  } else {
    Open(start.run);
  }
}

// Jobs that share their rows are one to the engine: else what is made ahead for one of
// them would have its turn beside what another waits for.
int64_t LaneEngine::OwnerOf(int64_t job) const {
  const std::string& share = jobs_.at(job).share;
  if (share.empty()) return job;
  const auto first = std::ranges::find_if(
      jobs_, [&](const auto& entry) { return entry.second.share == share; });
  return first->first;
}

void LaneEngine::Open(delivery::RunId id) {
  Run& run = runs_.at(id);
  const exec::LaneWork work{run.start.lane.at.lane, run.start.from};
  exec::LaneOptions options;
  options.place = {OwnerOf(run.start.lane.job), run.start.lane.at.pass};
  options.ready = [this, id] { post_([this, id] { Poll(id); }); };
  absl::StatusOr<std::unique_ptr<exec::LaneRun>> lane =
      engine_.OpenLane(passes_[KeyOf(run.start.lane)].plan, work, std::move(options));
  if (!lane.ok()) return Fail(id, lane.status());
  run.lane = *std::move(lane);
  run.lane->SetNeeded(run.needed);
  Poll(id);
}

// What runs of it is waited for elsewhere.
void LaneEngine::Stop(delivery::RunId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  if (found->second.lane != nullptr) {
    found->second.lane->Cancel();
    const std::shared_ptr<exec::LaneRun> dying = std::move(found->second.lane);
    to_plan_.TryPush([dying] {});
  }
  runs_.erase(found);
}

void LaneEngine::Pull(delivery::RunId id, bool needed) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  Run& run = found->second;
  run.pulled = true;
  SetNeeded(run, needed);
  Poll(id);
}

void LaneEngine::Hurry(delivery::RunId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  SetNeeded(found->second, true);
}

void LaneEngine::SetNeeded(Run& run, bool needed) {
  if (std::exchange(run.needed, needed) == needed || run.lane == nullptr) return;
  run.lane->SetNeeded(needed);
}

void LaneEngine::Poll(delivery::RunId id) {
  const auto found = runs_.find(id);
  if (found == runs_.end()) return;
  Run& run = found->second;
  if (!run.pulled || run.lane == nullptr) return;
  absl::StatusOr<std::optional<exec::LaneBatch>> next = run.lane->TryNext();
  if (!next.ok()) return Fail(id, next.status());
  if (*next) return OnBatch(id, **std::move(next));
  if (!run.lane->ended()) return;  // It is called when there is something.
  const exec::LaneEnd end = run.lane->end();
  Stop(id);
  events_.on_ended(id, end.rows, end.tails);
}

void LaneEngine::OnBatch(delivery::RunId id, exec::LaneBatch batch) {
  Run& run = runs_.at(id);
  run.pulled = false;
  delivery::Made made{batch.begin_row, batch.end_row, batch.tail};
  made.bytes = batch.block.content_bytes();
  if (made.begin > 0) made.digest_before = batch.digest_before.value();
  made.digest = batch.digest.value();
  made.key = batch.key;
  made.tails = batch.tails;
  made.token = base::MakeId<delivery::Token>(next_token_++);
  blocks_.insert_or_assign(made.token,
                           MadeBlock{std::move(batch.block), made.end - made.begin});
  events_.on_made(id, made);
}

void LaneEngine::Fail(delivery::RunId id, const absl::Status& status) {
  Stop(id);
  events_.on_failed(id, status);
}

// --- Blocks ---

absl::StatusOr<core::Block> LaneEngine::Composed(
    const delivery::Compose& compose) const {
  std::vector<core::Block> parts;
  for (const delivery::BlockPart& part : compose.parts) {
    core::Block rows = TRY(blocks_.at(part.token).block);
    if (part.stacked) rows = TRY(rows.Unstack());
    parts.push_back(rows.Slice(part.skip, part.rows));
  }
  const core::Block rows =
      parts.size() == 1 ? parts.front() : TRY(Concatenate(parts, core::HeapPool()));
  return compose.stacked ? rows.Stack(rows.rows()) : rows;
}

void LaneEngine::Compose(const delivery::Compose& compose) {
  int64_t rows = 0;
  for (const delivery::BlockPart& part : compose.parts) rows += part.rows;
  blocks_.insert_or_assign(compose.token, MadeBlock{Composed(compose), rows});
}

absl::StatusOr<core::Block> LaneEngine::Rows(delivery::Token token, int64_t skip,
                                             int64_t rows) const {
  const auto& [made, all] = blocks_.at(token);
  core::Block block = TRY(made);
  if (rows == all) return block;
  if (block.rows() == all) return block.Slice(skip, rows);
  return TRY(block.Unstack()).Slice(skip, rows).Stack(rows);
}

void LaneEngine::Drop(delivery::Token token) { CHECK_EQ(blocks_.erase(token), 1); }

}  // namespace millrace::worker
