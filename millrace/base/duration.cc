#include "millrace/base/duration.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"

#include "millrace/base/text.h"

namespace millrace::base {
namespace {

// The step to which a duration of this length is rounded: three digits below a minute,
// then whole seconds, then whole minutes.
absl::Duration RoundingStep(absl::Duration length) {
  if (length >= absl::Hours(1)) return absl::Minutes(1);
  if (length >= absl::Minutes(1)) return absl::Seconds(1);
  absl::Duration step = absl::Nanoseconds(1);
  while (length >= 1000 * step) step *= 10;
  return step;
}

}  // namespace

std::string ToString(absl::Duration duration) {
  if (duration < absl::ZeroDuration() && duration != -absl::InfiniteDuration()) {
    return StrCat("-", ToString(-duration));
  }
  const absl::Duration step = RoundingStep(duration);
  return absl::FormatDuration(absl::Floor(duration + step / 2, step));
}

absl::StatusOr<absl::Duration> ParseDuration(std::string_view text) {
  const std::string packed = absl::StrReplaceAll(ToAbsl(text), {{" ", ""}});
  absl::Duration duration;
  if (absl::ParseDuration(packed, &duration)) return duration;
  return absl::InvalidArgumentError(
      StrCat("duration needs numbers with units (ns, us, ms, s, m, h), as in 1.5s: \"",
             text, "\""));
}

}  // namespace millrace::base
