// The part of the dispatcher that gives lanes to workers (dispatcher.h).
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/placing.h"
#include "millrace/control/state.h"

namespace millrace::control {
namespace {

// How long a worker counts as slow: so many times what was waited for it.
constexpr int kSlowTimes = 10;

// A consumer has told within this part of a heartbeat that it needs a lane no more.
constexpr int kTellParts = 4;

// How often the time that a lane may take is doubled.
constexpr int kSlowMost = 10;

}  // namespace

bool Dispatcher::Place(absl::Time now) {
  const int64_t before = version_;
  LoseWorkers(now);
  ForgetOld(now);
  Regroup(now);
  candidates_.clear();
  for (auto& [number, job] : jobs_) {
    if (state_.Find(number) == nullptr) continue;
    PlaceListing(number, job, now);
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
  std::vector<int64_t> lost;
  for (const auto& [number, worker] : workers_) {
    if (now - worker.heard <= silent) continue;
    Note("worker lost", worker.facts.address);
    lost.push_back(number);
  }
  for (const int64_t number : lost) Remove(number);
}

void Dispatcher::Remove(int64_t worker) {
  workers_.erase(worker);
  for (auto& [share, group] : groups_) group.workers.erase(worker);
  for (auto& [job_number, job] : jobs_) {
    if (job.lister == worker) job.lister.reset();
    LoseVisits(worker, job);
    std::vector<api::LaneAddress> lost;
    for (const auto& [at, placed] : job.placed) {
      if (placed.worker == worker) lost.push_back(at);
    }
    for (const api::LaneAddress& at : lost) Unplace(job, at);
  }
  NewVersion();
}

void Dispatcher::Unplace(Job& job, const api::LaneAddress& at) {
  const auto found = job.placed.find(at);
  if (found == job.placed.end()) return;
  Changed(found->second.worker);
  CountLane(found->second.worker, -1);
  job.placed.erase(found);
}

void Dispatcher::CountLane(int64_t worker, int64_t change) {
  const auto found = std::ranges::find(
      candidates_, worker, [](const Candidate& one) { return one.facts.worker; });
  if (found != candidates_.end()) found->lanes += change;
}

std::vector<Candidate> Dispatcher::AllWorkers(absl::Time now) const {
  std::map<int64_t, int64_t> lanes = LanesOfWorkers();
  std::vector<Candidate> candidates;
  candidates.reserve(workers_.size());
  for (const auto& [number, worker] : workers_) {
    candidates.push_back({worker.facts, lanes[number], worker.draining,
                          now < worker.slow_until, &worker.packages});
  }
  return candidates;
}

// Made once for all lanes that are placed together: there may be many of both.
const std::vector<Candidate>& Dispatcher::Candidates(absl::Time now) {
  if (candidates_.empty()) candidates_ = AllWorkers(now);
  return candidates_;
}

void Dispatcher::PlaceListing(int64_t number, Job& job, absl::Time now) {
  const JobState& state = *state_.Find(number);
  if (state.facts || state.incarnation == 0 || job.lister || !job.unlisted.ok()) return;
  const std::optional<int64_t> worker =
      ChooseWorker(Candidates(now), ForListing(state.settings), {}, {.now = true});
  if (!worker) return;
  job.lister = worker;
  workers_.at(*worker).lists.insert(number);
  Changed(*worker);
}

void Dispatcher::PlaceJob(int64_t number, Job& job, absl::Time now) {
  const JobState& state = *state_.Find(number);
  if (!state.facts || !job.failed.ok()) return;
  const std::map<api::LaneAddress, Wish> wishes = Wishes(number, job);
  Unneeded(number, job, wishes);
  // Who has just been sent the rest of a lane may not have said yet that it needs it no
  // more: it would be run again for nobody.
  std::erase_if(job.released, [&](const auto& entry) {
    const bool told = now - entry.second > options_.heartbeat / kTellParts;
    return told || !wishes.contains(entry.first);
  });
  std::vector<const Wish*> in_order;
  in_order.reserve(wishes.size());
  for (const auto& [at, wish] : wishes) in_order.push_back(&wish);
  std::ranges::sort(in_order, {}, [](const Wish* wish) {
    return std::tuple(!wish->need.now, wish->order, wish->need.at);
  });
  for (const Wish* wish : in_order) PlaceLane(number, job, *wish, now);
  if (state.settings.sharding == "static") MissIndexes(job, wishes, state, now);
}

// What all consumers need, put together.
std::map<api::LaneAddress, Dispatcher::Wish> Dispatcher::Wishes(int64_t number,
                                                                const Job& job) const {
  const JobState& state = *state_.Find(number);
  std::map<api::LaneAddress, Wish> wishes;
  for (const auto& [key, consumer] : job.consumers) {
    const auto member = state.members.find(key);
    int64_t order = 0;
    for (const api::NeededLane& need : consumer.needs) {
      const auto [found, added] = wishes.try_emplace(need.at, Wish{.need = need});
      Wish& wish = found->second;
      wish.order = added ? order : std::min(wish.order, order);
      ++order;
      wish.need.from = std::min(wish.need.from, need.from);
      wish.need.now = wish.need.now || need.now;
      wish.avoid.insert(consumer.unreachable.begin(), consumer.unreachable.end());
      const bool waits = consumer.waits_for == need.at;
      if (member != state.members.end()) {
        wish.hosts.insert(member->second.host);
        if (waits) wish.host = member->second.host;
      }
      wish.waited |= waits;
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
    const bool wanted =
        state.settings.order == "any" ? IsLeft(number, at) : wishes.contains(at);
    if (!wanted) passed.lanes_passed->lanes.push_back(at);
  }
  for (const api::LaneAddress& at : passed.lanes_passed->lanes) job.known.erase(at);
  std::erase_if(passed.lanes_passed->lanes,
                [&](const api::LaneAddress& at) { return !state.ends.contains(at); });
  if (!passed.lanes_passed->lanes.empty()) Commit(passed);
}

void Dispatcher::PlaceLane(int64_t number, Job& job, const Wish& wish, absl::Time now) {
  if (job.released.contains(wish.need.at)) return;
  const JobState& state = *state_.Find(number);
  LaneWish lane{wish.need.at.lane, wish.hosts,    wish.host,
                wish.avoid,        wish.need.now, WhereShared(job, wish.need.at)};
  Placed before;
  Pace pace = Pace::kFine;
  bool must_move = false;
  if (const auto found = job.placed.find(wish.need.at); found != job.placed.end()) {
    Placed& placed = found->second;
    placed.from = std::max(placed.from, wish.need.from);  // Told with the next news.
    placed.order = wish.order;
    if (placed.now != wish.need.now) {
      placed.now = wish.need.now;
      Changed(placed.worker);
    }
    const auto worker = workers_.find(placed.worker);
    const bool leaves = worker != workers_.end() && worker->second.draining;
    pace = PaceOf(job, wish, placed, now);
    must_move = leaves || lane.avoid.contains(placed.worker);
    if (!must_move && pace == Pace::kFine) return;
    if (pace != Pace::kFine) lane.avoid.insert(placed.worker);
    lane.now |= leaves;  // It was begun, and is better gone on with where it may stay.
    before = placed;
  }
  const std::optional<int64_t> worker =
      ChooseWorker(Candidates(now), state.settings, *state.facts, lane);
  if (!worker) {
    // The others that could have run it may be gone since it failed.
    if (!job.placed.contains(wish.need.at)) FailPass(number, wish.need.at);
    return;
  }
  // From one slow worker to the next it would go round for ever.
  const bool slow_too = now < workers_.at(*worker).slow_until;
  if (pace == Pace::kSlow && slow_too && !must_move) return;
  if (pace != Pace::kFine) {
    Note("lane moved", state.settings.name, "its worker is slow");
  }
  ++placements_;
  Unplace(job, wish.need.at);
  job.placed[wish.need.at] = {*worker, wish.need.from, wish.need.now, NewVersion(),
                              now,     before.slow,    wish.order};
  if (pace == Pace::kStraggles) ++job.placed[wish.need.at].slow;
  if (worker != lane.shared) CountLane(*worker, 1);
  RememberWhere(job, wish.need.at, *worker);
  Changed(*worker);
}

// A lane that was waited for too long is to be started elsewhere, and what is too long
// doubles then: perhaps it was not the worker. That one is known to be slow from then
// on, for a while, and nobody waits so long for its other lanes.
Dispatcher::Pace Dispatcher::PaceOf(const Job& job, const Wish& wish,
                                    const Placed& placed, absl::Time now) {
  const auto worker = workers_.find(placed.worker);
  if (worker == workers_.end()) return Pace::kFine;
  const absl::Duration limit =
      StragglerAfter(job) * (1 << std::min(placed.slow, kSlowMost));
  const bool straggles = wish.waited_too_long && now - placed.since > limit;
  absl::Time& until = worker->second.slow_until;
  if (straggles) {
    until = std::max(until, now + kSlowTimes * limit);
    candidates_.clear();  // They tell who is slow.
    return Pace::kStraggles;
  }
  return wish.waited && now < until ? Pace::kSlow : Pace::kFine;
}

// What lanes take is measured from when they are given away to their end, so where
// consumers take their time it says little: it only makes the limit less.
absl::Duration Dispatcher::StragglerAfter(const Job& job) const {
  if (job.lane_time == absl::ZeroDuration()) return options_.straggler_after;
  return std::min(options_.straggler_after,
                  std::max(3 * options_.heartbeat, 2 * job.lane_time));
}

// --- Static sharding ---

// Only one worker may run a lane: where it does not come, nobody waits for ever.
void Dispatcher::MissIndexes(Job& job, const std::map<api::LaneAddress, Wish>& wishes,
                             const JobState& state, absl::Time now) {
  std::map<api::LaneAddress, absl::Time> missed;
  for (const auto& [at, wish] : wishes) {
    if (!wish.need.now || job.placed.contains(at)) continue;
    const auto before = job.missed.find(at);
    missed[at] = before == job.missed.end() ? now : before->second;
    if (now - missed[at] <= options_.index_within) continue;
    job.failed = MissingIndex(state, at.lane);
    NewVersion();
    break;
  }
  job.missed = std::move(missed);
}

absl::Status Dispatcher::MissingIndex(const JobState& state, int64_t lane) const {
  int64_t of = 0;
  for (const auto& [number, worker] : workers_) of = std::max(of, worker.facts.of);
  const auto wrong = [&](const auto&... why) {
    return absl::UnavailableError(base::StrCat(
        "job \"", state.settings.name, "\" has sharding=\"static\", and ", why...));
  };
  if (of == 0) {
    return wrong(
        "no worker has an index: start them with `millrace worker --index I "
        "--of M`, I from 0 to M - 1");
  }
  const int64_t index = lane % of;
  return wrong("lane ", lane, " waits for ", WantedWorker(state.settings, *state.facts),
               ", number ", index, " of ", of, ", that has not come for ",
               absl::FormatDuration(options_.index_within),
               ": start it with `millrace worker --index ", index, " --of ", of, "`");
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
    Note("job forgotten", state_.Find(number)->settings.name);
    Event event;
    event.job_forgotten = {number};
    Commit(event);
  }
}

}  // namespace millrace::control
