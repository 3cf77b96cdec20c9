// The part of the dispatcher that tells about itself (dispatcher.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/time/time.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/bytes.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/placing.h"
#include "millrace/control/sharing.h"
#include "millrace/control/state.h"

namespace millrace::control {
namespace {

int64_t MillisecondsSince(absl::Time then, absl::Time now) {
  return absl::ToInt64Milliseconds(now - std::min(then, now));
}

// Of those that wait, so many are told of.
constexpr size_t kWaitingMax = 16;

template <typename Consumers>
bool AllLeft(const api::JobSettings& settings, const Consumers& consumers) {
  return std::ssize(consumers) >= settings.consumers * settings.members &&
         std::ranges::all_of(consumers,
                             [](const auto& entry) { return entry.second.left; });
}

}  // namespace

int64_t Dispatcher::WaitingLanes(const Job& job) {
  std::set<api::LaneAddress> waiting;
  for (const auto& [key, consumer] : job.consumers) {
    for (const api::NeededLane& need : consumer.needs) {
      if (need.now && !job.placed.contains(need.at)) waiting.insert(need.at);
    }
  }
  return std::ssize(waiting);
}

// What a job waits for whose sources were not listed yet.
std::string Dispatcher::Unlisted(const api::JobSettings& settings) const {
  if (CountWorkersFor(settings) > 0) return "a worker to list the sources";
  return base::StrCat(WantedWorker(ForListing(settings), {}),
                      " to join: start one with `millrace worker`");
}

// Wherever its consumers are.
int64_t Dispatcher::CountWorkersFor(const api::JobSettings& settings) const {
  const api::JobSettings by_any = ForListing(settings);
  return std::ranges::count_if(workers_, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return !worker.draining && MayRun(worker.facts, by_any, {}, 0);
  });
}

// What a job waits for that the workers there are have too little memory for; empty:
// one has enough, or it is not for the memory that they run none of it.
std::string Dispatcher::LacksMemory(const JobState& state) const {
  const api::JobFacts& facts = *state.facts;
  api::JobFacts small = facts;
  small.lane_bytes = 0;
  int64_t fit = -1;
  for (const auto& [number, worker] : workers_) {
    if (worker.draining) continue;
    const int64_t lane =
        worker.facts.index;  // One that is its own, by static sharding.
    if (MayRun(worker.facts, state.settings, facts, lane)) return "";
    const bool otherwise = MayRun(worker.facts, state.settings, small, lane);
    if (otherwise) fit = std::max(fit, LanesThatFit(worker.facts, facts));
  }
  if (fit < 0) return "";
  const base::Bytes lane(facts.lane_bytes);
  const int64_t lanes = LanesToHold(state.settings, facts);
  std::string text = base::StrCat("a worker with more memory: its ", lanes,
                                  " open lanes take at least ", base::ToString(lane),
                                  " each, ", base::ToString(lanes * lane),
                                  " in all: start one with `millrace worker --memory ",
                                  (lanes * lane).count(), "`");
  if (fit > 0)
    text += base::StrCat(", or open it with open_lanes=", fit, ", which fit");
  return text;
}

std::string Dispatcher::StateOf(const JobState& state, const Job& job) const {
  if (!job.failed.ok()) return base::StrCat("failed: ", job.failed.message());
  if (!job.unlisted.ok()) return base::StrCat("failed: ", job.unlisted.message());
  if (state.incarnation == 0) return "waits for all its consumers";
  if (AllLeft(state.settings, job.consumers)) return "over: its consumers have left";
  if (!state.facts) return base::StrCat("waits for ", Unlisted(state.settings));
  if (WaitingLanes(job) == 0) return "running";
  const std::string memory = LacksMemory(state);
  if (!memory.empty()) return base::StrCat("waits for ", memory);
  return base::StrCat("waits for ", WantedWorker(state.settings, *state.facts));
}

api::ServiceStatus Dispatcher::Tell(const api::GetStatus& /*request*/,
                                    absl::Time now) const {
  api::ServiceStatus status{.ready = now >= quiet_until_};
  if (!status.ready) status.waits_for = "workers and consumers to tell what they do";
  status.jobs = std::ssize(state_.jobs());
  status.workers = std::ssize(workers_);
  status.placements = placements_;
  for (const auto& [number, worker] : workers_) {
    status.workers_draining += worker.draining ? 1 : 0;
  }
  for (const auto& [number, job] : jobs_) {
    status.lanes_placed += std::ssize(job.placed);
    status.lanes_waiting += WaitingLanes(job);
  }
  return status;
}

std::vector<api::WaitingConsumer> Dispatcher::WaitingOf(const Job& job) const {
  std::vector<api::WaitingConsumer> waiting;
  for (const auto& [key, consumer] : job.consumers) {
    if (!consumer.waits_for) continue;
    api::WaitingConsumer& one = waiting.emplace_back();
    one = {.consumer = key.consumer, .member = key.member};
    one.waits_ms = absl::ToInt64Milliseconds(consumer.waits);
    one.lane = *consumer.waits_for;
    const auto placed = job.placed.find(one.lane);
    if (placed == job.placed.end()) continue;
    one.worker = workers_.at(placed->second.worker).facts.address;
  }
  std::ranges::sort(waiting, {}, [](const api::WaitingConsumer& one) {
    return std::tuple(-one.waits_ms, one.consumer, one.member);
  });
  if (waiting.size() > kWaitingMax) waiting.resize(kWaitingMax);
  return waiting;
}

api::JobSummary Dispatcher::SummaryOf(int64_t number, const Job& job,
                                      absl::Time now) const {
  const JobState& state = *state_.Find(number);
  api::JobSummary summary{.job = number, .name = state.settings.name};
  summary.pipeline = state.settings.pipeline;
  summary.order = state.settings.order;
  summary.consumers = state.settings.consumers;
  summary.incarnation = state.incarnation;
  summary.run = state.run;
  summary.seed = state.seed;
  if (state.facts) summary.lanes = state.facts->lanes;
  const absl::Duration silent = options_.run_lost_after * options_.heartbeat;
  if (!job.consumers.empty()) summary.pass = job.consumers.begin()->second.pass;
  for (const auto& [key, consumer] : job.consumers) {
    summary.pass = std::min(summary.pass, consumer.pass);
    if (key.member != 0) continue;  // All members take the same.
    summary.taken += consumer.taken;
    summary.batches_per_second += consumer.rate.PerSecond(now);
    summary.consumers_heard += now - consumer.heard <= silent ? 1 : 0;
  }
  summary.left_out_rows = job.left_out_rows;
  std::set<int64_t> workers;
  for (const auto& [at, placed] : job.placed) workers.insert(placed.worker);
  summary.workers = std::ssize(workers);
  summary.waiting = WaitingOf(job);
  summary.lanes_placed = std::ssize(job.placed);
  summary.lanes_waiting = WaitingLanes(job);
  summary.heard_ms = MillisecondsSince(job.heard, now);
  summary.state = StateOf(state, job);
  summary.share = job.share;
  if (NamesGroup(state.settings)) summary.group = state.settings.share;
  const auto group = groups_.find(job.share);
  if (group != groups_.end()) {
    summary.sharers = std::max<int64_t>(1, std::ssize(group->second.jobs));
  }
  summary.visits = VisitsOf(job);
  return summary;
}

api::JobList Dispatcher::Tell(const api::ListJobs& /*request*/, absl::Time now) const {
  api::JobList list;
  for (const auto& [number, job] : jobs_) {
    if (state_.Find(number) == nullptr) continue;
    list.jobs.push_back(SummaryOf(number, job, now));
  }
  return list;
}

api::WorkerList Dispatcher::Tell(const api::ListWorkers& /*request*/,
                                 absl::Time now) const {
  std::map<int64_t, int64_t> lanes = LanesOfWorkers();
  api::WorkerList list;
  for (const auto& [number, worker] : workers_) {
    list.workers.push_back({.facts = worker.facts,
                            .lanes = lanes[number],
                            .heard_ms = MillisecondsSince(worker.heard, now),
                            .draining = worker.draining});
  }
  return list;
}

}  // namespace millrace::control
