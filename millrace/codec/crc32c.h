// CRC-32C (Castagnoli), the checksum of TFRecord files and of our own formats. Uses the
// processor's instruction where there is one, found out at run time, on three stretches
// at once; elsewhere tables. Pure, same results everywhere; about 25 GB/s and 1 GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace::codec {

// Gives the checksum of `before`'s bytes followed by these; 0 is that of no bytes.
uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

// The same, and copies the bytes on the way, which costs next to nothing then.
// Requires: room for them at `to`, which does not overlap.
uint32_t CopyWithCrc32c(std::byte* to, std::string_view from, uint32_t before = 0);

// The way without the instruction, for processors that lack it; for tests elsewhere.
uint32_t Crc32cByTable(std::string_view bytes, uint32_t before = 0);

// Hides a checksum that is stored beside data that may be summed again, as TFRecord
// does.
constexpr uint32_t MaskCrc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// Undoes MaskCrc32c.
constexpr uint32_t UnmaskCrc32c(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace millrace::codec
