#include "millrace/kernels/calendar.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/text.h"
#include "millrace/ir/shown.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kDaysPerEra = 146097;  // Of 400 years.
constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kSecondsPerHour = 3600;
constexpr int64_t kSecondsPerMinute = 60;

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool IsLeap(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// What a text has told so far.
struct Fields {
  CivilDate date;
  int64_t day_of_year = 0;  // 0 where month and day tell it.
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t nanoseconds = 0;
  int64_t offset_seconds = 0;     // East of UTC.
  std::optional<bool> afternoon;  // Where hours go to 12.
};

// Reads the parts of a text, from left to right. Each gives false where the text goes
// on in another way.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }

  bool Letter(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // A number of `least` to `most` digits, from `low` to `high`.
  bool Number(int64_t& number, int least, int most, int64_t low, int64_t high) {
    int digits = 0;
    int64_t value = 0;
    while (digits < most && digits < std::ssize(rest_) && IsDigit(rest_[digits])) {
      value = value * 10 + (rest_[digits++] - '0');
    }
    if (digits < least || value < low || value > high) return false;
    rest_.remove_prefix(digits);
    number = value;
    return true;
  }

  // The digits behind a point, as nanoseconds; what is finer is dropped.
  bool Fraction(int64_t& nanoseconds) {
    size_t digits = 0;
    int64_t value = 0;
    int64_t unit = 100'000'000;
    for (; digits < rest_.size() && IsDigit(rest_[digits]); ++digits) {
      value += (rest_[digits] - '0') * unit;
      unit /= 10;
    }
    if (digits == 0) return false;
    rest_.remove_prefix(digits);
    nanoseconds = value;
    return true;
  }

  // The name of a month, of which three letters may do.
  bool Month(bool whole, int64_t& month) {
    for (size_t i = 0; i < kMonths.size(); ++i) {
      const std::string_view name = whole ? kMonths[i] : kMonths[i].substr(0, 3);
      if (!BeginsWithName(name)) continue;
      rest_.remove_prefix(name.size());
      month = static_cast<int64_t>(i) + 1;
      return true;
    }
    return false;
  }

  // "AM" or "PM".
  bool HalfOfDay(std::optional<bool>& afternoon) {
    const bool morning = BeginsWithName("AM");
    if (!morning && !BeginsWithName("PM")) return false;
    rest_.remove_prefix(2);
    afternoon = !morning;
    return true;
  }

  // "Z", "+02", "+0230" or "+02:30".
  bool Zone(int64_t& offset_seconds) {
    if (Letter('Z') || Letter('z')) {
      offset_seconds = 0;
      return true;
    }
    const bool west = rest_.starts_with('-');
    if (!west && !rest_.starts_with('+')) return false;
    rest_.remove_prefix(1);
    int64_t hours = 0;
    int64_t minutes = 0;
    if (!Number(hours, 2, 2, 0, 23)) return false;
    const bool colon = Letter(':');
    const bool more = colon || (!rest_.empty() && IsDigit(rest_[0]));
    if (more && !Number(minutes, 2, 2, 0, 59)) return false;
    offset_seconds = hours * kSecondsPerHour + minutes * kSecondsPerMinute;
    if (west) offset_seconds = -offset_seconds;
    return true;
  }

 private:
  static bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

  static char Lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a')
                                          : letter;
  }

  // Whatever the case of its letters.
  bool BeginsWithName(std::string_view name) const {
    return rest_.size() >= name.size() &&
           std::ranges::equal(rest_.substr(0, name.size()), name, {}, Lower, Lower);
  }

  std::string_view rest_;
};

bool ReadDate(Scanner& text, Fields& fields) {
  return text.Number(fields.date.year, 4, 4, 0, 9999) && text.Letter('-') &&
         text.Number(fields.date.month, 2, 2, 1, 12) && text.Letter('-') &&
         text.Number(fields.date.day, 2, 2, 1, 31);
}

bool ReadTime(Scanner& text, Fields& fields) {
  return text.Number(fields.hour, 2, 2, 0, 23) && text.Letter(':') &&
         text.Number(fields.minute, 2, 2, 0, 59) && text.Letter(':') &&
         text.Number(fields.second, 2, 2, 0, 60);
}

// "2024-01-31", then perhaps "T12:30", ":15", ".25" and a zone.
bool ReadIso(Scanner& text, Fields& fields) {
  if (!ReadDate(text, fields)) return false;
  if (text.AtEnd()) return true;
  if (!text.Letter('T') && !text.Letter('t') && !text.Letter(' ')) return false;
  if (!text.Number(fields.hour, 2, 2, 0, 23) || !text.Letter(':') ||
      !text.Number(fields.minute, 2, 2, 0, 59)) {
    return false;
  }
  if (text.Letter(':')) {
    if (!text.Number(fields.second, 2, 2, 0, 60)) return false;
    const bool point = text.Letter('.') || text.Letter(',');
    if (point && !text.Fraction(fields.nanoseconds)) return false;
  }
  return text.AtEnd() || text.Zone(fields.offset_seconds);
}

// Two digits: 69 to 99 are of the last century, as POSIX has it.
bool ReadShortYear(Scanner& text, int64_t& year) {
  if (!text.Number(year, 2, 2, 0, 99)) return false;
  year += year < 69 ? 2000 : 1900;
  return true;
}

bool ReadPart(char part, Scanner& text, Fields& fields) {
  switch (part) {
    case 'Y':
      return text.Number(fields.date.year, 4, 4, 0, 9999);
    case 'y':
      return ReadShortYear(text, fields.date.year);
    case 'm':
      return text.Number(fields.date.month, 1, 2, 1, 12);
    case 'd':
      return text.Number(fields.date.day, 1, 2, 1, 31);
    case 'H':
      return text.Number(fields.hour, 1, 2, 0, 23);
    case 'I':
      return text.Number(fields.hour, 1, 2, 1, 12);
    case 'M':
      return text.Number(fields.minute, 1, 2, 0, 59);
    case 'S':
      return text.Number(fields.second, 1, 2, 0, 60);
    case 'j':
      return text.Number(fields.day_of_year, 1, 3, 1, 366);
    case 'f':
      return text.Fraction(fields.nanoseconds);
    case 'p':
      return text.HalfOfDay(fields.afternoon);
    case 'b':
      return text.Month(false, fields.date.month);
    case 'B':
      return text.Month(true, fields.date.month);
    case 'z':
      return text.Zone(fields.offset_seconds);
    case 'F':
      return ReadDate(text, fields);
    case 'T':
      return ReadTime(text, fields);
    default:
      return false;
  }
}

constexpr std::string_view kParts = "YymdHIMSjfpbBzFT";

// Puts together what was told. Nothing where there is no such day.
std::optional<Moment> MomentOf(const Fields& fields) {
  const CivilDate& date = fields.date;
  int64_t days = 0;
  if (fields.day_of_year > 0) {
    if (fields.day_of_year > (IsLeap(date.year) ? 366 : 365)) return std::nullopt;
    days = DaysOf({.year = date.year}) + fields.day_of_year - 1;
  } else {
    if (date.day > DaysInMonth(date.year, date.month)) return std::nullopt;
    days = DaysOf(date);
  }
  int64_t hour = fields.hour;
  if (fields.afternoon) hour = hour % 12 + (*fields.afternoon ? 12 : 0);
  return Moment{.seconds = days * kSecondsPerDay + hour * kSecondsPerHour +
                           fields.minute * kSecondsPerMinute + fields.second -
                           fields.offset_seconds,
                .nanoseconds = fields.nanoseconds};
}

}  // namespace

int64_t DaysInMonth(int64_t year, int64_t month) {
  if (month == 2) return IsLeap(year) ? 29 : 28;
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

// Years are counted from March, so that a leap day is the last of its year; the months
// from March on have 31, 30, 31, 30, 31 days, over and over.
int64_t DaysOf(const CivilDate& date) {
  const int64_t year = date.month > 2 ? date.year : date.year - 1;
  const int64_t month = (date.month + 9) % 12;
  const int64_t era = FloorDivide(year, 400);
  const int64_t of_era = year - era * 400;
  const int64_t day = (153 * month + 2) / 5 + date.day - 1;
  const int64_t days = of_era * 365 + of_era / 4 - of_era / 100 + day;
  constexpr int64_t kDaysTo1970 = 719468;  // From the first of March of year 0.
  return era * kDaysPerEra + days - kDaysTo1970;
}

CivilDate DateOf(int64_t days) {
  days += 719468;
  const int64_t era = FloorDivide(days, kDaysPerEra);
  const int64_t of_era = days - era * kDaysPerEra;
  const int64_t year =
      (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t day = of_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * day + 2) / 153;  // From March.
  CivilDate date;
  date.day = day - (153 * month + 2) / 5 + 1;
  date.month = month < 10 ? month + 3 : month - 9;
  date.year = year + era * 400 + (date.month <= 2 ? 1 : 0);
  return date;
}

absl::StatusOr<DateFormat> DateFormat::Parse(std::string_view format) {
  DateFormat result;
  result.iso_ = format == "iso8601";
  for (size_t i = 0; i < format.size() && !result.iso_; ++i) {
    const bool escaped = format[i] == '%';
    if (escaped) ++i;
    if (i == format.size()) {
      return absl::InvalidArgumentError("argument format ends with a single %");
    }
    const bool part = escaped && format[i] != '%';
    if (part && kParts.find(format[i]) == std::string_view::npos) {
      return absl::InvalidArgumentError(
          base::StrCat("argument format has %", format.substr(i, 1),
                       "; known are those of Y m d H M S y I p b B j f z F T"));
    }
    if (!part) result.parts_ += '\0';
    result.parts_ += format[i];
  }
  return result;
}

absl::StatusOr<Moment> DateFormat::Read(std::string_view text) const {
  Scanner scanner(text);
  Fields fields;
  bool read = !iso_ || ReadIso(scanner, fields);
  for (size_t i = 0; i < parts_.size() && read; ++i) {
    const bool letter = parts_[i] == '\0';
    read = letter ? scanner.Letter(parts_[++i]) : ReadPart(parts_[i], scanner, fields);
  }
  const std::optional<Moment> moment =
      read && scanner.AtEnd() ? MomentOf(fields) : std::nullopt;
  if (moment) return *moment;
  return absl::InvalidArgumentError(
      base::StrCat(ir::Quoted(text), " is no date of the format"));
}

}  // namespace millrace::kernels
