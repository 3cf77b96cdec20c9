#include "millrace/transport/message_reader.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

constexpr size_t kStagingBytes = 8 << 10;
constexpr int64_t kFirstLookAhead = 256;
// What is summed is read in parts that stay in the processor's cache.
constexpr int64_t kSummedReadBytes = 256 << 10;
// The same of compressed ones: they come more slowly than they are unpacked.
constexpr int64_t kPackedLookAhead = 64 << 10;

}  // namespace

MessageReader::MessageReader(base::Bytes payload_max, Allocate allocate)
    : payload_max_(payload_max),
      allocate_(std::move(allocate)),
      staging_(kStagingBytes, '\0'),
      look_ahead_(kFirstLookAhead) {}

bool MessageReader::between_messages() const {
  return part_ == Part::kPrefix && staged().empty();
}

std::string MessageReader::Progress() const {
  if (part_ == Part::kPrefix || part_ == Part::kHead) {
    return base::StrCat(staged().size(), " bytes of a message's ",
                        part_ == Part::kHead ? "head" : "prefix");
  }
  return base::StrCat(payload_read_, " of ", prefix_.payload_bytes,
                      " bytes of a payload");
}

std::string_view MessageReader::staged() const {
  return std::string_view(staging_).substr(staged_begin_, staged_end_ - staged_begin_);
}

// How many bytes the part that is being read has, but for a payload.
int64_t MessageReader::Wanted() const {
  switch (part_) {
    case Part::kPrefix:
      return kPrefixBytes;
    case Part::kHead:
      return prefix_.head_bytes;
    case Part::kPayload:
      return 0;
    case Part::kChunkHead:
      return kChunkHeadBytes;
    case Part::kChunk:
      return chunk_bytes_;
    case Part::kSum:
      return kPayloadSumBytes;
  }
  return 0;
}

absl::Span<const iovec> MessageReader::Room() {
  // What was staged begins the buffer: there is always less than a part of it.
  std::memmove(staging_.data(), staging_.data() + staged_begin_, staged().size());
  staged_end_ -= std::exchange(staged_begin_, 0);
  const auto wanted = static_cast<size_t>(Wanted());
  if (staging_.size() < wanted) staging_.resize(wanted);

  const size_t target = std::max(wanted, static_cast<size_t>(look_ahead_));
  const size_t size = std::min(target, staging_.size()) - staged_end_;
  const iovec staging = {staging_.data() + staged_end_, size};
  if (part_ != Part::kPayload) {
    room_[0] = staging;
    return absl::Span<const iovec>(room_).first(1);
  }
  const int64_t left = prefix_.payload_bytes - payload_read_;
  const bool in_parts = prefix_.payload_summed && left > kSummedReadBytes;
  room_[0] = {message_.payload.mutable_data() + payload_read_,
              static_cast<size_t>(in_parts ? kSummedReadBytes : left)};
  if (in_parts) return absl::Span<const iovec>(room_).first(1);
  room_[1] = staging;
  return room_;
}

absl::Status MessageReader::Advance(int64_t bytes, Take take) {
  CHECK_GT(bytes, 0);
  int64_t staged = bytes;
  if (part_ == Part::kPayload) {
    const int64_t of_payload = std::min(bytes, prefix_.payload_bytes - payload_read_);
    staged -= of_payload;
    TRY(AddToPayload(of_payload, take));
  }
  staged_end_ += static_cast<size_t>(staged);
  CHECK_LE(staged_end_, staging_.size());
  return Parse(take);
}

absl::Status MessageReader::Parse(Take take) {
  while (true) {
    if (part_ == Part::kPayload) {
      const int64_t size = std::min<int64_t>(std::ssize(staged()),
                                             prefix_.payload_bytes - payload_read_);
      if (size == 0) return absl::OkStatus();
      std::memcpy(message_.payload.mutable_data() + payload_read_, staged().data(),
                  static_cast<size_t>(size));
      staged_begin_ += static_cast<size_t>(size);
      TRY(AddToPayload(size, take));
      continue;
    }
    const auto wanted = static_cast<size_t>(Wanted());
    if (staged().size() < wanted) return absl::OkStatus();
    const std::string_view bytes = staged().substr(0, wanted);
    staged_begin_ += wanted;
    TRY(ReadPart(bytes, take));
  }
}

absl::Status MessageReader::ReadPart(std::string_view bytes, Take take) {
  switch (part_) {
    case Part::kPrefix:
      prefix_ = TRY(ReadPrefix(bytes, payload_max_.count()));
      if (prefix_.kind == MessageKind::kMessage) part_ = Part::kHead;
      return absl::OkStatus();
    case Part::kHead:
      if (codec::Crc32c(bytes) != prefix_.head_crc) {
        return absl::DataLossError("the checksum of a message's head does not fit");
      }
      message_.head = std::string(bytes);
      return BeginPayload(take);
    case Part::kPayload:
      return absl::OkStatus();  // Never staged as a whole.
    case Part::kChunkHead:
      chunk_bytes_ = TRY(ReadChunkHead(bytes, ChunkContent()));
      part_ = Part::kChunk;
      return absl::OkStatus();
    case Part::kChunk:
      return AddChunk(bytes, take);
    case Part::kSum: {
      codec::Taker taker(bytes, "stream");
      if (TRY(taker.Number(kPayloadSumBytes)) != payload_crc_) {
        return absl::DataLossError(base::StrCat("the checksum of a payload of ",
                                                prefix_.payload_bytes,
                                                " bytes does not fit"));
      }
      Deliver(take);
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status MessageReader::BeginPayload(Take take) {
  const int64_t bytes = prefix_.payload_bytes;
  const int64_t sum_bytes = prefix_.payload_summed ? kPayloadSumBytes : 0;
  look_ahead_ = bytes == 0 ? static_cast<int64_t>(kStagingBytes)
                           : sum_bytes + kPrefixBytes + prefix_.head_bytes;
  if (bytes == 0) {
    if (prefix_.payload_summed) {
      return absl::DataLossError("a message without payload has a checksum of it");
    }
    Deliver(take);
    return absl::OkStatus();
  }
  absl::StatusOr<core::Buffer> buffer =
      allocate_ != nullptr ? allocate_(message_.head, base::Bytes(bytes))
                           : core::HeapPool().Allocate(bytes);
  TRY(base::Annotate(buffer.status(),
                     base::StrCat("no memory for a payload of ", bytes, " bytes")));
  CHECK_GE(buffer->size(), bytes);
  CHECK_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % core::kAlignment, 0U);
  message_.payload = *std::move(buffer);
  payload_read_ = 0;
  payload_crc_ = 0;
  part_ = Part::kPayload;
  if (prefix_.codec == PayloadCodec::kNone) return absl::OkStatus();
  part_ = Part::kChunkHead;
  look_ahead_ = kPackedLookAhead;
  return absl::OkStatus();
}

// How much of the payload the next chunk holds.
int64_t MessageReader::ChunkContent() const {
  return std::min(kChunkBytes, prefix_.payload_bytes - payload_read_);
}

absl::Status MessageReader::AddChunk(std::string_view bytes, Take take) {
  const int64_t size = ChunkContent();
  TRY(ReadChunk(
      bytes, packers_.Of(prefix_.codec),
      {message_.payload.mutable_data() + payload_read_, static_cast<size_t>(size)}));
  part_ = Part::kChunkHead;  // Unless that was the last.
  return AddToPayload(size, take);
}

absl::Status MessageReader::AddToPayload(int64_t bytes, Take take) {
  if (prefix_.payload_summed) {
    // What was just written is still in the processor's cache.
    const std::string_view added = message_.payload.text().substr(
        static_cast<size_t>(payload_read_), static_cast<size_t>(bytes));
    payload_crc_ = codec::Crc32c(added, payload_crc_);
  }
  payload_read_ += bytes;
  if (payload_read_ < prefix_.payload_bytes) return absl::OkStatus();
  if (prefix_.payload_summed) {
    part_ = Part::kSum;
  } else {
    Deliver(take);
  }
  return absl::OkStatus();
}

void MessageReader::Deliver(Take take) {
  part_ = Part::kPrefix;
  if (message_.payload.size() > prefix_.payload_bytes) {
    message_.payload = message_.payload.Slice(0, prefix_.payload_bytes);
  }
  take(std::exchange(message_, {}));
}

}  // namespace millrace::transport
