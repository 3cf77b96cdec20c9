// Prints and reads absl::Duration for people. The exact text form is
// absl::FormatDuration, which ParseDuration reads as well.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace millrace::base {

// Prints with three significant digits: "1.5s", "200ms", "2h5m", "inf".
std::string ToString(absl::Duration duration);

// Reads what people write: "1.5s", "200 ms", "1h30m", "inf", "0". Any other number
// needs a unit (ns, us, ms, s, m, h).
absl::StatusOr<absl::Duration> ParseDuration(std::string_view text);

}  // namespace millrace::base
