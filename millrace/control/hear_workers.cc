// The part of the dispatcher that hears workers (dispatcher.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/packages.h"
#include "millrace/control/placing.h"
#include "millrace/control/possible.h"
#include "millrace/control/state.h"

namespace millrace::control {
namespace {

// Lanes of a job whose failures are remembered; those of early passes are forgotten
// first.
constexpr size_t kFailedLanesMax = 1 << 12;

// Whether some consumer's lane could be given to a worker.
bool CouldRun(const Candidate& candidate, const JobState& job, int64_t lane) {
  const api::WorkerFacts& worker = candidate.facts;
  const api::JobFacts facts = job.facts.value_or(api::JobFacts());
  if (!MayRun(worker, job.settings, facts, lane)) return false;
  if (!MayRunFunctions(candidate, job.settings)) return false;
  if (job.settings.target == "any") return true;
  return std::ranges::any_of(job.members, [&](const auto& entry) {
    const bool local = entry.second.host == worker.host;
    return local == (job.settings.target == "local");
  });
}

}  // namespace

absl::StatusOr<api::WorkerNews> Dispatcher::Beat(const api::WorkerBeat& beat,
                                                 absl::Time now) {
  TRY(CheckPossible(beat));
  if (beat.facts) Join(*beat.facts, now);
  const auto found = workers_.find(beat.worker);
  if (found == workers_.end()) return api::WorkerNews{.version = 0, .join = true};
  Worker& worker = found->second;
  worker.heard = now;
  if (beat.draining && !worker.draining) {  // For good: its earlier beats may be late.
    Note("worker leaves", worker.facts.address);
    worker.draining = true;
    NewVersion();
  }
  for (const api::ListedJob& listed : beat.listed) ReportListed(beat.worker, listed);
  for (const api::LaneReport& report : beat.lanes) {
    const absl::Status learnt = Report(beat.worker, report, now);
    if (!learnt.ok()) SoftOf(report.job).failed = learnt;
  }
  for (const api::JobVisits& visits : beat.visits) HearVisits(beat.worker, visits);
  if (!beat.left) return Assigned(worker);
  Note("worker left", worker.facts.address);
  Remove(beat.worker);
  return api::WorkerNews{};
}

api::WorkerNews Dispatcher::NewsFor(const api::WorkerBeat& beat) const {
  const auto found = workers_.find(beat.worker);
  if (found == workers_.end()) return {.version = 0, .join = true};
  return Assigned(found->second);
}

bool Dispatcher::HasNewsFor(const api::WorkerBeat& beat) const {
  const auto found = workers_.find(beat.worker);
  return found == workers_.end() || found->second.version != beat.version;
}

void Dispatcher::Join(const api::WorkerFacts& facts, absl::Time now) {
  const auto [found, joined] = workers_.try_emplace(facts.worker);
  if (joined) Note("worker joined", facts.address);
  Worker& worker = found->second;
  worker.facts = facts;
  worker.packages = Sorted(std::exchange(worker.facts.packages, {}));
  worker.heard = now;
  worker.version = NewVersion();
}

// What a worker tells of a lane. One that nobody has placed is adopted while the
// dispatcher is quiet: it was, before this dispatcher started. Later the worker is to
// let go of it, so its news must not have it.
absl::Status Dispatcher::Report(int64_t worker, const api::LaneReport& report,
                                absl::Time now) {
  const JobState* const state = state_.Find(report.job);
  if (state == nullptr || state->incarnation != report.incarnation) {
    return absl::OkStatus();
  }
  Job& job = SoftOf(report.job);
  if (report.failed) {
    ReportFailure(worker, report);
    return absl::OkStatus();
  }
  const auto [placed, adopted] = job.placed.try_emplace(report.at);
  const bool its = !adopted && placed->second.worker == worker;
  if (adopted && !report.released && now < quiet_until_) {
    placed->second = {worker, 0, true, NewVersion(), now};
    RememberWhere(job, report.at, worker);
    Changed(worker);
  } else if (adopted) {
    job.placed.erase(placed);
  } else if (report.ended && its) {
    workers_.at(worker).slow_until = absl::InfinitePast();
    const absl::Duration took = now - placed->second.since;
    job.lane_time =
        job.lane_time == absl::ZeroDuration() ? took : (3 * job.lane_time + took) / 4;
  }
  if (its) placed->second.made = std::max(placed->second.made, report.rows);
  if (report.released && its) {
    Unplace(job, report.at);
    job.released[report.at] = now;
  }
  const api::LaneAddress lane{report.at.pass, report.at.lane};
  return Learn(report.job, {lane, report.rows, report.ended, report.tails});
}

void Dispatcher::ReportFailure(int64_t worker, const api::LaneReport& report) {
  Job& job = SoftOf(report.job);
  auto& lanes = job.failed_lanes;
  if (lanes.size() >= kFailedLanesMax && !lanes.contains(report.at)) {
    lanes.erase(lanes.begin());
  }
  Failed& failed = lanes[report.at];
  failed.workers.insert(worker);
  failed.status = api::ToStatus(*report.failed);
  Note("lane failed", state_.Find(report.job)->settings.name, report.failed->message);
  const auto placed = job.placed.find(report.at);
  const bool moved = placed != job.placed.end() && placed->second.worker != worker;
  if (!moved) Unplace(job, report.at);
  FailPass(report.job, report.at);
}

// A lane that failed on too many workers, or on all that could run it, fails the pass.
void Dispatcher::FailPass(int64_t number, const api::LaneAddress& at) {
  Job& job = SoftOf(number);
  const auto found = job.failed_lanes.find(at);
  if (found == job.failed_lanes.end()) return;
  const Failed& failed = found->second;
  int64_t could = 0;
  int64_t others = 0;
  for (const auto& [worker, other] : workers_) {
    const Candidate candidate{other.facts, 0, false, false, &other.packages};
    if (other.draining || !CouldRun(candidate, *state_.Find(number), at.lane)) continue;
    ++could;
    if (!failed.workers.contains(worker)) ++others;
  }
  const bool too_many = std::ssize(failed.workers) >= options_.failures_max;
  if (!too_many && (others > 0 || could == 0)) return;
  job.failed = failed.status;
  NewVersion();
}

void Dispatcher::ReportListed(int64_t worker, const api::ListedJob& listed) {
  const JobState* const state = state_.Find(listed.job);
  if (state == nullptr || state->facts) return;
  Job& job = SoftOf(listed.job);
  workers_.at(worker).lists.erase(listed.job);
  job.lister.reset();
  const bool outdated =
      !listed.pipeline.empty() && listed.pipeline != state->settings.pipeline;
  if (outdated) return;  // It is listed anew.
  job.unlisted =
      listed.failed ? api::ToStatus(*listed.failed) : CheckPossible(listed.facts);
  if (!job.unlisted.ok()) return;
  Event event;
  event.job_listed = {listed.job, CutAsGroup(listed.job, listed.facts)};
  Commit(event);
}

api::WorkerNews Dispatcher::Assigned(const Worker& worker) const {
  api::WorkerNews news{.version = worker.version};
  std::set<int64_t> jobs = JobsSharedBy(worker.facts.worker);
  jobs.insert(worker.lists.begin(), worker.lists.end());
  std::vector<std::pair<int64_t, api::AssignedLane>> lanes;  // With their order.
  for (const auto& [number, job] : jobs_) {
    const JobState* const state = state_.Find(number);
    if (state == nullptr) continue;
    for (const auto& [at, placed] : job.placed) {
      if (placed.worker != worker.facts.worker) continue;
      lanes.push_back({placed.order,
                       {number, state->incarnation, at, placed.from,
                        state->settings.members, placed.now}});
      jobs.insert(number);
    }
  }
  std::ranges::sort(lanes, {}, [](const auto& entry) {
    const auto& [order, lane] = entry;
    return std::tuple(!lane.now, order, lane.job, lane.at);
  });
  for (const auto& [order, lane] : lanes) news.assigned.push_back(lane);
  for (const int64_t number : jobs) {
    const JobState* const state = state_.Find(number);
    if (state == nullptr) continue;
    api::WorkerJob& job = news.jobs.emplace_back();
    job = {number,
           state->incarnation,
           state->settings.pipeline,
           state->facts ? state->facts->manifest : "",
           state->seed,
           state->copies,
           state->state,
           state->facts ? state->facts->cuts : ""};
    const auto soft = jobs_.find(number);
    if (state->facts && soft != jobs_.end()) TellShare(soft->second, *state, job);
  }
  return news;
}

}  // namespace millrace::control
