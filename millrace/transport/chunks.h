// Compressed payloads: chunks, each packed by itself, so that a payload is packed as it
// is sent and unpacked as it comes, in memory that does not grow with it. A chunk is
// the number of its bytes (4, little-endian) and these; it holds kChunkBytes of the
// payload, the last one what is left. One that would not get smaller is sent as it is,
// which its size tells. Of one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/codec/pack.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

inline constexpr int64_t kChunkBytes = int64_t{256} << 10;
inline constexpr int64_t kChunkHeadBytes = 4;

// What packs and unpacks by one codec after another; made when it is needed.
class Packers {
 public:
  // Requires: a codec, not kNone.
  codec::Packer& Of(PayloadCodec codec);

 private:
  std::optional<codec::Packer> packer_;
  PayloadCodec codec_ = PayloadCodec::kNone;
};

// "lz4", "zstd", "none"; and back, nothing where it is unknown.
std::string_view NameOf(PayloadCodec codec);
std::optional<PayloadCodec> CodecOfName(std::string_view name);

// Gives the chunks of a payload, one after another.
class Chunker {
 public:
  // The payload outlives it. Requires: a codec, not kNone.
  Chunker(const frames::Frame& payload, PayloadCodec codec);

  bool done() const { return piece_ == pieces_.size(); }

  PayloadCodec codec() const { return codec_; }

  // The next chunk, as it is sent. Requires: not done, a packer of this codec.
  std::string Next(codec::Packer& packer);

  // CRC-32C of what was in the chunks so far.
  uint32_t crc() const { return crc_; }

 private:
  std::string_view Content();

  PayloadCodec codec_;
  std::vector<std::string_view> pieces_;  // Of the payload, none of them empty.
  size_t piece_ = 0;
  size_t offset_ = 0;   // In that piece.
  std::string joined_;  // Content that lies in several pieces.
  uint32_t crc_ = 0;
};

// What a codec makes of a chunk in the middle of a payload.
struct PackedSample {
  int64_t bytes = 0;
  int64_t packed_bytes = 0;  // No more than those.
};

// Requires: a payload with bytes; a codec, not kNone.
PackedSample PackSample(const frames::Frame& payload, PayloadCodec codec,
                        Packers& packers);

// How many bytes a chunk has when it is sent, of this much of a payload. DataLoss where
// its head says what cannot be. Requires: kChunkHeadBytes.
absl::StatusOr<int64_t> ReadChunkHead(std::string_view head, int64_t content_bytes);

// Unpacks a chunk into room of exactly its content's size.
absl::Status ReadChunk(std::string_view bytes, codec::Packer& packer,
                       absl::Span<std::byte> room);

}  // namespace millrace::transport
