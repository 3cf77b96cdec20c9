#include "millrace/base/utf8.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace millrace::base {
namespace {

// The length of the character that `text` begins with; 0 when it begins with none.
size_t CharacterSize(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return 1;
  const auto size = static_cast<size_t>(std::countl_one(lead));
  if (size < 2 || size > 4 || size > text.size()) return 0;
  uint32_t code = lead & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0U) != 0x80) return 0;
    code = code << 6 | (byte & 0x3FU);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[size] || surrogate || code > 0x10FFFF ? 0 : size;
}

// Most text is ASCII for long stretches: eight characters at a time.
bool BeginsWithEightAscii(std::string_view text) {
  if (text.size() < 8) return false;
  uint64_t word = 0;
  std::memcpy(&word, text.data(), sizeof(word));
  return (word & 0x8080808080808080U) == 0;
}

}  // namespace

size_t ValidUtf8Size(std::string_view text) {
  size_t place = 0;
  while (place < text.size()) {
    if (BeginsWithEightAscii(text.substr(place))) {
      place += 8;
      continue;
    }
    const size_t size = CharacterSize(text.substr(place));
    if (size == 0) return place;
    place += size;
  }
  return place;
}

}  // namespace millrace::base
