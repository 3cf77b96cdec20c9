#include "millrace/codec/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <system_error>

#include "absl/strings/charconv.h"

namespace millrace::codec {
namespace {

// Four to eight digits at once: their bytes, with zeros before them, are those of one
// number, whose neighbours are then added up in pairs, fours and eights. False where
// another character is among them. Requires: 4 to 8 bytes; little endian.
bool ReadFewDigits(const char* text, size_t size, uint64_t* number) {
  constexpr uint64_t kEach = 0x0101010101010101;
  uint32_t first = 0;
  uint32_t last = 0;
  std::memcpy(&first, text, 4);
  std::memcpy(&last, text + size - 4, 4);
  const size_t zeros = 64 - 8 * size;  // Bits.
  const uint64_t fill = zeros == 0 ? 0 : '0' * kEach >> (8 * size);
  const uint64_t bytes = uint64_t{first} << zeros | uint64_t{last} << 32 | fill;
  const uint64_t carried = bytes + 6 * kEach;  // Above 9 the upper half grows.
  const uint64_t highs = (bytes & 0xF0 * kEach) | (carried & 0xF0 * kEach) >> 4;
  if (highs != 0x33 * kEach) return false;
  const uint64_t digits = bytes & 0x0F * kEach;
  const uint64_t pairs = (digits * 10 + (digits >> 8)) & 0x00FF00FF00FF00FF;
  const uint64_t fours = (pairs * 100 + (pairs >> 16)) & 0x0000FFFF0000FFFF;
  *number = (fours * 10'000 + (fours >> 32)) & 0xFFFFFFFF;
  return true;
}

// Reads digits from `at` on, into a number that has room for them; gives the place
// behind them.
size_t TakeDigits(std::string_view text, size_t at, uint64_t* number) {
  uint64_t value = *number;
  for (; at < text.size(); ++at) {
    const auto digit = static_cast<unsigned char>(text[at] - '0');
    if (digit > 9) break;
    value = 10 * value + digit;
  }
  *number = value;
  return at;
}

template <typename T>
NumberRead ReadAny(std::string_view text, T* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  if (error == std::errc::invalid_argument || stop != end) return NumberRead::kNoNumber;
  return error == std::errc() ? NumberRead::kDone : NumberRead::kOutOfRange;
}

// What is far out of range, in both directions.
NumberRead ReadExtreme(std::string_view text, double* number) {
  absl::from_chars(text.data(), text.data() + text.size(), *number);
  return std::abs(*number) < 1 ? NumberRead::kDone : NumberRead::kOutOfRange;
}

}  // namespace

NumberRead ReadInteger(std::string_view text, int64_t* number) {
  const bool negative = !text.empty() && text[0] == '-';
  const size_t sign = negative ? 1 : 0;
  const size_t digits = text.size() - sign;
  uint64_t value = 0;
  if (digits > 18) return ReadAny(text, number);
  if (digits >= 4 && digits <= 8) {
    if (!ReadFewDigits(text.data() + sign, digits, &value)) {
      return NumberRead::kNoNumber;
    }
  } else {
    const size_t end = TakeDigits(text, sign, &value);
    if (end != text.size() || end == sign) return NumberRead::kNoNumber;
  }
  *number = negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
  return NumberRead::kDone;
}

NumberRead ReadInteger(std::string_view text, uint64_t* number) {
  if (!text.empty() && text[0] == '-') {
    int64_t negative = 0;
    const NumberRead read = ReadInteger(text, &negative);
    if (read != NumberRead::kDone || negative != 0) {
      return read == NumberRead::kDone ? NumberRead::kOutOfRange : read;
    }
    *number = 0;
    return NumberRead::kDone;
  }
  return ReadAny(text, number);
}

NumberRead ReadFloat(std::string_view text, double* number) {
  // Short decimals are one exact whole number divided by one exact power of ten: the
  // one rounding of the division gives the nearest number there is.
  static constexpr std::array<double, 16> kPowers = {1e0,  1e1,  1e2,  1e3, 1e4,  1e5,
                                                     1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                                     1e12, 1e13, 1e14, 1e15};
  const bool negative = !text.empty() && text[0] == '-';
  const size_t sign = negative ? 1 : 0;
  if (text.size() - sign <= 16) {
    uint64_t digits = 0;
    size_t end = TakeDigits(text, sign, &digits);
    const size_t whole = end - sign;
    size_t fraction = 0;
    if (end < text.size() && text[end] == '.') {
      const size_t begin = end + 1;
      end = TakeDigits(text, begin, &digits);
      fraction = end - begin;
    }
    if (end == text.size() && whole + fraction > 0 && whole + fraction <= 15) {
      const double value = static_cast<double>(digits) / kPowers[fraction];
      *number = negative ? -value : value;
      return NumberRead::kDone;
    }
  }
  const NumberRead read = ReadAny(text, number);
  return read == NumberRead::kOutOfRange ? ReadExtreme(text, number) : read;
}

}  // namespace millrace::codec
