#include "millrace/transport/message_writer.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/taker.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {
namespace {

// Less than this is sent as it is.
constexpr int64_t kPackedLeast = 16 << 10;
// What is packed between two writes; others of the loop wait meanwhile.
constexpr int kChunksOfGather = 2;

}  // namespace

int64_t MessageWriter::BytesOf(const Message& message) {
  return std::ssize(message.head) + message.payload.bytes();
}

void MessageWriter::Add(Message message) {
  CHECK_LE(message.head.size(), kHeadBytesMax);
  Outgoing& outgoing = queue_.emplace_back();
  outgoing.message = std::move(message);
  const Message& kept = outgoing.message;
  const bool packs =
      codec_ != PayloadCodec::kNone && kept.payload.bytes() >= kPackedLeast;
  packed_messages_ += packs ? 1 : 0;
  FillPieces(outgoing, {.codec = packs ? codec_ : PayloadCodec::kNone,
                        .payload_summed = sums_ && kept.payload.bytes() > 0,
                        .head_bytes = std::ssize(kept.head),
                        .payload_bytes = kept.payload.bytes(),
                        .head_crc = codec::Crc32c(kept.head)});
}

void MessageWriter::AddPing() {
  FillPieces(queue_.emplace_back(), {.kind = MessageKind::kPing});
}

void MessageWriter::FillPieces(Outgoing& outgoing, const Prefix& prefix) {
  const auto add = [&](std::string_view bytes, bool summed) {
    if (bytes.empty()) return;
    outgoing.pieces.push_back({.bytes = bytes, .summed = summed ? 0 : bytes.size()});
  };
  outgoing.prefix = WritePrefix(prefix);
  add(outgoing.prefix, false);
  add(outgoing.message.head, false);
  if (prefix.payload_summed) outgoing.sum.resize(kPayloadSumBytes);
  if (prefix.codec != PayloadCodec::kNone) {
    outgoing.to_pack.emplace(outgoing.message.payload, prefix.codec);
    return;
  }
  (void)outgoing.message.payload.ForEachPiece([&](std::string_view piece) {
    add(piece, prefix.payload_summed);
    return absl::OkStatus();
  });
  AddSum(outgoing);
}

void MessageWriter::AddSum(Outgoing& outgoing) {
  const std::string_view sum = outgoing.sum;
  if (!sum.empty()) outgoing.pieces.push_back({.bytes = sum, .summed = sum.size()});
}

// Adds the next chunk of a payload; nothing where there is none, or enough was packed.
bool MessageWriter::Pack(Outgoing& outgoing) {
  if (!outgoing.to_pack || chunks_left_ == 0) return false;
  --chunks_left_;
  Chunker& to_pack = *outgoing.to_pack;
  const std::string& chunk =
      outgoing.packed.emplace_back(to_pack.Next(packers_.Of(to_pack.codec())));
  outgoing.pieces.push_back({.bytes = chunk, .summed = chunk.size()});
  if (!to_pack.done()) return true;
  outgoing.crc = to_pack.crc();
  outgoing.to_pack.reset();
  AddSum(outgoing);
  return true;
}

void MessageWriter::AddToSum(Outgoing& outgoing, Piece& piece, size_t end) {
  if (end <= piece.summed) return;
  outgoing.crc =
      codec::Crc32c(piece.bytes.substr(piece.summed, end - piece.summed), outgoing.crc);
  piece.summed = end;
}

bool MessageWriter::GatherPiece(Outgoing& outgoing, Piece& piece, size_t begin,
                                int64_t& left) {
  const size_t size = std::min(piece.bytes.size() - begin, static_cast<size_t>(left));
  if (!outgoing.sum.empty() && piece.bytes.data() == outgoing.sum.data()) {
    // All pieces before it were handed out: the checksum is complete.
    std::string sum;
    codec::PutNumber(outgoing.crc, kPayloadSumBytes, sum);
    std::ranges::copy(sum, outgoing.sum.begin());
  }
  AddToSum(outgoing, piece, begin + size);
  // The kernel only reads, though the type does not say so.
  gathered_.push_back({const_cast<char*>(piece.bytes.data()) + begin, size});
  left -= static_cast<int64_t>(size);
  return left > 0 && gathered_.size() < kPiecesMax;
}

absl::Span<const iovec> MessageWriter::Gather(int64_t bytes_max) {
  CHECK_GT(bytes_max, 0);
  gathered_.clear();
  size_t begin = offset_;
  bool more = true;
  chunks_left_ = kChunksOfGather;
  for (auto outgoing = queue_.begin(); more && outgoing != queue_.end(); ++outgoing) {
    size_t i = outgoing->done;
    for (; more && (i < outgoing->pieces.size() || Pack(*outgoing)); ++i) {
      more = GatherPiece(*outgoing, outgoing->pieces[i], std::exchange(begin, 0),
                         bytes_max);
    }
    more = more && !outgoing->to_pack;  // What follows comes behind all of it.
  }
  return gathered_;
}

int64_t MessageWriter::Written(int64_t bytes) {
  int64_t finished = 0;
  while (bytes > 0) {
    CHECK(!queue_.empty());
    Outgoing& first = queue_.front();
    const auto left = static_cast<int64_t>(first.pieces[first.done].bytes.size()) -
                      static_cast<int64_t>(offset_);
    if (bytes < left) {
      offset_ += static_cast<size_t>(bytes);
      return finished;
    }
    bytes -= left;
    offset_ = 0;
    if (IsChunk(first, first.pieces[first.done])) first.packed.pop_front();
    ++first.done;
    if (HasMore(first)) continue;
    finished += BytesOf(first.message);
    queue_.pop_front();
  }
  return finished;
}

}  // namespace millrace::transport
