// The part of the dispatcher that knows which jobs share their rows (dispatcher.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/rights.h"
#include "millrace/control/sharing.h"
#include "millrace/control/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {
namespace {

// Lanes of a group of which it is remembered where they were run.
constexpr int64_t kRanMax = 1 << 14;

}  // namespace

// Whether a job reads, or will again soon.
bool Dispatcher::Reads(const Job& job, const JobState& state, absl::Time now) const {
  const absl::Duration silent = options_.run_lost_after * options_.heartbeat;
  const bool left = !job.consumers.empty() &&
                    std::ranges::all_of(job.consumers, [](const auto& entry) {
                      return entry.second.left;
                    });
  return state.incarnation > 0 && job.failed.ok() && !left && now - job.heard <= silent;
}

// Puts jobs that read the same rows together; workers hear of groups that changed.
void Dispatcher::Regroup(absl::Time now) {
  std::map<std::string, std::set<int64_t>> reading;
  for (auto& [number, job] : jobs_) {
    const JobState* const state = state_.Find(number);
    if (state == nullptr) continue;
    const bool known = job.share_of == state->incarnation && !job.share.empty();
    if (!known) {
      job.share = ShareOf(*state);
      job.share_of = state->incarnation;
    }
    if (!job.share.empty() && Reads(job, *state, now))
      reading[job.share].insert(number);
  }
  for (const auto& [share, group] : groups_) reading.try_emplace(share);
  for (auto& [share, jobs] : reading) {
    Group& group = groups_[share];
    if (group.jobs == jobs) continue;
    group.jobs = std::move(jobs);
    for (const int64_t worker : group.workers) Changed(worker);
  }
  std::erase_if(groups_, [](const auto& group) { return group.second.jobs.empty(); });
}

// The jobs for which a worker may keep rows, whether it runs lanes of them now or not.
std::set<int64_t> Dispatcher::JobsSharedBy(int64_t worker) const {
  std::set<int64_t> jobs;
  for (const auto& [share, group] : groups_) {
    if (!group.workers.contains(worker)) continue;
    jobs.insert(group.jobs.begin(), group.jobs.end());
  }
  return jobs;
}

// What a worker must know of a job to share its rows.
void Dispatcher::TellShare(const Job& job, const JobState& state,
                           api::WorkerJob& told) const {
  if (job.share.empty() || job.share_of != state.incarnation) return;
  told.share = job.share;
  told.joins = state.facts->joins;
  told.grid = state.facts->grid;
  told.skips = state.settings.visit == "at_most_once";
  const auto group = groups_.find(job.share);
  if (group == groups_.end()) return;
  // Who names a group expects others, who may not have come yet.
  const int64_t least = NamesGroup(state.settings) ? 2 : 1;
  told.sharers = std::max<int64_t>(least, std::ssize(group->second.jobs));
  for (const int64_t number : group->second.jobs) {
    told.hold_ms = std::max(told.hold_ms, state_.Find(number)->settings.share_hold_ms);
  }
}

// Where the group's lane was last run, for this job or another.
std::optional<int64_t> Dispatcher::WhereShared(const Job& job,
                                               const api::LaneAddress& at) const {
  const auto group = groups_.find(job.share);
  if (job.share.empty() || group == groups_.end()) return std::nullopt;
  if (group->second.jobs.size() < 2) return std::nullopt;
  const auto ran = group->second.ran.find({at.pass, at.lane});
  if (ran == group->second.ran.end()) return std::nullopt;
  return ran->second;
}

void Dispatcher::RememberWhere(const Job& job, const api::LaneAddress& at,
                               int64_t worker) {
  const auto found = groups_.find(job.share);
  if (job.share.empty() || found == groups_.end()) return;
  Group& group = found->second;
  group.workers.insert(worker);
  const std::pair lane(at.pass, at.lane);
  if (group.ran.insert_or_assign(lane, worker).second) group.order.push_back(lane);
  if (std::ssize(group.order) <= kRanMax) return;
  group.ran.erase(group.order.front());
  group.order.pop_front();
}

// The lanes that workers have, one that several jobs of a group share being one.
std::map<int64_t, int64_t> Dispatcher::LanesOfWorkers() const {
  using Place = std::tuple<int64_t, int64_t, int64_t, int64_t>;
  std::set<Place> shared;  // Worker, first job of the group, pass, lane.
  std::map<int64_t, int64_t> lanes;
  for (const auto& [number, job] : jobs_) {
    const auto group = job.share.empty() ? groups_.end() : groups_.find(job.share);
    const bool alone = group == groups_.end() || group->second.jobs.size() < 2;
    for (const auto& [at, placed] : job.placed) {
      const bool first =
          alone ||
          shared.insert({placed.worker, *group->second.jobs.begin(), at.pass, at.lane})
              .second;
      if (first) ++lanes[placed.worker];
    }
  }
  return lanes;
}

// --- Those that name a group ---

// The seed and pass that a job without its own takes from the others of its group.
Dispatcher::Example Dispatcher::ExampleOf(int64_t number,
                                          const api::JobSettings& settings,
                                          absl::Time now) const {
  Example example;
  if (!NamesGroup(settings) || settings.seed) return example;
  for (const auto& [other, job] : jobs_) {
    const JobState* const state = state_.Find(other);
    if (other == number || state == nullptr) continue;
    if (state->settings.share != settings.share || !Reads(job, *state, now)) continue;
    example.seed = state->seed;
    example.pass = std::max(example.pass, PassOf(job, *state));
  }
  return example;
}

// That of its last consumer.
int64_t Dispatcher::PassOf(const Job& job, const JobState& state) {
  if (job.consumers.empty()) return state.first_pass;
  const auto last = std::ranges::min_element(
      job.consumers, {}, [](const auto& entry) { return entry.second.pass; });
  return std::max(state.first_pass, last->second.pass);
}

// What was listed for a job, but cut as others cut it that read the same rows: how that
// is done follows from the size of batches, too. A job with a state is cut as it was.
api::JobFacts Dispatcher::CutAsGroup(int64_t number, api::JobFacts facts) const {
  const JobState& own = *state_.Find(number);
  const std::string rows = SharedRows(own, facts);
  if (rows.empty() || !own.state.empty()) return facts;
  for (const auto& [share, group] : groups_) {
    const JobState& other = *state_.Find(*group.jobs.begin());
    const bool fits = other.facts && other.state.empty();
    if (!fits || SharedRows(other, *other.facts) != rows) continue;
    facts.cuts = other.facts->cuts;
    facts.lanes = other.facts->lanes;
    break;
  }
  return facts;
}

// --- Those that come late ---

// A job in any order begins where the others of its group are, if these are in the same
// pass, and it is not resumed in it: so it shares from its first batch on.
std::optional<LateStart> Dispatcher::LateFor(int64_t number,
                                             const api::PassFacts& facts) const {
  const Job& job = jobs_.at(number);
  const auto group = groups_.find(job.share);
  const auto own = job.passes.find(facts.pass);
  const bool resumed = own != job.passes.end() && own->second.taken != lanes::Taken();
  if (job.share.empty() || group == groups_.end() || resumed) return std::nullopt;
  std::map<int64_t, int64_t> rows;  // Of open lanes.
  for (const int64_t other : group->second.jobs) {
    if (other == number) continue;
    for (const auto& [at, placed] : jobs_.at(other).placed) {
      if (at.pass != facts.pass || !placed.now) continue;
      int64_t& row = rows[at.lane];
      row = std::max(row, placed.made);
    }
  }
  const bool endless = facts.lanes == api::kEndless;
  if (!endless) rows.erase(rows.lower_bound(facts.lanes), rows.end());
  if (rows.empty()) return std::nullopt;
  LateStart late{.first_lane = rows.begin()->first};
  for (auto& [lane, row] : rows) {
    row -= row % facts.batch_rows;  // What it misses is whole batches, too.
    if (row > 0 && row < own->second.RowsOf(lane)) late.open.push_back({lane, row});
  }
  const bool begins = late.first_lane == 0 && late.open.empty();
  return begins ? std::nullopt : std::optional(late);
}

// --- What workers did for them ---

void Dispatcher::HearVisits(int64_t worker, const api::JobVisits& visits) {
  const JobState* const state = state_.Find(visits.job);
  if (state == nullptr || state->incarnation != visits.incarnation) return;
  SoftOf(visits.job).visits[worker] = visits;
}

api::JobVisits Dispatcher::VisitsOf(const Job& job) {
  api::JobVisits all = job.visits_gone;
  for (const auto& [worker, visits] : job.visits) Add(all, visits);
  return all;
}

// What it did stays done; what it kept is gone.
void Dispatcher::LoseVisits(int64_t worker, Job& job) {
  const auto found = job.visits.find(worker);
  if (found == job.visits.end()) return;
  found->second.lag = found->second.window_bytes = 0;
  Add(job.visits_gone, found->second);
  job.visits.erase(found);
}

}  // namespace millrace::control
