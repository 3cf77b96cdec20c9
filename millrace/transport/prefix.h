// The fixed bytes before every message of a stream (docs/formats/stream.md), as a
// struct. What is read may come from anywhere: nothing is believed before it is
// checked. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::transport {

inline constexpr int64_t kPrefixBytes = 32;

// What follows a payload that has a checksum.
inline constexpr int64_t kPayloadSumBytes = 4;

// No payload can be larger; a reader usually allows less.
inline constexpr int64_t kPayloadBytesMax = int64_t{1} << 46;

// A ping has neither head nor payload; it only shows that the sender is there.
enum class MessageKind : uint8_t { kMessage = 0, kPing = 1 };

// How the payload is compressed (chunks.h).
enum class PayloadCodec : uint8_t { kNone = 0, kLz4 = 1, kZstd = 2 };

struct Prefix {
  MessageKind kind = MessageKind::kMessage;
  PayloadCodec codec = PayloadCodec::kNone;
  bool payload_summed = false;  // Its CRC-32C follows the payload.
  int64_t head_bytes = 0;
  int64_t payload_bytes = 0;  // As it was before it was compressed.
  uint32_t head_crc = 0;

  friend bool operator==(const Prefix&, const Prefix&) = default;
};

std::string WritePrefix(const Prefix& prefix);

// DataLoss where it is damaged or none, Unimplemented where it is of a later version,
// ResourceExhausted where its sizes are beyond the limits. Requires: kPrefixBytes.
absl::StatusOr<Prefix> ReadPrefix(std::string_view bytes, int64_t payload_bytes_max);

}  // namespace millrace::transport
