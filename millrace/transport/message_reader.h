// Messages out of received bytes: says where the next bytes are to be put, and is told
// how many came. A payload is received straight into the memory that was allocated for
// it, with a little room behind for what follows, so that a message costs about one
// read; chunks of a compressed one are unpacked there. What comes may be anything:
// limits are checked before memory is taken. Of one thread.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/core/buffer.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

class MessageReader {
 public:
  using Allocate =
      std::function<absl::StatusOr<core::Buffer>(std::string_view head, base::Bytes)>;
  using Take = absl::FunctionRef<void(Received)>;

  // Without `allocate`, memory comes from core::HeapPool().
  MessageReader(base::Bytes payload_max, Allocate allocate);

  // Where the next bytes go: never empty.
  absl::Span<const iovec> Room();

  // Reads so many bytes that were put there; gives the messages that are complete. An
  // error ends it: what follows cannot be told apart.
  absl::Status Advance(int64_t bytes, Take take);

  // Tells whether nothing of a message came yet.
  bool between_messages() const;

  // Says how much of the message that is being received is there.
  std::string Progress() const;

 private:
  enum class Part : uint8_t { kPrefix, kHead, kPayload, kChunkHead, kChunk, kSum };

  absl::Status Parse(Take take);
  int64_t Wanted() const;
  absl::Status ReadPart(std::string_view bytes, Take take);
  absl::Status BeginPayload(Take take);
  absl::Status AddToPayload(int64_t bytes, Take take);
  absl::Status AddChunk(std::string_view bytes, Take take);
  int64_t ChunkContent() const;
  void Deliver(Take take);
  std::string_view staged() const;

  const base::Bytes payload_max_;
  const Allocate allocate_;

  Part part_ = Part::kPrefix;
  Prefix prefix_;
  Received message_;
  int64_t payload_read_ = 0;
  uint32_t payload_crc_ = 0;
  int64_t chunk_bytes_ = 0;  // Of the chunk that is being received.
  Packers packers_;

  std::string staging_;  // Prefixes, heads, and the first bytes of payloads.
  size_t staged_begin_ = 0;
  size_t staged_end_ = 0;
  int64_t look_ahead_;  // How much is read beyond a payload: about the next head.
  std::array<iovec, 2> room_ = {};
};

}  // namespace millrace::transport
