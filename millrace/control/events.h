// What a dispatcher must not forget, one event after another. State changes only by
// applying an event; the journal is these as JSON, and replaying it gives the same
// state. Exactly one member of an Event is there. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/api/describe.h"  // IWYU pragma: keep
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/rights.h"

namespace millrace::control {

struct JobMade {
  int64_t job = 0;
  api::JobSettings settings = {};
  int64_t seed = 0;
};

BOOST_DESCRIBE_STRUCT(JobMade, (), (job, settings, seed))

struct JobListed {
  int64_t job = 0;
  api::JobFacts facts = {};
};

BOOST_DESCRIBE_STRUCT(JobListed, (), (job, facts))

// A new incarnation: all consumers of a run have come.
struct RunBegun {
  int64_t job = 0;
  int64_t incarnation = 0;
  api::RunName run = {};
  api::JobSettings settings = {};  // A new run may have others.
  std::string state = {};
  int64_t copies = 1;
  std::optional<int64_t> seed = {};  // Of its group, where it takes that.
  int64_t first_pass = 0;            // Without a state.
};

BOOST_DESCRIBE_STRUCT(RunBegun, (),
                      (job, incarnation, run, settings, state, copies, seed,
                       first_pass))

struct MemberOpened {
  int64_t job = 0;
  int64_t consumer = 0;
  int64_t member = 0;
  int64_t generation = 0;
  int64_t opening = 0;
  std::string host = {};
};

BOOST_DESCRIBE_STRUCT(MemberOpened, (),
                      (job, consumer, member, generation, opening, host))

// How many rows came out of a lane; only where that was not known before.
struct LaneEnded {
  int64_t job = 0;
  int64_t incarnation = 0;
  api::LaneAddress at = {};
  int64_t rows = 0;
  std::vector<int64_t> tails = {};  // See api::LaneEnd.
};

BOOST_DESCRIBE_STRUCT(LaneEnded, (), (job, incarnation, at, rows, tails))

// Nobody will ask about these lanes any more.
struct LanesPassed {
  int64_t job = 0;
  int64_t incarnation = 0;
  std::vector<api::LaneAddress> lanes = {};
};

BOOST_DESCRIBE_STRUCT(LanesPassed, (), (job, incarnation, lanes))

// In any order: what became of rights of a pass.
struct PassChanged {
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t pass = 0;
  PassChange change = {};
};

BOOST_DESCRIBE_STRUCT(PassChanged, (), (job, incarnation, pass, change))

// In any order: all consumers have gone on from it, and from those before.
struct PassOver {
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t pass = 0;
};

BOOST_DESCRIBE_STRUCT(PassOver, (), (job, incarnation, pass))

// Where a consumer is, as it told: for a run that resumes without a state.
struct StateTold {
  int64_t job = 0;
  int64_t incarnation = 0;
  int64_t consumer = 0;
  std::string state = {};
};

BOOST_DESCRIBE_STRUCT(StateTold, (), (job, incarnation, consumer, state))

// A dispatcher has started: the so-manyth that goes on from this journal.
struct Started {
  int64_t number = 0;
};

BOOST_DESCRIBE_STRUCT(Started, (), (number))

struct JobForgotten {
  int64_t job = 0;
};

BOOST_DESCRIBE_STRUCT(JobForgotten, (), (job))

struct Event {
  std::optional<JobMade> job_made = {};
  std::optional<JobListed> job_listed = {};
  std::optional<RunBegun> run_begun = {};
  std::optional<MemberOpened> member_opened = {};
  std::optional<LaneEnded> lane_ended = {};
  std::optional<LanesPassed> lanes_passed = {};
  std::optional<PassChanged> pass_changed = {};
  std::optional<PassOver> pass_over = {};
  std::optional<StateTold> state_told = {};
  std::optional<Started> started = {};
  std::optional<JobForgotten> job_forgotten = {};
};

BOOST_DESCRIBE_STRUCT(Event, (),
                      (job_made, job_listed, run_begun, member_opened, lane_ended,
                       lanes_passed, pass_changed, pass_over, state_told, started,
                       job_forgotten))

// An event as one line of the journal, and back.
std::string ToLine(const Event& event);
absl::StatusOr<Event> FromLine(std::string_view line);

}  // namespace millrace::control
