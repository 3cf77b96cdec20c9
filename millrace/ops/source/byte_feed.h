// Brings in the content of a file, piece by piece, decompressed where it is compressed.
// What was brought in and not yet used is the window. Readers look for rows in it, pass
// over bytes, ask for more, or have long content set apart. Two halves, as readers
// have: Fetch waits for the disk, all else is memory. Stretches of the file may be
// fetched ahead, by others. Holds one window, what was fetched ahead and, of a
// compressed file, one piece of it. Single-threaded.
//
//   Fetch ──► [read]  ┐ plain: into the window; compressed: into a piece
//   Unfold ──► window ┘ plain: nothing to do
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/codec/decompress.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/stretch.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {

struct FeedOptions {
  int64_t begin = 0;  // The part of the file to read; of a compressed one, all.
  int64_t end = 0;
  int64_t window_bytes = 2 << 20;  // About as much is read at once.
};

// Long content in a room of its own, [begin, …) of it, that is yet to be fetched.
struct SetApart {
  core::Buffer room;
  int64_t begin = 0;
  std::shared_ptr<Stretch> rest;
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

  // The next stretch of the file, as Reader::Ahead says.
  std::shared_ptr<FetchAhead> Ahead();

  int64_t ahead() const { return std::ssize(ahead_); }

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

  // Passes over bytes that are to be fetched by themselves. DataLoss when there are
  // fewer, and summed up then where that is wanted. Requires: can_set_apart(), not
  // passing().
  absl::StatusOr<SetApart> PassApart(int64_t size, bool sums = false);

  // So much of a window fits in front of the next one, without moving that.
  int64_t headroom() const { return compressed() ? 0 : options_.window_bytes / 32; }

  bool can_set_apart() const { return !compressed(); }

  // Tells whether there are so many bytes, as far as that is known: DataLoss when not.
  absl::Status CheckHas(int64_t size) const;

  // Bytes are being passed over that are not there yet: nothing else can be done.
  bool passing() const { return to_pass_ > 0; }

  // Where the window begins, counted in content.
  int64_t offset() const { return offset_; }

 private:
  enum class Waiting : uint8_t { kAllowed, kNone };

  bool compressed() const { return unfold_ != nullptr; }

  // Where the bytes to read end, in the file.
  int64_t read_end() const { return compressed() ? file_.bytes : options_.end; }

  absl::StatusOr<bool> FetchPlain(Waiting waiting);
  absl::StatusOr<bool> FetchPiece(Waiting waiting);
  absl::StatusOr<int64_t> Read(absl::Span<std::byte> room, Waiting waiting);
  absl::StatusOr<std::shared_ptr<Stretch>> TakeAhead();
  absl::Status TakeWindow(const Stretch& stretch);
  absl::Status MakeRoom();
  absl::Span<std::byte> RoomBehind();
  int64_t RoomWanted() const;
  absl::Status EndsEarly() const;
  bool expects_long() const;
  void Add(int64_t size);
  void Drop(int64_t size);

  const storage::BlobStore& store_;
  const storage::BlobInfo file_;
  const FeedOptions options_;
  core::Pool& pool_;
  const std::unique_ptr<codec::Decompressor> unfold_;
  std::shared_ptr<const storage::Blob> blob_;

  core::Buffer room_;  // The window is [begin_, end_) of it.
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t offset_;
  int64_t wanted_ = 1;
  int64_t to_pass_ = 0;  // Behind the window.
  int64_t since_long_;   // Bytes passed; at the beginning long content may come too.

  int64_t read_;  // Where reading goes on in the file, behind all that is ahead.
  std::deque<std::shared_ptr<Stretch>> ahead_;
  core::Buffer piece_;  // Compressed: [piece_begin_, piece_end_) of it are left.
  int64_t piece_begin_ = 0;
  int64_t piece_end_ = 0;
  bool unfolded_all_ = false;
};

}  // namespace millrace::ops
