// How a run of a job comes together (protocol.md section 6): openings of its consumers
// are collected until all have come, and their states, or none, fit together. Pure and
// soft: who still waits asks again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/control/state.h"

namespace millrace::control {

class Openings {
 public:
  // Adds an opening; a later one of the same member replaces it. Fails where it does
  // not fit the others of its run. Of too many runs, that which nobody has opened for
  // longest is forgotten: who still waits asks again.
  absl::Status Add(const api::OpenJob& open);

  // Says whom the run of an opening waits for; empty: all have come.
  std::string Missing(const api::OpenJob& open) const;

  // Takes the openings of a run, all of which have come, out; those of other runs are
  // forgotten. Fails where their states do not fit together.
  struct Complete {
    std::map<MemberKey, api::OpenJob> members;
    std::string state;
    bool resume = false;  // Without a state: from what was told last.
  };

  absl::StatusOr<Complete> Take(const api::OpenJob& open);

 private:
  struct Run {
    std::map<MemberKey, api::OpenJob> members;
    int64_t added = 0;  // The last opening of it.
  };

  void ForgetOldest();

  std::map<std::string, Run> runs_;
  int64_t added_ = 0;  // Openings.
};

}  // namespace millrace::control
