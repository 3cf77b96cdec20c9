#include "millrace/base/hex.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millrace::base {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr uint8_t kNoDigit = 16;

// What each character is worth.
constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values = {};
  values.fill(kNoDigit);
  for (size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<uint8_t>(kDigits[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

}  // namespace

std::string ToHex(std::span<const uint8_t> bytes) {
  std::string text(bytes.size() * 2, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    text[2 * i] = kDigits[bytes[i] >> 4];
    text[2 * i + 1] = kDigits[bytes[i] & 15];
  }
  return text;
}

bool ParseHex(std::string_view text, std::span<uint8_t> bytes) {
  if (text.size() != bytes.size() * 2) return false;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const uint8_t high = kValues[static_cast<uint8_t>(text[2 * i])];
    const uint8_t low = kValues[static_cast<uint8_t>(text[2 * i + 1])];
    if (high == kNoDigit || low == kNoDigit) return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

}  // namespace millrace::base
