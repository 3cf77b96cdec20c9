// Dates of the Gregorian calendar and times of day, in UTC and without leap seconds, as
// Unix counts them; and formats by which texts are read as such. Pure; reading a text
// costs some fifty nanoseconds. No clock is asked and no time zone is looked up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::kernels {

struct CivilDate {
  int64_t year = 1970;
  int64_t month = 1;  // From 1, like the day.
  int64_t day = 1;
};

// Days since 1970-01-01. Requires: month and day are in range.
int64_t DaysOf(const CivilDate& date);

// The date of a day. Requires: within some 10^14 days of 1970, as all seconds of an
// int64 are.
CivilDate DateOf(int64_t days);

// How many days a month has.
int64_t DaysInMonth(int64_t year, int64_t month);

// A moment: seconds since 1970-01-01 00:00 UTC, and the part of a second after that.
struct Moment {
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
};

class DateFormat {
 public:
  // Reads a format: "iso8601", or text with the parts that strptime knows:
  // %Y %m %d %H %M %S %y %I %p %b %B %j %f %z %F %T %%. The error tells what is wrong.
  static absl::StatusOr<DateFormat> Parse(std::string_view format);

  // Reads a whole text. What it does not tell is 1970-01-01 00:00:00 UTC.
  absl::StatusOr<Moment> Read(std::string_view text) const;

 private:
  std::string parts_;  // One after the other: a letter of a part, or \0 and a letter.
  bool iso_ = false;
};

}  // namespace millrace::kernels
