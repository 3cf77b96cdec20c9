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
#include <deque>
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

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/events.h"
#include "millrace/control/openings.h"
#include "millrace/control/placing.h"
#include "millrace/control/rights.h"
#include "millrace/control/shares.h"
#include "millrace/control/state.h"
#include "millrace/control/taking_rate.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {

struct DispatcherOptions {
  absl::Duration heartbeat = absl::Seconds(1);
  int lost_after = 2;      // Heartbeats that a worker may miss.
  int run_lost_after = 3;  // The same of a run's consumers.
  int failures_max = 3;    // Workers that may fail a lane.
  absl::Duration straggler_after = absl::Seconds(30);  // Less, once it was measured.
  absl::Duration index_within = absl::Seconds(60);     // Of static sharding, missing.
  absl::Duration keep_job = absl::Hours(24);  // After its last consumer was heard.
  bool has_token = false;  // Who asks must have one, so Python functions may come.
};

// Something that happened, for logs and counts.
struct Notice {
  std::string_view what;  // Constant: "worker lost".
  std::string name;       // Of the job, or where the worker is.
  std::string why;        // Empty where there is nothing to say.
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
  absl::StatusOr<api::ConsumerNews> NewsFor(const api::ConsumerBeat& beat) const;
  api::WorkerNews NewsFor(const api::WorkerBeat& beat) const;

  // Tells whether there is any: cheap, for who waits among many.
  bool HasNewsFor(const api::ConsumerBeat& beat) const {
    return beat.version != version_;
  }

  bool HasNewsFor(const api::WorkerBeat& beat) const;

  // Gives lanes that are needed to workers, and takes them from the lost; forgets what
  // is over. Tells whether anything changed.
  bool Place(absl::Time now);

  // What there is and how it is, for people and their tools.
  api::ServiceStatus Tell(const api::GetStatus& request, absl::Time now) const;
  api::JobList Tell(const api::ListJobs& request, absl::Time now) const;
  api::WorkerList Tell(const api::ListWorkers& request, absl::Time now) const;

  // What has happened that is worth a line in a log.
  std::vector<Notice> TakeNotices() { return std::exchange(notices_, {}); }

  // What must be written down before replies are let go.
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }

  const State& state() const { return state_; }

 private:
  struct Worker {
    api::WorkerFacts facts;
    std::vector<api::Package> packages;  // Of its facts, by name.
    absl::Time heard;
    bool draining = false;
    absl::Time slow_until = absl::InfinitePast();  // Others are better, up to then.
    int64_t version = 0;                           // When its lanes changed.
    std::set<int64_t> lists;                       // Jobs whose sources it is to list.
  };

  struct Placed {
    int64_t worker = 0;
    int64_t from = 0;
    bool now = false;
    int64_t version = 0;
    absl::Time since;
    int slow = 0;       // Workers before that were slow: each has twice as long.
    int64_t order = 0;  // Of a job's lanes: the lower, the sooner it is needed.
    int64_t made = 0;   // Rows that it is known to have come to.
  };

  struct Known {
    lanes::KnownLane lane;
    int64_t version = 0;
  };

  struct Consumer {
    absl::Time heard;
    bool left = false;  // It reads no more; what comes of it is late.
    int64_t beats = 0;
    int64_t latest = 0;  // Number of its latest beat.
    int64_t pass = 0;    // That it takes from.
    int64_t taken = 0;   // Batches, in this start.
    TakingRate rate;
    std::vector<api::NeededLane> needs;
    std::set<int64_t> unreachable;
    std::optional<api::LaneAddress> waits_for;
    absl::Duration waits;
  };

  struct Failed {
    std::set<int64_t> workers;
    absl::Status status;
  };

  // Whether a lane's worker is slow.
  enum class Pace : uint8_t {
    kFine,
    kSlow,       // So it is known: better elsewhere.
    kStraggles,  // It was waited for too long.
  };

  // What is soft of a pass in any order.
  struct Pass {
    std::vector<int64_t> lane_rows;       // Empty: not known beforehand.
    lanes::Taken taken;                   // Before this start.
    std::map<int64_t, int64_t> received;  // Of rights, up to that row.
    std::set<int64_t> hungry;             // Consumers that have nothing left.

    // lanes::kRowsMax: not known beforehand.
    int64_t RowsOf(int64_t lane) const {
      return lane_rows.empty() ? lanes::kRowsMax : lane_rows[lane];
    }
  };

  // What is soft of a job.
  struct Job {
    Openings openings;
    std::map<MemberKey, Consumer> consumers;
    std::map<api::LaneAddress, Placed> placed;
    std::map<api::LaneAddress, Known> known;
    std::map<api::LaneAddress, Failed> failed_lanes;
    std::map<api::LaneAddress, absl::Time> missed;    // In static sharding, since when.
    std::map<api::LaneAddress, absl::Time> released;  // When all had been sent it.
    std::map<int64_t, Pass> passes;                   // In any order.
    absl::Status failed;                              // Why the pass cannot go on.
    absl::Status unlisted;
    std::optional<int64_t> lister;
    absl::Time heard;
    absl::Duration lane_time;   // That lanes took lately; 0: not known yet.
    int64_t left_out_rows = 0;  // In this start, as far as they are known.
    std::string share;          // With jobs that have the same; empty: with none.
    int64_t share_of = 0;       // In this start.
    std::map<int64_t, api::JobVisits> visits;  // By worker, as far as they were told.
    api::JobVisits visits_gone;                // Of workers that are gone.
  };

  // Jobs that read the same rows, and read now.
  struct Group {
    std::set<int64_t> jobs;
    std::set<int64_t> workers;  // That have run lanes of it, and may keep some rows.
    std::map<std::pair<int64_t, int64_t>, int64_t> ran;  // Pass and lane, on a worker.
    std::deque<std::pair<int64_t, int64_t>> order;       // The same, oldest first.
  };

  // What a job takes from the others of a group that it names.
  struct Example {
    std::optional<int64_t> seed = {};
    int64_t pass = 0;
  };

  struct Wish {
    api::NeededLane need;
    std::set<std::string> hosts = {};  // Of those that need it.
    std::string host = {};             // Of the one that waits for it.
    std::set<int64_t> avoid = {};
    int64_t order = 0;    // Among those of who needs it soonest.
    bool waited = false;  // Somebody waits for it.
    bool waited_too_long = false;
  };

  void Commit(const Event& event);
  void Note(std::string_view what, const std::string& name, std::string why = "");

  Job& SoftOf(int64_t job) { return jobs_[job]; }

  int64_t NewVersion() { return ++version_; }

  absl::StatusOr<int64_t> FindOrMake(const api::OpenJob& open);
  absl::Status CheckTakeOver(int64_t number, const api::OpenJob& open,
                             absl::Time now) const;
  absl::Status CheckSameRun(int64_t number, const api::OpenJob& open,
                            absl::Time now) const;
  absl::Status Begin(int64_t number, const api::OpenJob& open, absl::Time now);
  absl::StatusOr<api::OpenedJob> Opened(int64_t number, const api::OpenJob& open,
                                        absl::Time now) const;

  absl::Status CheckReader(const api::ReaderHello& reader) const;
  void LeaveOut(int64_t number, int64_t rows);
  absl::Status Learn(int64_t number, const api::KnownRows& known);

  // In any order (deal_rights.cc).
  absl::Status HearPasses(const api::ConsumerBeat& beat);
  absl::Status BeginPass(int64_t number, const api::PassFacts& facts);
  absl::StatusOr<Pass> ReadPass(int64_t number, const api::PassFacts& facts) const;
  absl::Status HearPass(const api::ReaderHello& reader, const api::PassBeat& beat);
  void HearPromises(const api::ReaderHello& reader, const api::PassBeat& beat);
  void TellPasses(const api::ConsumerBeat& beat, api::ConsumerNews& news) const;
  void Change(int64_t number, int64_t pass, const PassChange& change);
  static Lease NextLease(const Pass& pass, const LeasedLane& next);
  void LeaseLanes(int64_t number, int64_t pass);
  void CountPass(int64_t number, int64_t pass);
  void ForgetPasses(int64_t number);
  Shares SharesOf(int64_t number, int64_t pass) const;
  lanes::KnownLane RowsOf(int64_t number, int64_t pass, const OwnedRight& owned) const;
  int64_t LanesEach(int64_t consumers) const;
  bool IsLeft(int64_t number, const api::LaneAddress& at) const;
  api::PassNews NewsOfPass(int64_t number, int64_t pass, int64_t consumer) const;

  // Jobs that share their rows (share_groups.cc).
  bool Reads(const Job& job, const JobState& state, absl::Time now) const;
  void Regroup(absl::Time now);
  void TellShare(const Job& job, const JobState& state, api::WorkerJob& told) const;
  std::optional<int64_t> WhereShared(const Job& job, const api::LaneAddress& at) const;
  void RememberWhere(const Job& job, const api::LaneAddress& at, int64_t worker);
  std::map<int64_t, int64_t> LanesOfWorkers() const;
  std::set<int64_t> JobsSharedBy(int64_t worker) const;
  Example ExampleOf(int64_t number, const api::JobSettings& settings,
                    absl::Time now) const;
  static int64_t PassOf(const Job& job, const JobState& state);
  api::JobFacts CutAsGroup(int64_t number, api::JobFacts facts) const;
  std::optional<LateStart> LateFor(int64_t number, const api::PassFacts& facts) const;
  void HearVisits(int64_t worker, const api::JobVisits& visits);
  static api::JobVisits VisitsOf(const Job& job);
  static void LoseVisits(int64_t worker, Job& job);

  void Join(const api::WorkerFacts& facts, absl::Time now);
  absl::Status Report(int64_t worker, const api::LaneReport& report, absl::Time now);
  void ReportFailure(int64_t worker, const api::LaneReport& report);
  void FailPass(int64_t number, const api::LaneAddress& at);
  void ReportListed(int64_t worker, const api::ListedJob& listed);
  api::WorkerNews Assigned(const Worker& worker) const;

  void LoseWorkers(absl::Time now);
  void Remove(int64_t worker);
  void PlaceJob(int64_t number, Job& job, absl::Time now);
  void PlaceListing(int64_t number, Job& job, absl::Time now);
  std::map<api::LaneAddress, Wish> Wishes(int64_t number, const Job& job) const;
  void Unneeded(int64_t number, Job& job,
                const std::map<api::LaneAddress, Wish>& wishes);
  void PlaceLane(int64_t number, Job& job, const Wish& wish, absl::Time now);
  void Unplace(Job& job, const api::LaneAddress& at);
  absl::Duration StragglerAfter(const Job& job) const;
  Pace PaceOf(const Job& job, const Wish& wish, const Placed& placed, absl::Time now);
  void MissIndexes(Job& job, const std::map<api::LaneAddress, Wish>& wishes,
                   const JobState& state, absl::Time now);
  absl::Status MissingIndex(const JobState& state, int64_t lane) const;
  std::vector<Candidate> AllWorkers(absl::Time now) const;
  const std::vector<Candidate>& Candidates(absl::Time now);
  void CountLane(int64_t worker, int64_t change);
  void Changed(int64_t worker);
  void ForgetOld(absl::Time now);

  // Lanes that consumers need now and that no worker runs.
  static int64_t WaitingLanes(const Job& job);
  std::string StateOf(const JobState& state, const Job& job) const;
  std::string Unlisted(const api::JobSettings& settings) const;
  int64_t CountWorkersFor(const api::JobSettings& settings) const;
  std::vector<api::WaitingConsumer> WaitingOf(const Job& job) const;
  std::string LacksMemory(const JobState& state) const;
  api::JobSummary SummaryOf(int64_t number, const Job& job, absl::Time now) const;

  DispatcherOptions options_;
  uint64_t seed_;
  State state_;
  std::map<int64_t, Job> jobs_;
  std::map<int64_t, Worker> workers_;
  std::map<std::string, Group> groups_;  // By share.
  int64_t version_ = 0;
  absl::Time quiet_until_ = absl::InfinitePast();
  int64_t restored_version_ = 0;  // News before it are of another dispatcher.
  int64_t placements_ = 0;
  std::vector<Candidate> candidates_;  // While lanes are placed.
  std::vector<std::string> events_;
  std::vector<Notice> notices_;
};

}  // namespace millrace::control
