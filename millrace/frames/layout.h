// What encoding and decoding agree on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/frames/frame.h"

namespace millrace::frames {

inline constexpr std::string_view kWhat = "frame";
inline constexpr int64_t kFrameBytesMax = int64_t{1} << 46;
inline constexpr int64_t kFieldsMax = 1 << 16;
inline constexpr int64_t kLevelsMax = 64;
inline constexpr int64_t kHeaderBytesMax = int64_t{1} << 30;

// How a column is written: levels above values, or above a tensor each.
enum class ColumnKind : uint8_t { kLevels = 0, kTensors = 1 };

// The first bytes of a frame.
struct Preamble {
  int64_t header_bytes = 0;  // Without padding; they follow the preamble.
  int64_t body_bytes = 0;
  int64_t rows = 0;
  uint32_t header_crc = 0;
  uint32_t body_crc = 0;

  int64_t head_bytes() const { return kPreambleBytes + PaddedBytes(header_bytes); }
};

std::string WritePreamble(const Preamble& preamble);
absl::StatusOr<Preamble> ReadPreamble(std::string_view bytes);

}  // namespace millrace::frames
