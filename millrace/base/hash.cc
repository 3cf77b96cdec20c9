#include "millrace/base/hash.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/hex.h"
#include "millrace/base/text.h"

namespace millrace::base {
namespace {

constexpr int kBytesPerWord = 8;

}  // namespace

std::string ToHex(const Hash128& hash) {
  std::array<uint8_t, 16> bytes = {};
  for (size_t i = 0; i < kBytesPerWord; ++i) {
    bytes[i] = static_cast<uint8_t>(hash.hi >> (56 - 8 * i));
    bytes[i + kBytesPerWord] = static_cast<uint8_t>(hash.lo >> (56 - 8 * i));
  }
  return ToHex(bytes);
}

absl::StatusOr<Hash128> ParseHash128(std::string_view text) {
  std::array<uint8_t, 16> bytes = {};
  if (!ParseHex(text, bytes)) {
    return absl::InvalidArgumentError(
        StrCat("hash is not 32 lower-case hexadecimal digits: \"", text, "\""));
  }
  Hash128 hash;
  for (size_t i = 0; i < kBytesPerWord; ++i) {
    hash.hi = hash.hi << 8 | bytes[i];
    hash.lo = hash.lo << 8 | bytes[i + kBytesPerWord];
  }
  return hash;
}

std::ostream& operator<<(std::ostream& out, const Hash128& hash) {
  return out << ToHex(hash);
}

}  // namespace millrace::base
