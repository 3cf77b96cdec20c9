#include "millrace/control/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
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
#include "millrace/control/packages.h"
#include "millrace/control/possible.h"
#include "millrace/control/resuming.h"
#include "millrace/control/settings.h"
#include "millrace/control/state.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/tracks.h"

namespace millrace::control {
namespace {

constexpr size_t kNoticesMax = 1024;
constexpr int kVersionsOfAStart = 40;  // Bits.

// Jobs that are kept at once, whoever makes them up: of each there is a record, and
// their names are compared one by one.
constexpr size_t kJobsMax = 1 << 14;

// Lanes of a job that are known about at once. Those that are open are far fewer, and
// the rest is learnt again by running them.
constexpr size_t kKnownMax = 1 << 20;

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

// Whether its launcher has started it again since. Else openings are told apart by the
// clocks of their hosts, one of which may have been set back.
bool IsOfLaterRun(const JobState& job, const api::OpenJob& open) {
  return !open.run.id.empty() && open.run.id == job.run.id &&
         open.run.restart > job.run.restart;
}

}  // namespace

Dispatcher::Dispatcher(const DispatcherOptions& options, uint64_t seed)
    : options_(options), seed_(seed) {}

absl::Status Dispatcher::Restore(std::string_view snapshot,
                                 const std::vector<std::string>& events,
                                 absl::Time now) {
  state_ = TRY(State::FromSnapshot(snapshot));
  for (const std::string& line : events) TRY(state_.Apply(TRY(FromLine(line))));
  // Versions of dispatchers before this one are old, whatever their clocks said.
  Event started;
  started.started = {state_.starts() + 1};
  Commit(started);
  version_ = state_.starts() << kVersionsOfAStart;
  for (const auto& [number, job] : state_.jobs()) {
    Job& soft = SoftOf(number);
    soft.heard = now;
    for (const auto& [at, end] : job.ends)
      soft.known[at] = {{end.rows, true, end.tails}, NewVersion()};
  }
  if (!state_.jobs().empty()) quiet_until_ = now + 2 * options_.heartbeat;
  Regroup(now);
  restored_version_ = version_;
  return absl::OkStatus();
}

void Dispatcher::Commit(const Event& event) {
  const absl::Status applied = state_.Apply(event);
  CHECK(applied.ok()) << applied;
  events_.push_back(ToLine(event));
}

void Dispatcher::Note(std::string_view what, const std::string& name, std::string why) {
  if (notices_.size() >= kNoticesMax) return;  // Nobody takes them.
  notices_.push_back({what, name, std::move(why)});
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
  // Versions only grow, whatever the clocks of dispatchers and consumers say.
  if (open.opening == 0) return api::OpenedJob{.opening = NewVersion()};
  if (now >= quiet_until_) {  // Else workers may be on their way back.
    TRY(CheckFunctions(AllWorkers(now), open.settings, options_.has_token));
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
    if (open.opening <= latest && !IsOfLaterRun(state, open)) return TakenOver(state);
    TRY(CheckTakeOver(number, open, now));
    TRY(CheckSameRun(number, open, now));
    TRY(job.openings.Add(open));
    const std::string missing = job.openings.Missing(open);
    if (!missing.empty()) return api::OpenedJob{.waits_for = missing};
    const bool off = open.settings.sharding == "off";
    if (off && CountWorkersFor(open.settings) == 0) {
      return api::OpenedJob{.waits_for = Unlisted(open.settings)};
    }
    TRY(Begin(number, open, now));
  }
  Consumer& consumer = job.consumers[{open.consumer, open.member}];
  consumer.heard = now;
  return Opened(number, open, now);
}

absl::StatusOr<int64_t> Dispatcher::FindOrMake(const api::OpenJob& open) {
  if (const int64_t found = state_.Named(open.settings.name)) return found;
  if (state_.jobs().size() >= kJobsMax) {
    return absl::ResourceExhaustedError(base::StrCat(
        "there are ", kJobsMax, " jobs already: old ones are forgotten after ",
        absl::FormatDuration(options_.keep_job), ", or use a name again"));
  }
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
  if (IsOfLaterRun(job, open)) return absl::OkStatus();
  const bool same_launcher = !open.run.id.empty() && open.run.id == job.run.id;
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

// Within a run a job stays what it is, unless who reads it has left it.
absl::Status Dispatcher::CheckSameRun(int64_t number, const api::OpenJob& open,
                                      absl::Time now) const {
  const JobState& state = *state_.Find(number);
  if (state.incarnation == 0 || !IsOfRun(state, open)) return absl::OkStatus();
  const auto& consumers = jobs_.at(number).consumers;
  const auto own = consumers.find({open.consumer, open.member});
  const absl::Duration silent = options_.run_lost_after * options_.heartbeat;
  const bool reads = own != consumers.end() && now - own->second.heard <= silent;
  return reads ? SameSettings(state.settings, open.settings) : absl::OkStatus();
}

// All consumers of a run have come: the job begins anew, for them.
absl::Status Dispatcher::Begin(int64_t number, const api::OpenJob& open,
                               absl::Time now) {
  Job& job = SoftOf(number);
  const Openings::Complete run = TRY(job.openings.Take(open));
  const JobState before = *state_.Find(number);
  const std::string state = run.resume ? TRY(LastTold(before)) : run.state;
  Event begun;
  begun.run_begun = {
      number, before.incarnation + 1, open.run, open.settings, state, 1, {}, 0};
  begun.run_begun->copies =
      TRY(CopiesOf(open.settings, state, CountWorkersFor(open.settings)));
  if (state.empty()) {
    const Example example = ExampleOf(number, open.settings, now);
    begun.run_begun->seed = example.seed;
    begun.run_begun->first_pass = example.pass;
  }
  Commit(begun);
  Note("job begun", open.settings.name, Describe(open.run));
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
                                                  const api::OpenJob& open,
                                                  absl::Time now) const {
  const JobState& job = *state_.Find(number);
  const Job& soft = jobs_.at(number);
  if (!soft.unlisted.ok()) return soft.unlisted;
  if (!job.facts) return api::OpenedJob{.waits_for = Unlisted(job.settings)};
  TRY(CheckListed(job.settings, *job.facts));
  const std::string memory = LacksMemory(job);
  if (!memory.empty()) return api::OpenedJob{.waits_for = memory};
  api::OpenedJob opened{.ready = true, .job = number};
  opened.incarnation = job.incarnation;
  opened.generation = job.members.at({open.consumer, open.member}).generation;
  opened.seed = job.seed;
  opened.tracks =
      TRY(lanes::TrackCount({job.settings.consumers, job.settings.open_lanes,
                             base::Bytes(job.facts->lane_bytes)}));
  opened.copies = job.copies;
  opened.first_pass = job.first_pass;
  opened.state = job.state;
  opened.facts = *job.facts;
  opened.facts.counted = IsCounted(job);
  opened.heartbeat_ms = absl::ToInt64Milliseconds(options_.heartbeat);
  opened.differences = DifferencesOfAll(AllWorkers(now), job.settings);
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
                       reader.consumer < job->settings.consumers &&
                       reader.member < job->settings.members &&
                       member != job->members.end() &&
                       member->second.generation == reader.generation;
  return current ? absl::OkStatus() : TakenOver(*job);
}

absl::StatusOr<api::ConsumerNews> Dispatcher::Beat(const api::ConsumerBeat& beat,
                                                   absl::Time now) {
  TRY(CheckPossible(beat));
  TRY(CheckReader(beat.reader));
  const int64_t number = beat.reader.job;
  Job& job = SoftOf(number);
  job.heard = now;
  Consumer& consumer = job.consumers[{beat.reader.consumer, beat.reader.member}];
  // One that asks for news and one that tells of a need overtake each other.
  if (beat.number < consumer.latest) return NewsFor(beat);
  consumer.latest = beat.number;
  if (!beat.state.empty()) {
    Event told;
    told.state_told = {number, beat.reader.incarnation, beat.reader.consumer,
                       beat.state};
    Commit(told);
  }
  LeaveOut(number, beat.left_out_rows);
  if (beat.leaves) {
    consumer = Consumer();
    consumer.heard = absl::InfinitePast();
    consumer.left = true;
    consumer.beats = 1;
    consumer.latest = beat.number;
    consumer.pass = beat.pass;
    consumer.taken = beat.taken;
  }
  if (consumer.left) return NewsFor(beat);
  consumer.heard = now;
  ++consumer.beats;
  consumer.taken = beat.taken;
  consumer.rate.Hear(beat.taken, now);
  consumer.needs = beat.needs;
  consumer.unreachable = {beat.unreachable.begin(), beat.unreachable.end()};
  consumer.waits_for = beat.waits_for;
  consumer.waits = absl::Milliseconds(beat.waits_ms);
  consumer.pass = std::max(consumer.pass, beat.pass);
  for (const api::KnownRows& known : beat.known) TRY(Learn(number, known));
  TRY(HearPasses(beat));
  return NewsFor(beat);
}

// Rows that fill no round are nobody's; in fixed order each consumer counts them.
void Dispatcher::LeaveOut(int64_t number, int64_t rows) {
  Job& job = SoftOf(number);
  if (rows <= job.left_out_rows) return;
  job.left_out_rows = rows;
  Note("rows left out", state_.Find(number)->settings.name,
       base::StrCat(rows,
                    " rows so far filled no batch for every consumer: "
                    "remainder=\"pad\" or \"keep\" would give them"));
}

absl::Status Dispatcher::Learn(int64_t number, const api::KnownRows& known) {
  const JobState& state = *state_.Find(number);
  if (IsCounted(state)) return absl::OkStatus();
  if (!IsLeft(number, known.at)) return absl::OkStatus();
  std::map<api::LaneAddress, Known>& all = SoftOf(number).known;
  if (all.size() >= kKnownMax && !all.contains(known.at)) return absl::OkStatus();
  Known& kept = all[known.at];
  const lanes::KnownLane before = kept.lane;
  const bool contradicts = (before.ended && known.rows > before.rows) ||
                           (known.ended && known.rows < before.rows);
  if (contradicts) {
    return absl::DataLossError(base::StrCat(
        "lane ", known.at.lane, " came out with ", before.rows, " rows and then with ",
        known.rows, ": a function is not deterministic, or a file has changed"));
  }
  kept.lane = {std::max(before.rows, known.rows), before.ended || known.ended,
               before.ended ? before.tails : known.tails};
  if (kept.lane != before || kept.version == 0) kept.version = NewVersion();
  if (!kept.lane.ended || before.ended || state.ends.contains(known.at)) {
    return absl::OkStatus();
  }
  Event ended;
  ended.lane_ended = {number, state.incarnation, known.at, kept.lane.rows,
                      kept.lane.tails};
  Commit(ended);
  return absl::OkStatus();
}

absl::StatusOr<api::ConsumerNews> Dispatcher::NewsFor(
    const api::ConsumerBeat& beat) const {
  TRY(CheckReader(beat.reader));
  const Job& job = jobs_.at(beat.reader.job);
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
  std::set<api::LaneAddress> known_lanes;
  for (const api::NeededLane& need : beat.needs) {
    lanes.insert(need.at);
    known_lanes.insert({need.at.pass, need.at.lane});
  }
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
    if (known.version <= seen && !known_lanes.contains(at)) continue;
    news.known.push_back({at, known.lane.rows, known.lane.ended, known.lane.tails});
  }
  TellPasses(beat, news);
  if (!job.failed.ok()) news.failed = api::ToError(job.failed);
  return news;
}

}  // namespace millrace::control
