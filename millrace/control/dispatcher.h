// The dispatcher without the network: a handler for each request, `(request, now) ->
// StatusOr<reply>`, over state that changes only by events, and what is soft beside it:
// who lives, which worker runs which lane, what was heard of lanes. One thread; no
// clock. The caller drains its inbox through the handlers, writes the events down in
// one transaction, and only then lets the replies go.
//
//   Dispatcher dispatcher({}, seed);
//   TRY(dispatcher.Restore(kept.snapshot, kept.events, now));
//   api::WorkerNews news = TRY(dispatcher.Beat(worker_beat, now));
//   dispatcher.Place(now);                     // Once for all of a drain.
//   TRY(store.Append(dispatcher.TakeEvents()));
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/events.h"
#include "millrace/control/openings.h"
#include "millrace/control/placing.h"
#include "millrace/control/state.h"
#include "millrace/lanes/known_lanes.h"

namespace millrace::control {

struct DispatcherOptions {
  absl::Duration heartbeat = absl::Seconds(1);
  int lost_after = 2;      // Heartbeats that a worker may miss.
  int run_lost_after = 3;  // The same of a run's consumers.
  int failures_max = 3;    // Workers that may fail a lane.
  absl::Duration straggler_after = absl::Seconds(30);  // Where nothing was measured.
  absl::Duration keep_job = absl::Hours(24);  // After its last consumer was heard.
};

class Dispatcher {
 public:
  // `seed` is what seeds of jobs are drawn from.
  Dispatcher(const DispatcherOptions& options, uint64_t seed);

  // Goes on from what a store has kept. No lane is given away for two heartbeats:
  // workers and consumers tell meanwhile what they run and know.
  absl::Status Restore(std::string_view snapshot,
                       const std::vector<std::string>& events, absl::Time now);

  absl::StatusOr<api::OpenedJob> Open(const api::OpenJob& open, absl::Time now);
  absl::StatusOr<api::ConsumerNews> Beat(const api::ConsumerBeat& beat, absl::Time now);
  absl::StatusOr<api::WorkerNews> Beat(const api::WorkerBeat& beat, absl::Time now);

  // What there is to tell now to who waits since a beat.
  api::ConsumerNews NewsFor(const api::ConsumerBeat& beat) const;
  api::WorkerNews NewsFor(const api::WorkerBeat& beat) const;

  // Gives lanes that are needed to workers, and takes them from the lost; forgets what
  // is over. Tells whether anything changed.
  bool Place(absl::Time now);

  // What must be written down before replies are let go.
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }

  const State& state() const { return state_; }

 private:
  struct Worker {
    api::WorkerFacts facts;
    absl::Time heard;
    bool draining = false;
    int64_t version = 0;      // When its lanes changed.
    std::set<int64_t> lists;  // Jobs whose sources it is to list.
  };

  struct Placed {
    int64_t worker = 0;
    int64_t from = 0;
    bool now = false;
    int64_t version = 0;
    absl::Time since;
  };

  struct Known {
    lanes::KnownLane lane;
    int64_t version = 0;
  };

  struct Consumer {
    absl::Time heard;
    int64_t beats = 0;
    std::vector<api::NeededLane> needs;
    std::set<int64_t> unreachable;
    std::optional<api::LaneAddress> waits_for;
    absl::Duration waits;
  };

  struct Failed {
    std::set<int64_t> workers;
    absl::Status status;
  };

  // What is soft of a job.
  struct Job {
    Openings openings;
    std::map<MemberKey, Consumer> consumers;
    std::map<api::LaneAddress, Placed> placed;
    std::map<api::LaneAddress, Known> known;
    std::map<api::LaneAddress, Failed> failed_lanes;
    absl::Status failed;  // Why the pass cannot go on.
    absl::Status unlisted;
    std::optional<int64_t> lister;
    absl::Time heard;
    absl::Duration lane_time;  // That lanes took lately; 0: not known yet.
  };

  struct Wish {
    api::NeededLane need;
    std::string host;
    std::set<int64_t> avoid;
    bool waited_too_long = false;
  };

  void Commit(const Event& event);

  Job& SoftOf(int64_t job) { return jobs_[job]; }

  int64_t NewVersion() { return ++version_; }

  absl::StatusOr<int64_t> FindOrMake(const api::OpenJob& open);
  absl::Status CheckTakeOver(int64_t number, const api::OpenJob& open,
                             absl::Time now) const;
  absl::Status Begin(int64_t number, const api::OpenJob& open);
  absl::StatusOr<api::OpenedJob> Opened(int64_t number, const api::OpenJob& open) const;

  absl::Status CheckReader(const api::ReaderHello& reader) const;
  absl::Status Learn(int64_t number, const api::KnownRows& known);

  void Join(const api::WorkerFacts& facts, absl::Time now);
  absl::Status Report(int64_t worker, const api::LaneReport& report, absl::Time now);
  void ReportFailure(int64_t worker, const api::LaneReport& report);
  void ReportListed(int64_t worker, const api::ListedJob& listed);
  api::WorkerNews Assigned(const Worker& worker) const;

  void LoseWorkers(absl::Time now);
  void PlaceJob(int64_t number, Job& job, absl::Time now);
  void PlaceListing(int64_t number, Job& job);
  std::map<api::LaneAddress, Wish> Wishes(int64_t number, const Job& job) const;
  void Unneeded(int64_t number, Job& job,
                const std::map<api::LaneAddress, Wish>& wishes);
  void PlaceLane(int64_t number, Job& job, const Wish& wish, absl::Time now);
  void Unplace(Job& job, const api::LaneAddress& at);
  absl::Duration StragglerAfter(const Job& job) const;
  std::vector<Candidate> Candidates() const;
  void Changed(int64_t worker);
  void ForgetOld(absl::Time now);

  DispatcherOptions options_;
  uint64_t seed_;
  State state_;
  std::map<int64_t, Job> jobs_;
  std::map<int64_t, Worker> workers_;
  int64_t version_ = 0;
  absl::Time quiet_until_ = absl::InfinitePast();
  int64_t restored_version_ = 0;  // News before it are of another dispatcher.
  std::vector<std::string> events_;
};

}  // namespace millrace::control
