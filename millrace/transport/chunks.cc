#include "millrace/transport/chunks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/pack.h"
#include "millrace/codec/taker.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

codec::Packer& Packers::Of(PayloadCodec codec) {
  CHECK(codec != PayloadCodec::kNone);
  if (std::exchange(codec_, codec) != codec) {
    packer_.emplace(codec == PayloadCodec::kLz4 ? codec::Packing::kLz4
                                                : codec::Packing::kZstd);
  }
  return *packer_;
}

std::string_view NameOf(PayloadCodec codec) {
  switch (codec) {
    case PayloadCodec::kNone:
      return "none";
    case PayloadCodec::kLz4:
      return "lz4";
    case PayloadCodec::kZstd:
      return "zstd";
  }
  return "none";
}

std::optional<PayloadCodec> CodecOfName(std::string_view name) {
  for (const PayloadCodec codec :
       {PayloadCodec::kNone, PayloadCodec::kLz4, PayloadCodec::kZstd}) {
    if (NameOf(codec) == name) return codec;
  }
  return std::nullopt;
}

Chunker::Chunker(const frames::Frame& payload, PayloadCodec codec) : codec_(codec) {
  CHECK(codec != PayloadCodec::kNone);
  (void)payload.ForEachPiece([&](std::string_view piece) {
    if (!piece.empty()) pieces_.push_back(piece);
    return absl::OkStatus();
  });
}

// What the next chunk holds: where it is, or joined if it lies in several places.
std::string_view Chunker::Content() {
  constexpr auto kSize = static_cast<size_t>(kChunkBytes);
  const std::string_view rest = pieces_[piece_].substr(offset_);
  if (rest.size() >= kSize || piece_ + 1 == pieces_.size()) {
    const std::string_view content = rest.substr(0, kSize);
    offset_ += content.size();
    if (offset_ == pieces_[piece_].size()) {
      ++piece_;
      offset_ = 0;
    }
    return content;
  }
  joined_.clear();
  while (joined_.size() < kSize && !done()) {
    const std::string_view part =
        pieces_[piece_].substr(offset_, kSize - joined_.size());
    joined_ += part;
    offset_ += part.size();
    if (offset_ < pieces_[piece_].size()) break;
    ++piece_;
    offset_ = 0;
  }
  return joined_;
}

std::string Chunker::Next(codec::Packer& packer) {
  CHECK(!done());
  const std::string_view content = Content();
  crc_ = codec::Crc32c(content, crc_);
  std::string chunk(static_cast<size_t>(kChunkHeadBytes) + content.size(), '\0');
  // Only what gets smaller is sent packed.
  const absl::Span<std::byte> room(
      reinterpret_cast<std::byte*>(chunk.data()) + kChunkHeadBytes, content.size() - 1);
  const size_t size = packer.Pack(content, room).value_or(content.size());
  if (size == content.size()) {
    std::ranges::copy(content, chunk.begin() + kChunkHeadBytes);
  }
  std::string head;
  codec::PutNumber(size, kChunkHeadBytes, head);
  std::ranges::copy(head, chunk.begin());
  chunk.resize(static_cast<size_t>(kChunkHeadBytes) + size);
  return chunk;
}

PackedSample PackSample(const frames::Frame& payload, PayloadCodec codec,
                        Packers& packers) {
  std::string_view content;
  int64_t before = 0;  // Bytes of the pieces up to this one.
  (void)payload.ForEachPiece([&](std::string_view piece) {
    const int64_t end = before + std::ssize(piece);
    if (content.empty() && end > payload.bytes() / 2) {
      const int64_t middle = payload.bytes() / 2 - before;
      const int64_t begin =
          std::max<int64_t>(0, std::min(middle, std::ssize(piece) - kChunkBytes));
      content =
          piece.substr(static_cast<size_t>(begin), static_cast<size_t>(kChunkBytes));
    }
    before = end;
    return absl::OkStatus();
  });
  CHECK(!content.empty());
  std::vector<std::byte> room(content.size());
  const size_t packed =
      packers.Of(codec).Pack(content, absl::MakeSpan(room)).value_or(content.size());
  return {std::ssize(content), static_cast<int64_t>(packed)};
}

absl::StatusOr<int64_t> ReadChunkHead(std::string_view head, int64_t content_bytes) {
  codec::Taker taker(head, "stream");
  const auto size = static_cast<int64_t>(TRY(taker.Number(kChunkHeadBytes)));
  if (size > 0 && size <= content_bytes) return size;
  return absl::DataLossError(base::StrCat("a chunk of ", size, " bytes cannot hold ",
                                          content_bytes, " bytes of a payload"));
}

absl::Status ReadChunk(std::string_view bytes, codec::Packer& packer,
                       absl::Span<std::byte> room) {
  if (bytes.size() != room.size()) return packer.Unpack(bytes, room);
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return absl::OkStatus();
}

}  // namespace millrace::transport
