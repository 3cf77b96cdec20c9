// A block as bytes: for caches and files, later for shared memory and the wire.
//
//   head:  mark, sizes and checksums (64 bytes), what columns there are, padding
//   body:  the columns' buffers, each at a multiple of 64 bytes
//
// Encoding copies no values: a frame is a list of pieces to be written one after the
// other. Decoding copies none either: columns are slices of the one buffer that the
// frame was read into. Numbers are little end first. What is decoded may come from
// anywhere: nothing is believed before it is checked. Pure.
//
//   const Frame frame = TRY(Encode(block, pool));
//   frame.ForEachPiece([&](std::string_view piece) { out.append(piece); });
//   ...
//   const FrameSize size = TRY(ReadSize(first_64_bytes));   // How much to read.
//   const core::Block block = TRY(Decode(all_bytes));
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"

namespace millrace::frames {

// Every frame, every buffer in it and its size are multiples of this.
inline constexpr int64_t kFrameAlignment = 64;

// What a buffer of so many bytes takes in a frame, with the zeros behind it.
inline constexpr int64_t PaddedBytes(int64_t bytes) {
  return (bytes + kFrameAlignment - 1) / kFrameAlignment * kFrameAlignment;
}

// Where the head begins with what says how large all of it is.
inline constexpr int64_t kPreambleBytes = 64;

class Frame {
 public:
  // Requires: whole multiples of the alignment in the head.
  Frame(std::string head, std::vector<core::Buffer> body, int64_t rows);

  // Requires: it had none; whole multiples of the alignment.
  void SetHead(std::string head);

  int64_t rows() const { return rows_; }

  int64_t bytes() const { return bytes_; }

  std::string_view head() const { return head_; }

  // The buffers behind the head; each is followed by zeros up to a multiple of the
  // alignment.
  const std::vector<core::Buffer>& body() const { return body_; }

  // Gives all bytes, in order. Stops at the first error.
  absl::Status ForEachPiece(
      absl::FunctionRef<absl::Status(std::string_view)> take) const;

  // Requires: room for all bytes.
  void CopyTo(std::byte* to) const;

 private:
  std::string head_;
  std::vector<core::Buffer> body_;  // Each is followed by zeros.
  int64_t bytes_ = 0;
  int64_t rows_ = 0;
};

// What has a checksum: all of a frame, or its head alone, for memory that processes of
// one machine share, where values do not change on their way.
enum class Summed : uint8_t { kAll, kHead };

// Makes a frame of a block. The block's buffers stay in use while the frame lives.
// Offsets of what is a part of more, and texts with gaps between them, are copied.
absl::StatusOr<Frame> Encode(const core::Block& block, core::Pool& pool,
                             Summed summed = Summed::kAll);

// What the first bytes of a frame say.
struct FrameSize {
  int64_t bytes = 0;
  int64_t rows = 0;

  friend bool operator==(const FrameSize&, const FrameSize&) = default;
};

// Reads that. DataLoss where they are no frame's. Requires: kPreambleBytes of them.
absl::StatusOr<FrameSize> ReadSize(std::string_view preamble);

// Makes a block of a frame, of slices of it. DataLoss where it is damaged.
// Requires: it begins at a multiple of kFrameAlignment; it was made with these sums.
absl::StatusOr<core::Block> Decode(const core::Buffer& frame,
                                   Summed summed = Summed::kAll);

// The same of a frame whose body came in parts, one after another: each is some of the
// body's buffers with the zeros behind them; behind the last of a part these may be
// missing. Who can write to a part may do so meanwhile: offsets are copied before they
// are believed. DataLoss also where a part does not begin at a multiple of
// kFrameAlignment. Requires: `head` does; the frame was made with Summed::kHead.
absl::StatusOr<core::Block> DecodeParts(const core::Buffer& head,
                                        std::vector<core::Buffer> body);

}  // namespace millrace::frames
