// The state of a pass as JSON: what checkpoints hold, and what goes to a service. Its
// form is docs/formats/state.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/lanes/cutting.h"
#include "millrace/lanes/state.h"

namespace millrace::api {

std::string StateToJson(const lanes::State& state);

// Reads what StateToJson wrote, also an older version's. What it says is not yet
// believed: lanes::GetRest and lanes::Fits check it.
absl::StatusOr<lanes::State> StateFromJson(std::string_view text);

// Joins the parts of all consumers, each as JSON, to one state of all:
// lanes::JoinStates says what fits together.
absl::StatusOr<std::string> JoinStates(const std::vector<std::string>& parts);

// How sources are cut, as JSON, and back; empty: as they are cut without more.
std::string CutsToJson(const std::vector<lanes::CutRecord>& cuts);
absl::StatusOr<std::vector<lanes::CutRecord>> CutsFromJson(std::string_view text);

}  // namespace millrace::api
