// A dispatcher on virtual time for tests, and what workers and consumers say to it.
// As in the loop around a real one, lanes are placed after each request, and the events
// of it are kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher.h"

namespace millrace::control {

// One of so many consumers opens a job.
inline api::OpenJob Opening(int64_t consumer = 0, int64_t consumers = 1) {
  api::OpenJob open{.settings = {.name = "train", .pipeline = "hash"}};
  open.settings.consumers = consumers;
  open.settings.remainder = "drop";
  open.run = {"slurm-1", 0, "a"};
  open.consumer = consumer;
  open.opening = 1;
  return open;
}

// Another launch of a program.
inline api::OpenJob OtherRun(const std::string& id, int64_t restart) {
  api::OpenJob open = Opening();
  open.run = {id, restart, "b"};
  open.opening = 2;
  return open;
}

// A worker with room for four lanes.
inline api::WorkerFacts Facts(int64_t worker) {
  api::WorkerFacts facts{.worker = worker, .lanes_max = 4};
  facts.address = base::StrCat("10.0.0.", worker, ":5050");
  facts.host = base::StrCat("host", worker);
  return facts;
}

inline api::JobFacts Listed(bool counted) {
  return {.manifest = "sha", .lanes = 100, .counted = counted, .batch_rows = 4};
}

// Needs these lanes of the first pass, now.
inline std::vector<api::NeededLane> Needs(const std::vector<int64_t>& lanes) {
  std::vector<api::NeededLane> needs;
  needs.reserve(lanes.size());
  for (const int64_t lane : lanes) needs.push_back({{0, lane}, 0, true});
  return needs;
}

// What a worker tells of a lane of the first job.
inline api::LaneReport Report(int64_t lane, int64_t rows, bool ended = false) {
  return {.job = 1, .incarnation = 1, .at = {0, lane}, .rows = rows, .ended = ended};
}

class Service {
 public:
  explicit Service(const DispatcherOptions& options = {})
      : options_(options), dispatcher_(std::make_unique<Dispatcher>(options, 7)) {}

  // Loses the process, and all that it has not written down.
  void Restart() {
    dispatcher_ = std::make_unique<Dispatcher>(options_, 7);
    EXPECT_THAT(dispatcher_->Restore("", journal, now), base::IsOk());
  }

  template <typename Request>
  auto Send(const Request& request) {
    auto reply = Handle(request);
    dispatcher_->Place(now);
    for (std::string& event : dispatcher_->TakeEvents()) {
      journal.push_back(std::move(event));
    }
    return reply;
  }

  // Sends what is not refused.
  template <typename Request>
  void Accept(const Request& request) {
    EXPECT_THAT(Send(request), base::IsOk());
  }

  api::WorkerNews Join(const api::WorkerFacts& facts) {
    return *Send(api::WorkerBeat{.worker = facts.worker, .facts = facts});
  }

  // A worker says that it lives, and what happened to a lane.
  api::WorkerNews Tell(int64_t worker, std::vector<api::LaneReport> lanes = {}) {
    return *Send(api::WorkerBeat{.worker = worker, .lanes = std::move(lanes)});
  }

  // Opens a job for all its consumers; a worker that has joined lists its sources.
  // Gives a beat of each consumer.
  std::vector<api::ConsumerBeat> Start(const std::vector<api::OpenJob>& opens,
                                       const api::JobFacts& facts = Listed(true)) {
    for (const api::OpenJob& open : opens) Accept(open);
    for (const auto& [number, worker] : workers_) List(number, facts);
    std::vector<api::ConsumerBeat> beats;
    for (const api::OpenJob& open : opens) {
      const api::OpenedJob opened = *Send(open);
      EXPECT_TRUE(opened.ready) << opened.waits_for;
      api::ConsumerBeat beat;
      beat.reader = {opened.job, opened.incarnation, open.consumer, open.member,
                     opened.generation};
      beats.push_back(beat);
    }
    return beats;
  }

  // Has a worker list what it is told to.
  void List(int64_t worker, const api::JobFacts& facts) {
    api::WorkerBeat beat{.worker = worker};
    const api::WorkerNews news = Tell(worker);
    for (const api::WorkerJob& job : news.jobs) {
      if (job.manifest.empty()) beat.listed.push_back({.job = job.job, .facts = facts});
    }
    Accept(beat);
  }

  // Where the lanes are run that a consumer needs, once it has said so; -1: nowhere.
  std::map<int64_t, int64_t> Placed(const api::ConsumerBeat& beat) {
    Accept(beat);
    std::map<int64_t, int64_t> workers;
    const api::ConsumerNews news = *Send(beat);
    for (const api::PlacedLane& placed : news.placed) {
      workers[placed.at.lane] = placed.worker;
    }
    return workers;
  }

  // Time passes; these workers beat meanwhile, others are silent.
  void Pass(absl::Duration time, const std::vector<int64_t>& workers = {}) {
    for (const absl::Time end = now + time; now < end;) {
      now += std::min(end - now, options_.heartbeat / 2);
      for (const int64_t worker : workers) Tell(worker);
    }
  }

  Dispatcher& dispatcher() { return *dispatcher_; }

  absl::Time now = absl::FromUnixSeconds(1'000'000);
  std::vector<std::string> journal;

 private:
  absl::StatusOr<api::OpenedJob> Handle(const api::OpenJob& open) {
    return dispatcher_->Open(open, now);
  }

  absl::StatusOr<api::ConsumerNews> Handle(const api::ConsumerBeat& beat) {
    return dispatcher_->Beat(beat, now);
  }

  absl::StatusOr<api::WorkerNews> Handle(const api::WorkerBeat& beat) {
    if (beat.facts) workers_[beat.worker] = *beat.facts;
    return dispatcher_->Beat(beat, now);
  }

  DispatcherOptions options_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::map<int64_t, api::WorkerFacts> workers_;
};

}  // namespace millrace::control
