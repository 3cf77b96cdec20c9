// Messages to be sent, as the bytes to write: says what comes next, as a list of pieces
// for one gather write, and is told how much of it was taken. Copies no payload, unless
// it is compressed. Checksums and compressed chunks are computed as pieces are handed
// out, just before the kernel reads the same bytes. Of one thread.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

#include "millrace/transport/channel.h"
#include "millrace/transport/chunks.h"
#include "millrace/transport/prefix.h"

namespace millrace::transport {

class MessageWriter {
 public:
  // Whether payloads get checksums from now on.
  void set_sums(bool sums) { sums_ = sums; }

  // How payloads of some size are compressed from now on.
  void set_codec(PayloadCodec codec) { codec_ = codec; }

  PayloadCodec codec() const { return codec_; }

  // Messages whose payloads were, or will be, compressed.
  int64_t packed_messages() const { return packed_messages_; }

  // Requires: a head of at most kHeadBytesMax.
  void Add(Message message);
  void AddPing();

  bool empty() const { return queue_.empty(); }

  // Gives what is to be written next, in order, at most so many bytes. Valid until the
  // next call of anything else here.
  absl::Span<const iovec> Gather(int64_t bytes_max);

  // Drops the first bytes of that; gives how many of them were of messages that Add
  // got, as BytesOf counts.
  int64_t Written(int64_t bytes);

  // What a message counts for: its head and payload.
  static int64_t BytesOf(const Message& message);

 private:
  struct Piece {
    std::string_view bytes;
    size_t summed = 0;  // How much of it is in the checksum already.
  };

  // Its pieces point into it: it stays where it is.
  struct Outgoing {
    Message message;
    std::string prefix;
    std::string sum;  // Of the payload; filled when all of it was handed out.
    absl::InlinedVector<Piece, 8> pieces;
    uint32_t crc = 0;
    size_t done = 0;                      // Pieces that were written.
    std::optional<Chunker> to_pack = {};  // What follows the pieces.
    std::list<std::string> packed = {};   // Chunks among them; not written yet.
  };

  static constexpr size_t kPiecesMax = 256;

  static bool HasMore(const Outgoing& outgoing) {
    return outgoing.done < outgoing.pieces.size() || outgoing.to_pack.has_value();
  }

  static bool IsChunk(const Outgoing& outgoing, const Piece& piece) {
    return !outgoing.packed.empty() &&
           piece.bytes.data() == outgoing.packed.front().data();
  }

  static void FillPieces(Outgoing& outgoing, const Prefix& prefix);
  static void AddSum(Outgoing& outgoing);
  bool Pack(Outgoing& outgoing);
  static void AddToSum(Outgoing& outgoing, Piece& piece, size_t end);
  bool GatherPiece(Outgoing& outgoing, Piece& piece, size_t begin, int64_t& left);

  bool sums_ = true;
  PayloadCodec codec_ = PayloadCodec::kNone;
  Packers packers_;
  int64_t packed_messages_ = 0;
  int chunks_left_ = 0;  // That may still be packed in this call of Gather.
  std::deque<Outgoing> queue_;
  size_t offset_ = 0;  // In the first piece that is not done.
  std::vector<iovec> gathered_;
};

}  // namespace millrace::transport
