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

int64_t MessageWriter::BytesOf(const Message& message) {
  return std::ssize(message.head) + message.payload.bytes();
}

void MessageWriter::Add(Message message) {
  CHECK_LE(message.head.size(), kHeadBytesMax);
  Outgoing& outgoing = queue_.emplace_back();
  outgoing.message = std::move(message);
  const Message& kept = outgoing.message;
  FillPieces(outgoing, {.payload_summed = sums_ && kept.payload.bytes() > 0,
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
  (void)outgoing.message.payload.ForEachPiece([&](std::string_view piece) {
    add(piece, prefix.payload_summed);
    return absl::OkStatus();
  });
  if (!prefix.payload_summed) return;
  outgoing.sum.resize(kPayloadSumBytes);
  add(outgoing.sum, false);
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
  if (piece.bytes.data() == outgoing.sum.data()) {
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
  for (auto outgoing = queue_.begin(); more && outgoing != queue_.end(); ++outgoing) {
    for (size_t i = outgoing->done; more && i < outgoing->pieces.size(); ++i) {
      more = GatherPiece(*outgoing, outgoing->pieces[i], std::exchange(begin, 0),
                         bytes_max);
    }
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
    if (++first.done < first.pieces.size()) continue;
    finished += BytesOf(first.message);
    queue_.pop_front();
  }
  return finished;
}

}  // namespace millrace::transport
