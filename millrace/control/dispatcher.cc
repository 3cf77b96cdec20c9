#include "millrace/control/dispatcher.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/events.h"
#include "millrace/control/openings.h"
#include "millrace/control/placing.h"
#include "millrace/control/settings.h"
#include "millrace/control/state.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/tracks.h"

namespace millrace::control {
namespace {

std::string Describe(const api::RunName& run) {
  return base::StrCat("run \"", run.id, "\" (restart ", run.restart, ") on host ",
                      run.host);
}

absl::Status TakenOver(const JobState& job) {
  return absl::FailedPreconditionError(base::StrCat(
      "job \"", job.settings.name, "\" was taken over by ", Describe(job.run)));
}

// Whether an opening is of the run that has the job. Where the launcher gave no id, its
// member must come from the same host.
bool IsOfRun(const JobState& job, const api::OpenJob& open) {
  if (job.run.id != open.run.id || job.run.restart != open.run.restart) return false;
  const auto member = job.members.find({open.consumer, open.member});
  return !open.run.id.empty() ||
         (member != job.members.end() && member->second.host == open.run.host);
}

// Whether some consumer's lane could be given to a worker.
bool CouldRun(const api::WorkerFacts& worker, const JobState& job, int64_t lane) {
  const api::JobFacts facts = job.facts.value_or(api::JobFacts());
  if (!MayRun(worker, job.settings, facts, lane)) return false;
  if (job.settings.target == "any") return true;
  return std::ranges::any_of(job.members, [&](const auto& entry) {
    const bool local = entry.second.host == worker.host;
    return local == (job.settings.target == "local");
  });
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherOptions& options, uint64_t seed)
    : options_(options), seed_(seed) {}

absl::Status Dispatcher::Restore(std::string_view snapshot,
                                 const std::vector<std::string>& events,
                                 absl::Time now) {
  state_ = TRY(State::FromSnapshot(snapshot));
  for (const std::string& line : events) TRY(state_.Apply(TRY(FromLine(line))));
  // Versions of a dispatcher before this one are old, as long as clocks go forward; and
  // if they do not, a version that is not known yet is as good as none.
  version_ = std::max<int64_t>(version_, absl::ToUnixMillis(now) * 1000);
  for (const auto& [number, job] : state_.jobs()) {
    Job& soft = SoftOf(number);
    soft.heard = now;
    for (const auto& [at, rows] : job.ends)
      soft.known[at] = {{rows, true}, NewVersion()};
  }
  if (!state_.jobs().empty()) quiet_until_ = now + 2 * options_.heartbeat;
  restored_version_ = version_;
  return absl::OkStatus();
}

void Dispatcher::Commit(const Event& event) {
  const absl::Status applied = state_.Apply(event);
  CHECK(applied.ok()) << applied;
  events_.push_back(ToLine(event));
}

// --- Opening ---

absl::StatusOr<api::OpenedJob> Dispatcher::Open(const api::OpenJob& open,
                                                absl::Time now) {
  TRY(CheckSettings(open.settings));
  const bool there = open.consumer >= 0 && open.consumer < open.settings.consumers &&
                     open.member >= 0 && open.member < open.settings.members;
  if (!there) {
    return absl::InvalidArgumentError(base::StrCat(
        "no such consumer: ", open.consumer, " of ", open.settings.consumers,
        ", member ", open.member, " of ", open.settings.members));
  }
  const int64_t number = TRY(FindOrMake(open));
  Job& job = SoftOf(number);
  job.heard = now;
  const JobState& state = *state_.Find(number);
  const auto member = state.members.find({open.consumer, open.member});
  const int64_t latest = member == state.members.end() ? -1 : member->second.opening;
  const bool repeated =
      latest == open.opening && IsOfRun(state, open) && state.settings == open.settings;
  if (!repeated) {
    if (open.opening <= latest) return TakenOver(state);
    TRY(CheckTakeOver(number, open, now));
    TRY(job.openings.Add(open));
    const std::string missing = job.openings.Missing(open);
    if (!missing.empty()) return api::OpenedJob{.waits_for = missing};
    TRY(Begin(number, open));
  }
  Consumer& consumer = job.consumers[{open.consumer, open.member}];
  consumer.heard = now;
  return Opened(number, open);
}

absl::StatusOr<int64_t> Dispatcher::FindOrMake(const api::OpenJob& open) {
  if (const int64_t found = state_.Named(open.settings.name)) return found;
  const int64_t number = state_.next_job();
  const auto drawn = static_cast<int64_t>(
      base::Mix64(seed_ ^ base::Mix64(static_cast<uint64_t>(number))) >> 1);
  Event event;
  event.job_made = {number, open.settings, open.settings.seed.value_or(drawn)};
  Commit(event);
  return number;
}

// Who may take a job from the run that has it.
absl::Status Dispatcher::CheckTakeOver(int64_t number, const api::OpenJob& open,
                                       absl::Time now) const {
  const JobState& job = *state_.Find(number);
  if (job.incarnation == 0 || IsOfRun(job, open) || open.takeover) {
    return absl::OkStatus();
  }
  const bool same_launcher = !open.run.id.empty() && open.run.id == job.run.id;
  if (same_launcher && open.run.restart > job.run.restart) return absl::OkStatus();
  if (same_launcher) return TakenOver(job);
  absl::Time heard = absl::InfinitePast();
  const auto soft = jobs_.find(number);
  if (soft != jobs_.end()) {
    for (const auto& [key, consumer] : soft->second.consumers) {
      heard = std::max(heard, consumer.heard);
    }
  }
  const absl::Duration silent = options_.run_lost_after * options_.heartbeat;
  if (now >= quiet_until_ && now - heard > silent) return absl::OkStatus();
  return absl::FailedPreconditionError(base::StrCat(
      "job \"", job.settings.name, "\" is read by ", Describe(job.run),
      ": wait for it to end, choose another name, or open with takeover=True"));
}

// All consumers of a run have come: the job begins anew, for them.
absl::Status Dispatcher::Begin(int64_t number, const api::OpenJob& open) {
  Job& job = SoftOf(number);
  const Openings::Complete run = TRY(job.openings.Take(open));
  const JobState before = *state_.Find(number);
  Event begun;
  begun.run_begun = {number, before.incarnation + 1, open.run, open.settings,
                     run.state};
  Commit(begun);
  for (const auto& [key, member] : run.members) {
    const auto old = before.members.find(key);
    const int64_t generation =
        old == before.members.end() ? 1 : old->second.generation + 1;
    Event opened;
    opened.member_opened = {number,     key.consumer,   key.member,
                            generation, member.opening, member.run.host};
    Commit(opened);
  }
  const absl::Time heard = job.heard;
  for (const auto& [at, placed] : job.placed) Changed(placed.worker);
  job = Job();
  job.heard = heard;
  return absl::OkStatus();
}

absl::StatusOr<api::OpenedJob> Dispatcher::Opened(int64_t number,
                                                  const api::OpenJob& open) const {
  const JobState& job = *state_.Find(number);
  const Job& soft = jobs_.at(number);
  if (!soft.unlisted.ok()) return soft.unlisted;
  if (!job.facts) {
    const std::string waits = workers_.empty()
                                  ? "a worker to join: start one with `millrace worker`"
                                  : "a worker to list the sources";
    return api::OpenedJob{.waits_for = waits};
  }
  api::OpenedJob opened{.ready = true, .job = number};
  opened.incarnation = job.incarnation;
  opened.generation = job.members.at({open.consumer, open.member}).generation;
  opened.seed = job.seed;
  opened.tracks =
      TRY(lanes::TrackCount({job.settings.consumers, job.settings.open_lanes,
                             base::Bytes(job.facts->lane_bytes)}));
  opened.state = job.state;
  opened.facts = *job.facts;
  opened.heartbeat_ms = absl::ToInt64Milliseconds(options_.heartbeat);
  return opened;
}

// --- Consumers ---

absl::Status Dispatcher::CheckReader(const api::ReaderHello& reader) const {
  const JobState* const job = state_.Find(reader.job);
  if (job == nullptr) {
    return absl::NotFoundError(base::StrCat("no such job: ", reader.job));
  }
  const auto member = job->members.find({reader.consumer, reader.member});
  const bool current = job->incarnation == reader.incarnation &&
                       member != job->members.end() &&
                       member->second.generation == reader.generation;
  return current ? absl::OkStatus() : TakenOver(*job);
}

absl::StatusOr<api::ConsumerNews> Dispatcher::Beat(const api::ConsumerBeat& beat,
                                                   absl::Time now) {
  TRY(CheckReader(beat.reader));
  const int64_t number = beat.reader.job;
  Job& job = SoftOf(number);
  job.heard = now;
  Consumer& consumer = job.consumers[{beat.reader.consumer, beat.reader.member}];
  consumer.heard = now;
  ++consumer.beats;
  consumer.needs = beat.needs;
  consumer.unreachable = {beat.unreachable.begin(), beat.unreachable.end()};
  consumer.waits_for = beat.waits_for;
  consumer.waits = absl::Milliseconds(beat.waits_ms);
  for (const api::KnownRows& known : beat.known) TRY(Learn(number, known));
  return NewsFor(beat);
}

absl::Status Dispatcher::Learn(int64_t number, const api::KnownRows& known) {
  const JobState& state = *state_.Find(number);
  if (state.facts && state.facts->counted) return absl::OkStatus();
  Known& kept = SoftOf(number).known[known.at];
  const lanes::KnownLane before = kept.lane;
  const bool contradicts = (before.ended && known.rows > before.rows) ||
                           (known.ended && known.rows < before.rows);
  if (contradicts) {
    return absl::DataLossError(base::StrCat(
        "lane ", known.at.lane, " came out with ", before.rows, " rows and then with ",
        known.rows, ": a function is not deterministic, or a file has changed"));
  }
  kept.lane = {std::max(before.rows, known.rows), before.ended || known.ended};
  if (kept.lane != before || kept.version == 0) kept.version = NewVersion();
  if (!kept.lane.ended || before.ended || state.ends.contains(known.at)) {
    return absl::OkStatus();
  }
  Event ended;
  ended.lane_ended = {number, state.incarnation, known.at, kept.lane.rows};
  Commit(ended);
  return absl::OkStatus();
}

api::ConsumerNews Dispatcher::NewsFor(const api::ConsumerBeat& beat) const {
  const auto found = jobs_.find(beat.reader.job);
  if (found == jobs_.end()) return {};
  const Job& job = found->second;
  const int64_t seen = beat.version > version_ ? 0 : beat.version;
  api::ConsumerNews news{.version = version_};
  news.tell_known = beat.known.empty() && seen < restored_version_;
  std::set<int64_t> workers;
  const auto tell = [&](const api::LaneAddress& at) {
    const auto placed = job.placed.find(at);
    const int64_t worker = placed == job.placed.end() ? -1 : placed->second.worker;
    news.placed.push_back({at, worker});
    if (worker >= 0) workers.insert(worker);
  };
  std::set<api::LaneAddress> lanes;
  for (const api::NeededLane& need : beat.needs) lanes.insert(need.at);
  for (const auto& [at, placed] : job.placed) {
    if (placed.version > seen) lanes.insert(at);
  }
  for (const api::LaneAddress& at : lanes) tell(at);
  for (const int64_t worker : workers) {
    const api::WorkerFacts& facts = workers_.at(worker).facts;
    news.workers.push_back({worker, facts.address, facts.host});
  }
  // What it needs is told again: it may not have had a use for it the last time.
  for (const auto& [at, known] : job.known) {
    if (known.version <= seen && !lanes.contains(at)) continue;
    news.known.push_back({at, known.lane.rows, known.lane.ended});
  }
  if (!job.failed.ok()) {
    news.failed_code = absl::StatusCodeToString(job.failed.code());
    news.failed = std::string(job.failed.message());
  }
  return news;
}

// --- Workers ---

absl::StatusOr<api::WorkerNews> Dispatcher::Beat(const api::WorkerBeat& beat,
                                                 absl::Time now) {
  if (beat.facts) Join(*beat.facts, now);
  const auto found = workers_.find(beat.worker);
  if (found == workers_.end()) return api::WorkerNews{.version = 0, .join = true};
  Worker& worker = found->second;
  worker.heard = now;
  worker.draining = beat.draining;
  for (const api::ListedJob& listed : beat.listed) ReportListed(beat.worker, listed);
  for (const api::LaneReport& report : beat.lanes) {
    const absl::Status learnt = Report(beat.worker, report, now);
    if (!learnt.ok()) SoftOf(report.job).failed = learnt;
  }
  return Assigned(worker);
}

api::WorkerNews Dispatcher::NewsFor(const api::WorkerBeat& beat) const {
  const auto found = workers_.find(beat.worker);
  if (found == workers_.end()) return {.version = 0, .join = true};
  return Assigned(found->second);
}

void Dispatcher::Join(const api::WorkerFacts& facts, absl::Time now) {
  Worker& worker = workers_[facts.worker];
  worker.facts = facts;
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
  if (!report.failed_code.empty()) {
    ReportFailure(worker, report);
    return absl::OkStatus();
  }
  const auto [placed, adopted] = job.placed.try_emplace(report.at);
  if (adopted && !report.released && now < quiet_until_) {
    placed->second = {worker, 0, true, NewVersion(), now};
    Changed(worker);
  } else if (adopted) {
    job.placed.erase(placed);
  } else if (report.ended && placed->second.worker == worker) {
    const absl::Duration took = now - placed->second.since;
    job.lane_time =
        job.lane_time == absl::ZeroDuration() ? took : (3 * job.lane_time + took) / 4;
  }
  if (report.released) Unplace(job, report.at);
  return Learn(report.job, {report.at, report.rows, report.ended});
}

void Dispatcher::ReportFailure(int64_t worker, const api::LaneReport& report) {
  Job& job = SoftOf(report.job);
  Failed& failed = job.failed_lanes[report.at];
  failed.workers.insert(worker);
  failed.status = api::ToStatus(report.failed_code, report.failed);
  const auto placed = job.placed.find(report.at);
  const bool moved = placed != job.placed.end() && placed->second.worker != worker;
  if (!moved) Unplace(job, report.at);
  const JobState& state = *state_.Find(report.job);
  const bool others = std::ranges::any_of(workers_, [&](const auto& entry) {
    const auto& [number, other] = entry;
    return !other.draining && !failed.workers.contains(number) &&
           CouldRun(other.facts, state, report.at.lane);
  });
  if (std::ssize(failed.workers) < options_.failures_max && others) return;
  job.failed = failed.status;
  NewVersion();
}

void Dispatcher::ReportListed(int64_t worker, const api::ListedJob& listed) {
  const JobState* const state = state_.Find(listed.job);
  if (state == nullptr || state->facts) return;
  Job& job = SoftOf(listed.job);
  workers_.at(worker).lists.erase(listed.job);
  job.lister.reset();
  if (!listed.failed_code.empty()) {
    job.unlisted = api::ToStatus(listed.failed_code, listed.failed);
    return;
  }
  Event event;
  event.job_listed = {listed.job, listed.facts};
  Commit(event);
}

api::WorkerNews Dispatcher::Assigned(const Worker& worker) const {
  api::WorkerNews news{.version = worker.version};
  std::set<int64_t> jobs = worker.lists;
  for (const bool now : {true, false}) {
    for (const auto& [number, job] : jobs_) {
      const JobState* const state = state_.Find(number);
      if (state == nullptr) continue;
      for (const auto& [at, placed] : job.placed) {
        if (placed.worker != worker.facts.worker || placed.now != now) continue;
        news.assigned.push_back({number, state->incarnation, at, placed.from,
                                 state->settings.members, placed.now});
        jobs.insert(number);
      }
    }
  }
  for (const int64_t number : jobs) {
    const JobState* const state = state_.Find(number);
    if (state == nullptr) continue;
    news.jobs.push_back({number, state->incarnation, state->settings.pipeline,
                         state->facts ? state->facts->manifest : "", state->seed,
                         state->state});
  }
  return news;
}

}  // namespace millrace::control
