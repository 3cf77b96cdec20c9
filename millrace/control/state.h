// What a dispatcher knows that must survive it: jobs, their runs and members, and lane
// ends that were learnt. It changes only by Apply, so that replaying the journal gives
// the same, byte for byte. A plain value.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/events.h"
#include "millrace/control/rights.h"

namespace millrace::control {

struct MemberKey {
  int64_t consumer = 0;
  int64_t member = 0;

  auto operator<=>(const MemberKey&) const = default;
};

struct MemberState {
  int64_t generation = 0;
  int64_t opening = 0;
  std::string host = {};

  bool operator==(const MemberState&) const = default;
};

struct JobState {
  api::JobSettings settings = {};
  int64_t seed = 0;
  std::optional<api::JobFacts> facts = {};  // Once its sources were listed.
  int64_t incarnation = 0;                  // 0: nobody has begun.
  api::RunName run = {};
  std::string state = {};  // That this incarnation began with.
  int64_t copies = 1;      // Of all rows in a pass: with sharding off, one a worker.
  int64_t first_pass = 0;  // Of this incarnation, without a state.
  std::map<MemberKey, MemberState> members = {};
  std::map<api::LaneAddress, api::LaneEnd> ends = {};  // Learnt by running lanes.
  std::map<int64_t, PassRights> passes = {};           // In any order.
  int64_t passes_over = 0;                             // Those before this are.
  std::map<int64_t, std::string> told = {};  // Where consumers are, as they told.

  bool operator==(const JobState&) const = default;
};

// Whether the rows of lanes are known beforehand. In any order those of a pass without
// end are learnt: they cannot be told one by one.
bool IsCounted(const JobState& job);

class State {
 public:
  // Applies an event. Fails when it makes no sense here: the journal is another's.
  absl::Status Apply(const Event& event);

  const std::map<int64_t, JobState>& jobs() const { return jobs_; }

  const JobState* Find(int64_t job) const;

  // The job of that name; 0: there is none.
  int64_t Named(std::string_view name) const;

  int64_t next_job() const { return next_job_; }

  // Dispatchers that have gone on from the journal.
  int64_t starts() const { return starts_; }

  // All of it as JSON, and back.
  std::string Snapshot() const;
  static absl::StatusOr<State> FromSnapshot(std::string_view snapshot);

  bool operator==(const State&) const = default;

 private:
  std::map<int64_t, JobState> jobs_ = {};
  int64_t next_job_ = 1;
  int64_t starts_ = 0;
};

}  // namespace millrace::control
