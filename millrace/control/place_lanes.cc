// The part of the dispatcher that gives lanes to workers (dispatcher.h).
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/placing.h"
#include "millrace/control/state.h"

namespace millrace::control {

bool Dispatcher::Place(absl::Time now) {
  const int64_t before = version_;
  LoseWorkers(now);
  ForgetOld(now);
  for (auto& [number, job] : jobs_) {
    if (state_.Find(number) == nullptr) continue;
    PlaceListing(number, job);
    if (now >= quiet_until_) PlaceJob(number, job, now);
  }
  return version_ != before;
}

void Dispatcher::Changed(int64_t worker) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) found->second.version = NewVersion();
}

void Dispatcher::LoseWorkers(absl::Time now) {
  const absl::Duration silent = options_.lost_after * options_.heartbeat;
  for (auto it = workers_.begin(); it != workers_.end();) {
    const auto [number, worker] = *it;
    if (now - worker.heard <= silent) {
      ++it;
      continue;
    }
    it = workers_.erase(it);
    for (auto& [job_number, job] : jobs_) {
      if (job.lister == number) job.lister.reset();
      std::vector<api::LaneAddress> lost;
      for (const auto& [at, placed] : job.placed) {
        if (placed.worker == number) lost.push_back(at);
      }
      for (const api::LaneAddress& at : lost) Unplace(job, at);
    }
    NewVersion();
  }
}

void Dispatcher::Unplace(Job& job, const api::LaneAddress& at) {
  const auto found = job.placed.find(at);
  if (found == job.placed.end()) return;
  Changed(found->second.worker);
  job.placed.erase(found);
}

std::vector<Candidate> Dispatcher::Candidates() const {
  std::map<int64_t, int64_t> lanes;
  for (const auto& [number, job] : jobs_) {
    for (const auto& [at, placed] : job.placed) ++lanes[placed.worker];
  }
  std::vector<Candidate> candidates;
  candidates.reserve(workers_.size());
  for (const auto& [number, worker] : workers_) {
    candidates.push_back({worker.facts, lanes[number], worker.draining});
  }
  return candidates;
}

void Dispatcher::PlaceListing(int64_t number, Job& job) {
  const JobState& state = *state_.Find(number);
  if (state.facts || state.incarnation == 0 || job.lister || !job.unlisted.ok()) return;
  api::JobSettings settings = state.settings;
  settings.target = "any";  // Nobody reads yet, and nothing is run.
  settings.sharding = "dynamic";
  const std::optional<int64_t> worker =
      ChooseWorker(Candidates(), settings, {}, {.now = true});
  if (!worker) return;
  job.lister = worker;
  workers_.at(*worker).lists.insert(number);
  Changed(*worker);
}

void Dispatcher::PlaceJob(int64_t number, Job& job, absl::Time now) {
  if (!state_.Find(number)->facts || !job.failed.ok()) return;
  const std::map<api::LaneAddress, Wish> wishes = Wishes(number, job);
  Unneeded(number, job, wishes);
  for (const bool first : {true, false}) {
    for (const auto& [at, wish] : wishes) {
      if (wish.need.now == first) PlaceLane(number, job, wish, now);
    }
  }
}

// What all consumers need, put together.
std::map<api::LaneAddress, Dispatcher::Wish> Dispatcher::Wishes(int64_t number,
                                                                const Job& job) const {
  const JobState& state = *state_.Find(number);
  std::map<api::LaneAddress, Wish> wishes;
  for (const auto& [key, consumer] : job.consumers) {
    const auto member = state.members.find(key);
    for (const api::NeededLane& need : consumer.needs) {
      const auto [found, added] =
          wishes.try_emplace(need.at, Wish{need, "", {}, false});
      Wish& wish = found->second;
      wish.need.from = std::min(wish.need.from, need.from);
      wish.need.now = wish.need.now || need.now;
      wish.avoid.insert(consumer.unreachable.begin(), consumer.unreachable.end());
      const bool waits = consumer.waits_for == need.at;
      if (waits && member != state.members.end()) wish.host = member->second.host;
      wish.waited_too_long |= waits && consumer.waits > StragglerAfter(job);
    }
  }
  for (auto& [at, wish] : wishes) {
    const auto failed = job.failed_lanes.find(at);
    if (failed == job.failed_lanes.end()) continue;
    wish.avoid.insert(failed->second.workers.begin(), failed->second.workers.end());
  }
  return wishes;
}

// Lanes that no consumer needs any more, as far as all have told since.
void Dispatcher::Unneeded(int64_t number, Job& job,
                          const std::map<api::LaneAddress, Wish>& wishes) {
  const JobState& state = *state_.Find(number);
  const bool all_told =
      std::ssize(job.consumers) == state.settings.consumers * state.settings.members &&
      std::ranges::all_of(job.consumers,
                          [](const auto& entry) { return entry.second.beats > 0; });
  if (!all_told) return;
  std::vector<api::LaneAddress> unneeded;
  for (const auto& [at, placed] : job.placed) {
    if (!wishes.contains(at)) unneeded.push_back(at);
  }
  for (const api::LaneAddress& at : unneeded) Unplace(job, at);
  Event passed;
  passed.lanes_passed = {number, state.incarnation, {}};
  for (const auto& [at, known] : job.known) {
    if (!wishes.contains(at)) passed.lanes_passed->lanes.push_back(at);
  }
  for (const api::LaneAddress& at : passed.lanes_passed->lanes) job.known.erase(at);
  std::erase_if(passed.lanes_passed->lanes,
                [&](const api::LaneAddress& at) { return !state.ends.contains(at); });
  if (!passed.lanes_passed->lanes.empty()) Commit(passed);
}

void Dispatcher::PlaceLane(int64_t number, Job& job, const Wish& wish, absl::Time now) {
  const JobState& state = *state_.Find(number);
  const auto found = job.placed.find(wish.need.at);
  std::set<int64_t> avoid = wish.avoid;
  if (found != job.placed.end()) {
    Placed& placed = found->second;
    placed.from = std::max(placed.from, wish.need.from);  // Told with the next news.
    if (placed.now != wish.need.now) {
      placed.now = wish.need.now;
      Changed(placed.worker);
    }
    const auto worker = workers_.find(placed.worker);
    const bool leaves = worker != workers_.end() && worker->second.draining;
    const bool slow = wish.waited_too_long && now - placed.since > StragglerAfter(job);
    if (!leaves && !slow && !avoid.contains(placed.worker)) return;
    if (slow) avoid.insert(placed.worker);
  }
  const LaneWish lane{wish.need.at.lane, wish.host, avoid, wish.need.now};
  const std::optional<int64_t> worker =
      ChooseWorker(Candidates(), state.settings, *state.facts, lane);
  if (!worker) return;
  Unplace(job, wish.need.at);
  job.placed[wish.need.at] = {*worker, wish.need.from, wish.need.now, NewVersion(),
                              now};
  Changed(*worker);
}

absl::Duration Dispatcher::StragglerAfter(const Job& job) const {
  if (job.lane_time == absl::ZeroDuration()) return options_.straggler_after;
  return std::max(3 * options_.heartbeat, 2 * job.lane_time);
}

// Memory is bounded by the jobs that live.
void Dispatcher::ForgetOld(absl::Time now) {
  std::vector<int64_t> old;
  for (const auto& [number, job] : jobs_) {
    if (now - job.heard > options_.keep_job) old.push_back(number);
  }
  for (const int64_t number : old) {
    for (const auto& [at, placed] : jobs_.at(number).placed) Changed(placed.worker);
    jobs_.erase(number);
    if (state_.Find(number) == nullptr) continue;
    Event event;
    event.job_forgotten = {number};
    Commit(event);
  }
}

}  // namespace millrace::control
