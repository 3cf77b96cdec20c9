#include "millrace/base/bytes.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include "millrace/base/text.h"

namespace millrace::base {
namespace {

struct Unit {
  std::string_view name;
  int64_t bytes;
};

// Those that ToString uses come first, in order of size.
constexpr std::array<Unit, 13> kUnits = {{
    {"B", 1},
    {"KiB", int64_t{1} << 10},
    {"MiB", int64_t{1} << 20},
    {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},
    {"PiB", int64_t{1} << 50},
    {"EiB", int64_t{1} << 60},
    {"kB", 1'000},
    {"MB", 1'000'000},
    {"GB", 1'000'000'000},
    {"TB", 1'000'000'000'000},
    {"PB", 1'000'000'000'000'000},
    {"EB", 1'000'000'000'000'000'000},
}};
constexpr size_t kPrintedUnits = 7;

// A positive size in tenths of a unit, rounded.
struct Tenths {
  uint64_t whole;
  uint64_t tenths;
};

Tenths InTenths(uint64_t count, uint64_t unit) {
  const uint64_t whole = count / unit;
  const uint64_t tenths = (count % unit * 10 + unit / 2) / unit;
  return tenths == 10 ? Tenths{whole + 1, 0} : Tenths{whole, tenths};
}

std::optional<int64_t> UnitBytes(std::string_view name) {
  if (name.empty()) return 1;
  for (const Unit& unit : kUnits) {
    if (absl::EqualsIgnoreCase(ToAbsl(unit.name), ToAbsl(name))) return unit.bytes;
  }
  return std::nullopt;
}

absl::Status ParseError(std::string_view why, std::string_view text) {
  return absl::InvalidArgumentError(StrCat(why, ": \"", text, "\""));
}

// Multiplies exactly where the number is whole, else to the nearest byte.
absl::StatusOr<Bytes> Multiply(std::string_view number, int64_t unit,
                               std::string_view text) {
  constexpr std::string_view kTooLarge = "size in bytes is too large (2^63 or more)";
  int64_t whole = 0;
  if (absl::SimpleAtoi(ToAbsl(number), &whole)) {
    int64_t count = 0;
    if (__builtin_mul_overflow(whole, unit, &count)) return ParseError(kTooLarge, text);
    return Bytes(count);
  }
  double parsed = 0;
  if (!absl::SimpleAtod(ToAbsl(number), &parsed)) {
    return ParseError("size in bytes needs a number, as in 256MiB", text);
  }
  const double count = std::round(parsed * static_cast<double>(unit));
  if (!(count < 0x1p63)) return ParseError(kTooLarge, text);
  return Bytes(static_cast<int64_t>(count));
}

}  // namespace

std::string ToString(Bytes bytes) {
  if (bytes.count() < 0) {
    // Min() has no opposite; one byte does not show in EiB.
    return StrCat("-", ToString(Bytes() - bytes));
  }
  const auto count = static_cast<uint64_t>(bytes.count());
  size_t unit = 0;
  Tenths shown = {count, 0};
  while (shown.whole >= 1024 && unit + 1 < kPrintedUnits) {
    ++unit;
    shown = InTenths(count, static_cast<uint64_t>(kUnits[unit].bytes));
  }
  const std::string fraction = shown.tenths == 0 ? "" : StrCat(".", shown.tenths);
  return StrCat(shown.whole, fraction, " ", kUnits[unit].name);
}

std::ostream& operator<<(std::ostream& out, Bytes bytes) {
  return out << ToString(bytes);
}

absl::StatusOr<Bytes> ParseBytes(std::string_view text) {
  const std::string_view trimmed = ToStd(absl::StripAsciiWhitespace(ToAbsl(text)));
  const size_t digits = trimmed.find_first_not_of("0123456789.");
  const std::string_view number = trimmed.substr(0, digits);
  const std::string_view name =
      digits == std::string_view::npos ? std::string_view() : trimmed.substr(digits);
  if (trimmed.starts_with('-')) return ParseError("size in bytes is negative", text);
  if (number.empty()) {
    return ParseError("size in bytes needs a number, as in 256MiB", text);
  }
  const std::optional<int64_t> unit =
      UnitBytes(ToStd(absl::StripLeadingAsciiWhitespace(ToAbsl(name))));
  if (!unit.has_value()) {
    return ParseError("size in bytes has an unknown unit (use B, KiB, MiB, GiB, TiB)",
                      text);
  }
  return Multiply(number, *unit, text);
}

}  // namespace millrace::base
