#include "millrace/control/resuming.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/api/state.h"
#include "millrace/base/status.h"
#include "millrace/control/state.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {
namespace {

// What one consumer took of a pass; nothing where it told of a later one.
absl::StatusOr<lanes::Taken> TakenIn(int64_t pass, const lanes::State& state) {
  if (state.pass != pass) return lanes::Taken();
  return lanes::TakenOf(state, TRY(lanes::UnknownRows(state.lanes)));
}

}  // namespace

absl::StatusOr<std::string> LastTold(const JobState& job) {
  if (job.told.empty()) return job.state;  // As it began itself.
  std::vector<lanes::State> parts;
  for (const auto& [consumer, text] : job.told) {
    parts.push_back(TRY(api::StateFromJson(text)));
  }
  // In fixed order each tells of all consumers: those that are behind take again.
  lanes::State earliest = *std::ranges::min_element(parts, {}, &lanes::State::pass);
  if (earliest.order.kind != lanes::OrderKind::kAny) {
    return api::StateToJson(earliest);
  }
  lanes::Taken taken;
  for (const lanes::State& part : parts) {
    taken.Join(TRY(TakenIn(earliest.pass, part)));
    if (part.pass == earliest.pass) {
      earliest.lanes = std::max(earliest.lanes, part.lanes);
    }
  }
  earliest.part = 0;
  earliest.parts = 1;
  lanes::SetTaken(earliest, taken);
  return api::StateToJson(earliest);
}

}  // namespace millrace::control
