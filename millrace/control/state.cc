#include "millrace/control/state.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/describe.h"  // IWYU pragma: keep
#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/events.h"
#include "millrace/control/rights.h"

namespace millrace::control {
namespace {

// How a snapshot is written.
struct JobRecord {
  int64_t job = 0;
  api::JobSettings settings;
  int64_t seed = 0;
  std::optional<api::JobFacts> facts;
  int64_t incarnation = 0;
  api::RunName run;
  std::string state;
  std::vector<MemberOpened> members;
  std::vector<api::LaneEnd> ends;
  std::vector<PassRights> passes;
  int64_t passes_over = 0;
  std::vector<StateTold> told;
  int64_t copies = 1;
  int64_t first_pass = 0;
};

BOOST_DESCRIBE_STRUCT(JobRecord, (),
                      (job, settings, seed, facts, incarnation, run, state, members,
                       ends, passes, passes_over, told, copies, first_pass))

struct StateRecord {
  int64_t next_job = 1;
  std::vector<JobRecord> jobs;
  int64_t starts = 0;
};

BOOST_DESCRIBE_STRUCT(StateRecord, (), (next_job, jobs, starts))

JobRecord Written(int64_t number, const JobState& job) {
  JobRecord record{number,
                   job.settings,
                   job.seed,
                   job.facts,
                   job.incarnation,
                   job.run,
                   job.state,
                   {},
                   {},
                   {},
                   job.passes_over,
                   {},
                   job.copies,
                   job.first_pass};
  for (const auto& [key, member] : job.members) {
    record.members.push_back({number, key.consumer, key.member, member.generation,
                              member.opening, member.host});
  }
  for (const auto& [at, end] : job.ends) record.ends.push_back(end);
  for (const auto& [pass, rights] : job.passes) record.passes.push_back(rights);
  for (const auto& [consumer, state] : job.told) {
    record.told.push_back({number, job.incarnation, consumer, state});
  }
  return record;
}

JobState Read(const JobRecord& record) {
  JobState job{record.settings,
               record.seed,
               record.facts,
               record.incarnation,
               record.run,
               record.state,
               record.copies,
               record.first_pass,
               {},
               {},
               {},
               record.passes_over,
               {}};
  for (const MemberOpened& member : record.members) {
    job.members[{member.consumer, member.member}] = {member.generation, member.opening,
                                                     member.host};
  }
  for (const api::LaneEnd& end : record.ends) job.ends[end.at] = end;
  for (const PassRights& pass : record.passes) job.passes[pass.facts.pass] = pass;
  for (const StateTold& told : record.told) job.told[told.consumer] = told.state;
  return job;
}

// The number of the job that an event is about.
int64_t JobOf(const Event& event) {
  if (event.job_listed) return event.job_listed->job;
  if (event.run_begun) return event.run_begun->job;
  if (event.member_opened) return event.member_opened->job;
  if (event.lane_ended) return event.lane_ended->job;
  if (event.lanes_passed) return event.lanes_passed->job;
  if (event.pass_changed) return event.pass_changed->job;
  if (event.pass_over) return event.pass_over->job;
  if (event.state_told) return event.state_told->job;
  return 0;
}

absl::Status ApplyToPasses(JobState& job, const Event& event) {
  if (event.pass_changed && event.pass_changed->incarnation == job.incarnation) {
    return Apply(job.passes[event.pass_changed->pass], event.pass_changed->change);
  }
  if (event.pass_over && event.pass_over->incarnation == job.incarnation) {
    job.passes_over = event.pass_over->pass + 1;
    job.passes.erase(job.passes.begin(), job.passes.lower_bound(job.passes_over));
  }
  return absl::OkStatus();
}

void ApplyTo(JobState& job, const Event& event) {
  if (event.job_listed) job.facts = event.job_listed->facts;
  if (const auto& begun = event.run_begun) {
    const bool same = begun->settings.pipeline == job.settings.pipeline &&
                      begun->copies == job.copies;
    if (!same) job.facts.reset();
    job.settings = begun->settings;
    job.seed = begun->seed.value_or(begun->settings.seed.value_or(job.seed));
    job.first_pass = begun->first_pass;
    job.incarnation = begun->incarnation;
    job.run = begun->run;
    job.state = begun->state;
    job.copies = begun->copies;
    job.ends.clear();
    job.passes.clear();
    job.passes_over = begun->first_pass;
    job.told.clear();
  }
  if (event.state_told && event.state_told->incarnation == job.incarnation) {
    job.told[event.state_told->consumer] = event.state_told->state;
  }
  if (const auto& opened = event.member_opened) {
    job.members[{opened->consumer, opened->member}] = {opened->generation,
                                                       opened->opening, opened->host};
  }
  if (event.lane_ended && event.lane_ended->incarnation == job.incarnation) {
    const LaneEnded& ended = *event.lane_ended;
    job.ends[ended.at] = {ended.at, ended.rows, ended.tails};
  }
  if (event.lanes_passed && event.lanes_passed->incarnation == job.incarnation) {
    for (const api::LaneAddress& at : event.lanes_passed->lanes) job.ends.erase(at);
  }
}

}  // namespace

bool IsCounted(const JobState& job) {
  const bool endless = job.facts && job.facts->lanes < 0;
  return job.facts && job.facts->counted && !(endless && job.settings.order == "any");
}

absl::Status State::Apply(const Event& event) {
  if (const auto& made = event.job_made) {
    JobState& job = jobs_[made->job];
    job.settings = made->settings;
    job.seed = made->seed;
    next_job_ = std::max(next_job_, made->job + 1);
    return absl::OkStatus();
  }
  if (event.started) {
    starts_ = event.started->number;
    return absl::OkStatus();
  }
  if (event.job_forgotten) {
    jobs_.erase(event.job_forgotten->job);
    return absl::OkStatus();
  }
  const auto found = jobs_.find(JobOf(event));
  if (found == jobs_.end()) {
    return absl::DataLossError(
        base::StrCat("the journal speaks of a job that it never made: ", JobOf(event)));
  }
  ApplyTo(found->second, event);
  return ApplyToPasses(found->second, event);
}

const JobState* State::Find(int64_t job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

int64_t State::Named(std::string_view name) const {
  for (const auto& [number, job] : jobs_) {
    if (job.settings.name == name) return number;
  }
  return 0;
}

std::string State::Snapshot() const {
  StateRecord record{next_job_, {}, starts_};
  for (const auto& [number, job] : jobs_) record.jobs.push_back(Written(number, job));
  return api::ToJson(record);
}

absl::StatusOr<State> State::FromSnapshot(std::string_view snapshot) {
  State state;
  if (snapshot.empty()) return state;
  const StateRecord record = TRY(api::FromJson<StateRecord>(snapshot));
  state.next_job_ = record.next_job;
  state.starts_ = record.starts;
  for (const JobRecord& job : record.jobs) state.jobs_[job.job] = Read(job);
  return state;
}

}  // namespace millrace::control
