#include "millrace/control/settings.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/json.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/state.h"

namespace millrace::control {
namespace {

constexpr int64_t kConsumersMax = 1 << 16;
constexpr int64_t kCopiesMax = 1 << 16;
constexpr int64_t kHoldMsMax = 3'600'000;

absl::Status OneOf(std::string_view name, const std::string& value,
                   std::initializer_list<std::string_view> words) {
  if (std::ranges::find(words, value) != words.end()) return absl::OkStatus();
  std::string listed;
  for (const std::string_view word : words) {
    listed += base::StrCat(listed.empty() ? "" : ", ", "\"", word, "\"");
  }
  return absl::InvalidArgumentError(
      base::StrCat(name, " must be one of ", listed, ", not \"", value, "\""));
}

absl::Status InRange(std::string_view name, int64_t value, int64_t least) {
  if (value >= least && value <= kConsumersMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat(name, " must be ", least, " to ", kConsumersMax, ", not ", value));
}

absl::Status CheckWords(const api::JobSettings& settings) {
  TRY(OneOf("order", settings.order, {"fixed", "any"}));
  TRY(OneOf("visit", settings.visit,
            {"exactly_once", "at_most_once", "at_least_once"}));
  TRY(OneOf("remainder", settings.remainder, {"", "drop", "pad", "keep"}));
  TRY(OneOf("sharding", settings.sharding, {"dynamic", "static", "off"}));
  TRY(OneOf("target", settings.target, {"any", "local", "remote"}));
  if (settings.share.empty()) {
    return absl::InvalidArgumentError(
        "share must be \"auto\", \"off\" or the name of a group, not \"\"");
  }
  if (settings.share_hold_ms < 0 || settings.share_hold_ms > kHoldMsMax) {
    return absl::InvalidArgumentError(base::StrCat("share_hold must be 0 s to ",
                                                   kHoldMsMax / 1000, " s, not ",
                                                   settings.share_hold_ms, " ms"));
  }
  TRY(InRange("consumers", settings.consumers, 1));
  TRY(InRange("members", settings.members, 1));
  TRY(InRange("consumers times members", settings.consumers * settings.members, 1));
  return InRange("open_lanes", settings.open_lanes, 0);
}

absl::Status Needs(bool given, bool there, std::string_view what,
                   std::string_view wanted) {
  if (!given || there) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(what, " needs ", wanted));
}

// How a pass ends for several consumers is theirs to say; one that never ends need not.
absl::Status CheckRemainder(const api::JobSettings& settings,
                            const api::JobFacts& facts) {
  const bool asked = settings.consumers > 1 && facts.lanes >= 0;
  return Needs(asked, !settings.remainder.empty(), "a job of several consumers",
               "remainder=\"drop\" to leave the last batches out that do not suffice "
               "for all, \"pad\" to fill up, or \"keep\" to give some one more");
}

// Runs of batches of one bucket are dealt in whole rounds.
absl::Status CheckGroup(const api::JobSettings& settings, const api::JobFacts& facts) {
  if (facts.group <= 1) return absl::OkStatus();
  TRY(Needs(true, settings.order == "fixed", "bucket with a group",
            "order=\"fixed\": its batches are read together, round by round"));
  TRY(Needs(settings.global_batch, false, "global_batch",
            "a pipeline whose bucket has no group: each consumer takes whole batches "
            "of a group"));
  if (facts.group % settings.consumers == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "bucket gives groups of ", facts.group, " batches, and ", settings.consumers,
      " consumers cannot share them in whole rounds: choose a group that is a multiple "
      "of ",
      settings.consumers));
}

// Under "drop" all take as many batches: of fewer than there are consumers, none.
absl::Status CheckDropped(const api::JobSettings& settings,
                          const api::JobFacts& facts) {
  if (settings.remainder != "drop" || settings.consumers == 1 || facts.rows <= 0) {
    return absl::OkStatus();
  }
  const int64_t whole = facts.rows / facts.batch_rows;
  const bool is_short = whole * facts.batch_rows < facts.rows && !facts.drop_remainder;
  const int64_t batches = whole + (is_short ? 1 : 0);
  const bool some = settings.global_batch ? whole > 0 : batches >= settings.consumers;
  if (some) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("remainder=\"drop\" would leave everything out: ", facts.rows,
                   " rows in batches of ", facts.batch_rows, " do not suffice for ",
                   settings.consumers, " consumers; make batches smaller, or choose ",
                   "\"pad\" or \"keep\""));
}

}  // namespace

absl::Status CheckListed(const api::JobSettings& settings, const api::JobFacts& facts) {
  TRY(CheckRemainder(settings, facts));
  TRY(CheckGroup(settings, facts));
  if (settings.global_batch && facts.batch_rows % settings.consumers != 0) {
    return absl::InvalidArgumentError(base::StrCat(
        "global_batch deals each batch in equal parts, and ", settings.consumers,
        " consumers do not divide batches of ", facts.batch_rows,
        " rows: choose a batch size that is a multiple of ", settings.consumers));
  }
  return CheckDropped(settings, facts);
}

absl::Status CheckSettings(const api::JobSettings& settings) {
  TRY(CheckWords(settings));
  const bool fixed = settings.order == "fixed";
  TRY(Needs(settings.name.empty(), false, "a job", "a name"));
  TRY(Needs(settings.pipeline.empty(), false, "a job", "a pipeline"));
  TRY(Needs(fixed, settings.visit == "exactly_once", "order=\"fixed\"",
            "visit=\"exactly_once\": order=\"any\" can do without"));
  TRY(Needs(fixed, settings.sharding != "off", "order=\"fixed\"",
            "sharding=\"dynamic\" or \"static\""));
  TRY(Needs(settings.members > 1, fixed, "members", "order=\"fixed\""));
  TRY(Needs(settings.global_batch, fixed, "global_batch", "order=\"fixed\""));
  TRY(Needs(settings.open_lanes > 0, fixed, "open_lanes", "order=\"fixed\""));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CopiesOf(const api::JobSettings& settings,
                                 const std::string& state, int64_t workers) {
  const bool off = settings.sharding == "off";
  if (state.empty()) return off ? workers : 1;
  const absl::StatusOr<lanes::State> saved = api::StateFromJson(state);
  if (!saved.ok() && off) return saved.status();
  const int64_t copies = saved.ok() ? saved->copies : 1;  // Told when it is loaded.
  if (copies < 1 || copies > kCopiesMax) {
    return absl::InvalidArgumentError(
        base::StrCat("the state has an absurd number of copies: ", copies));
  }
  if (off || copies == 1) return copies;
  return absl::InvalidArgumentError(
      base::StrCat("the state was saved with sharding=\"off\" and ", copies,
                   " workers: go on from it with sharding=\"off\""));
}

absl::Status SameSettings(const api::JobSettings& one, const api::JobSettings& other) {
  const std::optional<api::Difference> difference = api::FirstDifference(one, other);
  if (!difference) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("consumers of one run differ in ", difference->member, ": ",
                   difference->one, " and ", difference->other));
}

}  // namespace millrace::control
