// What a run that resumes without a state goes on from: what consumers of the run
// before told last of where they are. What they took since then comes again. Pure.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "millrace/control/state.h"

namespace millrace::control {

// Gives the state of all consumers, as JSON; empty where nobody told anything.
absl::StatusOr<std::string> LastTold(const JobState& job);

}  // namespace millrace::control
