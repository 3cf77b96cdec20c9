// The bytes of a part on their way into memory: piece by piece, by all who come for
// them, so that several threads are done sooner. From any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/base/mutex.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

class PartBytes {
 public:
  // Which bytes: those of some fields of a part.
  struct Place {
    int64_t part = 0;
    std::vector<int64_t> fields;
  };

  // Requires: all outlive it.
  PartBytes(const ColumnarFile& file, Place place, const storage::BlobStore& store,
            core::Pool& pool)
      : file_(file), place_(std::move(place)), store_(store), pool_(pool) {}

  // Brings them in, and waits for the disk, or for those who are at it. What could not
  // be read is read again by whoever comes next.
  absl::Status Fetch() { return FetchPieces(/*waits=*/true).status(); }

  // Does as much of that as takes no waiting; gives whether all is there.
  absl::StatusOr<bool> FetchNow() { return FetchPieces(/*waits=*/false); }

  // Gives them away, once. Requires: all are there.
  std::vector<Fetched> Release();

 private:
  enum class State : uint8_t { kClosed, kOpening, kOpen, kThere };

  struct Piece {
    Needed needed;
    core::Buffer bytes = {};
    int64_t filled = 0;
    bool busy = false;
  };

  absl::StatusOr<bool> FetchPieces(bool waits);
  Piece* FreePiece() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteIfThere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> Fill(Piece& piece, bool waits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<bool> Read(const storage::Blob& blob, Piece& piece, bool waits) const;

  const ColumnarFile& file_;
  const Place place_;
  const storage::BlobStore& store_;
  core::Pool& pool_;

  base::Mutex mutex_;
  base::CondVar changed_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kClosed;
  std::unique_ptr<storage::Blob> blob_ ABSL_GUARDED_BY(mutex_);  // While kOpen.
  std::vector<Piece> pieces_ ABSL_GUARDED_BY(mutex_);  // A busy one is its thread's.
};

}  // namespace millrace::arrow
