#include "millrace/adapters/arrow/part_bytes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {

std::vector<Fetched> PartBytes::Release() {
  const base::MutexLock lock(&mutex_);
  CHECK(state_ == State::kThere) << "the bytes were not fetched";
  std::vector<Fetched> fetched;
  fetched.reserve(pieces_.size());
  for (Piece& piece : pieces_) {
    fetched.push_back({.place = piece.needed.place, .bytes = std::move(piece.bytes)});
  }
  pieces_.clear();
  return fetched;
}

absl::StatusOr<bool> PartBytes::FetchPieces(bool waits) {
  const base::MutexLock lock(&mutex_);
  while (state_ != State::kThere) {
    if (state_ == State::kClosed) {
      TRY(Open());
    } else if (Piece* const piece = FreePiece()) {
      if (!TRY(Fill(*piece, waits))) return false;
    } else if (waits) {
      changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
    } else {
      return false;
    }
  }
  return true;
}

// One that is wanted, and that nobody is at.
PartBytes::Piece* PartBytes::FreePiece() {
  if (state_ != State::kOpen) return nullptr;
  const auto found = std::ranges::find_if(pieces_, [](const Piece& piece) {
    return !piece.busy && piece.filled < piece.needed.size;
  });
  return found == pieces_.end() ? nullptr : &*found;
}

void PartBytes::NoteIfThere() {
  const bool all = std::ranges::all_of(pieces_, [](const Piece& piece) {
    return !piece.busy && piece.filled == piece.needed.size;
  });
  if (!all) return;
  state_ = State::kThere;
  blob_ = nullptr;
}

// Without the lock, which others need who only ask.
absl::Status PartBytes::Open() {
  state_ = State::kOpening;
  mutex_.Unlock();
  absl::StatusOr<std::vector<Needed>> needed =
      file_.NeededFor(place_.part, place_.fields);
  absl::StatusOr<std::unique_ptr<storage::Blob>> blob = store_.Open(file_.info());
  mutex_.Lock();
  changed_.NotifyAll();
  state_ = State::kClosed;
  TRY(needed.status());
  TRY(blob.status());
  state_ = State::kOpen;
  blob_ = *std::move(blob);
  for (const Needed& one : *needed) pieces_.push_back({.needed = one});
  NoteIfThere();
  return absl::OkStatus();
}

absl::StatusOr<bool> PartBytes::Fill(Piece& piece, bool waits) {
  piece.busy = true;
  const storage::Blob& blob = *blob_;
  mutex_.Unlock();
  absl::StatusOr<bool> filled = Read(blob, piece, waits);
  mutex_.Lock();
  piece.busy = false;
  changed_.NotifyAll();
  NoteIfThere();
  return filled;
}

// Goes on where the last one stopped.
absl::StatusOr<bool> PartBytes::Read(const storage::Blob& blob, Piece& piece,
                                     bool waits) const {
  const Needed& needed = piece.needed;
  if (piece.filled == 0) piece.bytes = TRY(pool_.Allocate(needed.size));
  const absl::Span<std::byte> room(piece.bytes.mutable_data(), needed.size);
  while (piece.filled < needed.size) {
    const int64_t offset = needed.offset + piece.filled;
    const absl::Span<std::byte> rest = room.subspan(piece.filled);
    const int64_t got =
        TRY(waits ? blob.Read(offset, rest) : blob.ReadNow(offset, rest));
    if (got == 0 && !waits) return false;
    if (got == 0) {
      return absl::FailedPreconditionError(
          base::StrCat("the file has become shorter; file ", file_.info().path));
    }
    piece.filled += got;
  }
  return true;
}

}  // namespace millrace::arrow
