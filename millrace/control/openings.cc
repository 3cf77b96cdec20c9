#include "millrace/control/openings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/control/settings.h"
#include "millrace/control/state.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

// Runs that come together at once. They compete for the job: all but one have started
// in vain.
constexpr int64_t kRunsMax = 16;

// Of those that are missing, so many are named.
constexpr int64_t kMissingMax = 16;

std::string KeyOf(const api::RunName& run) {
  return base::StrCat(run.id, "#", run.restart);
}

// Digests are only known to whoever read the lane, so they are left out of comparing.
lanes::State WithoutDigests(lanes::State state) {
  for (lanes::Cursor& cursor : state.cursors) cursor.digest = {};
  for (lanes::CarryPiece& piece : state.carry) piece.from.digest = {};
  return state;
}

absl::Status SameState(const api::OpenJob& one, const api::OpenJob& other) {
  const auto wrong = [&](const auto&... why) {
    return absl::InvalidArgumentError(
        base::StrCat("consumers ", one.consumer, " and ", other.consumer, why...));
  };
  if (one.state == other.state) return absl::OkStatus();
  if (one.state.empty() || other.state.empty()) {
    return wrong(" do not both load a state: either all ranks load one, or none");
  }
  const lanes::State first = TRY(api::StateFromJson(one.state));
  const lanes::State second = TRY(api::StateFromJson(other.state));
  if (WithoutDigests(first) == WithoutDigests(second)) return absl::OkStatus();
  return wrong(" load states of different steps: load those of one checkpoint");
}

// A part of a state is what one consumer took in any order.
bool IsPart(const std::string& state) {
  const absl::StatusOr<lanes::State> read = api::StateFromJson(state);
  return read.ok() && read->parts > 1;
}

absl::StatusOr<std::string> Joined(const std::map<MemberKey, api::OpenJob>& members) {
  std::vector<std::string> parts;
  for (const auto& [key, open] : members) {
    if (open.state.empty()) TRY(SameState(members.begin()->second, open));
    parts.push_back(open.state);
  }
  return api::JoinStates(parts);
}

}  // namespace

absl::Status Openings::Add(const api::OpenJob& open) {
  Run& run = runs_[KeyOf(open.run)];
  run.added = ++added_;
  ForgetOldest();
  const MemberKey own{open.consumer, open.member};
  const auto other = std::ranges::find_if(
      run.members, [&](const auto& entry) { return entry.first != own; });
  if (other != run.members.end()) {
    TRY(SameSettings(other->second.settings, open.settings));
  }
  run.members.insert_or_assign(own, open);
  return absl::OkStatus();
}

void Openings::ForgetOldest() {
  if (std::ssize(runs_) <= kRunsMax) return;
  runs_.erase(std::ranges::min_element(
      runs_, {}, [](const auto& entry) { return entry.second.added; }));
}

std::string Openings::Missing(const api::OpenJob& open) const {
  const auto run = runs_.find(KeyOf(open.run));
  std::vector<std::string> missing;
  int64_t unnamed = 0;
  for (int64_t consumer = 0; consumer < open.settings.consumers; ++consumer) {
    for (int64_t member = 0; member < open.settings.members; ++member) {
      const MemberKey key{consumer, member};
      if (run != runs_.end() && run->second.members.contains(key)) continue;
      if (std::ssize(missing) >= kMissingMax) {
        ++unnamed;
        continue;
      }
      missing.push_back(open.settings.members == 1
                            ? base::StrCat(consumer)
                            : base::StrCat(consumer, " (member ", member, ")"));
    }
  }
  if (missing.empty()) return "";
  if (unnamed > 0) missing.push_back(base::StrCat("and ", unnamed, " more"));
  return base::StrCat("consumers that have not opened yet, of ",
                      open.settings.consumers, ": ", absl::StrJoin(missing, ", "));
}

absl::StatusOr<Openings::Complete> Openings::Take(const api::OpenJob& open) {
  Complete complete{std::move(runs_[KeyOf(open.run)].members), "", false};
  runs_.clear();
  const api::OpenJob& first = complete.members.begin()->second;
  for (const auto& [key, other] : complete.members) {
    if (other.resume == first.resume) continue;
    return absl::InvalidArgumentError(
        base::StrCat("consumers ", first.consumer, " and ", other.consumer,
                     " do not both resume: either all ranks do, or none"));
  }
  if (IsPart(first.state)) {
    complete.state = TRY(Joined(complete.members));
    return complete;
  }
  for (const auto& [key, other] : complete.members) TRY(SameState(first, other));
  complete.state = first.state;
  complete.resume = first.resume && first.state.empty();
  return complete;
}

}  // namespace millrace::control
