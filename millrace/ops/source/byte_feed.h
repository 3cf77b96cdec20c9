// Brings in the content of a file, piece by piece, decompressed where it is compressed.
// What was brought in and not yet used is the window. Readers look for rows in it, pass
// over bytes, ask for more, or have long content written straight to its own place.
// Two halves, as readers have: Fetch waits for the disk, all else is memory. Holds one
// window and, of a compressed file, one piece of it. Single-threaded.
//
//   Fetch ──► [read]                   ┐ plain: straight into the window, or the place
//   Unfold ──► window, place ──► rows  ┘ of long content; compressed: via a piece
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/codec/decompress.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {

struct FeedOptions {
  int64_t begin = 0;  // The part of the file to read; of a compressed one, all.
  int64_t end = 0;
  int64_t window_bytes = 1 << 20;  // About as much is read at once.
};

class ByteFeed {
 public:
  // Opens nothing yet. Requires: the store and the pool outlive it.
  ByteFeed(const storage::BlobStore& store, storage::BlobInfo file,
           const FeedOptions& options, core::Pool& pool);

  // Reads what was asked for last, when it is not there yet.
  absl::Status Fetch();

  // Does as much of that as takes no waiting; tells whether it was all.
  absl::StatusOr<bool> FetchNow();

  // Makes what was read usable. DataLoss when it cannot be decompressed.
  absl::Status Unfold();

  // What comes next, and whether that is all there is.
  std::string_view window() const;
  bool is_rest() const;

  // Where the window lies: in this buffer, from this byte of it on. Who keeps the
  // buffer keeps what is in the window now; the feed goes on in another.
  const core::Buffer& room() const { return room_; }

  int64_t begin() const { return begin_; }

  // Asks for a window of this many bytes, at least.
  void Want(int64_t size) { wanted_ = size; }

  // Passes over bytes, in the window or behind it. DataLoss when there are fewer.
  absl::Status Pass(int64_t size);

  // Tells whether there are so many bytes, as far as that is known: DataLoss when not.
  absl::Status CheckHas(int64_t size) const;

  // Has the next `room.size()` bytes written there: what the window has at once, the
  // rest by and by, while `filling()`. Requires: CheckHas, not filling() or passing().
  absl::Status FillPlace(absl::Span<std::byte> room);

  bool filling() const { return !place_.empty(); }

  // Bytes are being passed over that are not there yet: nothing else can be done.
  bool passing() const { return to_pass_ > 0; }

  // Where the window begins, counted in content.
  int64_t offset() const { return offset_; }

 private:
  bool compressed() const { return unfold_ != nullptr; }

  enum class Waiting : uint8_t { kAllowed, kNone };

  absl::StatusOr<bool> FetchPlain(Waiting waiting);
  absl::StatusOr<bool> FetchPiece(Waiting waiting);
  absl::StatusOr<int64_t> Read(absl::Span<std::byte> first,
                               absl::Span<std::byte> second, Waiting waiting);
  absl::Status MakeRoom();
  absl::Span<std::byte> RoomBehind();
  int64_t RoomWanted() const;
  absl::Status EndsEarly() const;
  absl::Status TakeUnfolded(int64_t size);
  void Drop(int64_t size);

  const storage::BlobStore& store_;
  const storage::BlobInfo file_;
  const FeedOptions options_;
  core::Pool& pool_;
  const std::unique_ptr<codec::Decompressor> unfold_;
  std::unique_ptr<storage::Blob> blob_;

  core::Buffer room_;  // The window is [begin_, end_) of it.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t offset_;
  int64_t wanted_ = 1;
  absl::Span<std::byte> place_;  // What is left to fill of long content.
  bool filled_place_ = false;    // The last bytes went there: expect more such.
  int64_t to_pass_ = 0;          // Of compressed content, behind the window.

  int64_t read_;  // Where reading goes on in the file.
  core::Buffer
      piece_;  // Compressed bytes, of which [piece_begin_, piece_end_) are left.
  int64_t piece_begin_ = 0;
  int64_t piece_end_ = 0;
  bool unfolded_all_ = false;
};

}  // namespace millrace::ops
