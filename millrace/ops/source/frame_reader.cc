#include "millrace/ops/source/frame_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"

namespace millrace::ops {

FrameReader::FrameReader(FramesToRead from, const lanes::RowRange& rows,
                         core::Pool& pool)
    : from_(std::move(from)), rows_(rows), pool_(pool) {}

absl::Status FrameReader::Fetch() {
  TRY(Begin());
  if (ended() || fetched_) return absl::OkStatus();
  TRY(MakeRoom());
  const absl::Status read = run_->Read(frame_, bytes_.MutableAs<std::byte>());
  if (!read.ok()) return Named(read);
  fetched_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> FrameReader::FetchNow() {
  if (run_ == nullptr && from_.waits) return false;
  TRY(Begin());
  if (ended() || fetched_) return true;
  TRY(MakeRoom());
  const absl::StatusOr<int64_t> got =
      run_->ReadNow(frame_, bytes_.MutableAs<std::byte>());
  if (!got.ok()) return Named(got.status());
  fetched_ = *got == bytes_.size();
  return fetched_;
}

absl::StatusOr<std::optional<core::Block>> FrameReader::Next(BadRows& /*bad_rows*/) {
  if (!fetched_) TRY(Fetch());  // Who never waits need not call it.
  if (ended()) return std::nullopt;
  const absl::StatusOr<core::Block> block = frames::Decode(bytes_);
  if (!block.ok()) return Named(block.status());
  if (block->rows() != run_->frames()[frame_].rows) {
    return Named(absl::DataLossError("a frame has other rows than the table says"));
  }
  const int64_t begin = std::max<int64_t>(rows_.begin - row_, 0);
  const int64_t end = std::min(block->rows(), rows_.end - row_);
  row_ += block->rows();
  ++frame_;
  fetched_ = false;
  bytes_ = {};
  return block->Slice(begin, end - begin);
}

int64_t FrameReader::next_row() const { return std::max(row_, rows_.begin); }

// Opens the frames, and passes over those before the first row.
absl::Status FrameReader::Begin() {
  if (run_ != nullptr) return absl::OkStatus();
  run_ = TRY(from_.open());
  while (!ended() && row_ + run_->frames()[frame_].rows <= rows_.begin) {
    row_ += run_->frames()[frame_].rows;
    ++frame_;
  }
  return absl::OkStatus();
}

bool FrameReader::ended() const {
  return frame_ == std::ssize(run_->frames()) || row_ >= rows_.end;
}

absl::Status FrameReader::MakeRoom() {
  const int64_t size = run_->frames()[frame_].bytes;
  if (bytes_.size() != size) bytes_ = TRY(pool_.Allocate(size));
  return absl::OkStatus();
}

absl::Status FrameReader::Named(const absl::Status& status) const {
  return base::Annotate(status, base::StrCat("frame ", frame_, " of ", run_->name()));
}

}  // namespace millrace::ops
