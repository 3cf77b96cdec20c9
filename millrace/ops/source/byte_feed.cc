#include "millrace/ops/source/byte_feed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/decompress.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

constexpr int64_t kPieceBytes = 256 << 10;
// Read behind long content, to find the next row: what is read here is copied once.
constexpr int64_t kGlanceBytes = 16 << 10;

std::unique_ptr<codec::Decompressor> DecompressorFor(const storage::BlobInfo& file) {
  const codec::Compression compression = codec::CompressionOfName(file.path);
  if (compression == codec::Compression::kNone) return nullptr;
  return codec::MakeDecompressor(compression);
}

absl::Span<std::byte> Part(core::Buffer& buffer, int64_t begin, int64_t end) {
  return absl::Span<std::byte>(buffer.mutable_data() + begin, end - begin);
}

}  // namespace

ByteFeed::ByteFeed(const storage::BlobStore& store, storage::BlobInfo file,
                   const FeedOptions& options, core::Pool& pool)
    : store_(store),
      file_(std::move(file)),
      options_(options),
      pool_(pool),
      unfold_(DecompressorFor(file_)),
      offset_(options.begin),
      read_(options.begin) {
  CHECK(!compressed() || options.begin == 0);
}

std::string_view ByteFeed::window() const {
  return room_.text().substr(begin_, end_ - begin_);
}

bool ByteFeed::is_rest() const {
  return compressed() ? unfolded_all_ : read_ >= options_.end;
}

absl::Status ByteFeed::Fetch() {
  if (blob_ == nullptr) blob_ = TRY(store_.Open(file_));
  return (compressed() ? FetchPiece(Waiting::kAllowed) : FetchPlain(Waiting::kAllowed))
      .status();
}

absl::StatusOr<bool> ByteFeed::FetchNow() {
  if (blob_ == nullptr) return false;
  return compressed() ? FetchPiece(Waiting::kNone) : FetchPlain(Waiting::kNone);
}

// Reads where reading goes on; less than there is room for only where more takes
// waiting.
absl::StatusOr<int64_t> ByteFeed::Read(absl::Span<std::byte> first,
                                       absl::Span<std::byte> second, Waiting waiting) {
  const int64_t got = waiting == Waiting::kAllowed
                          ? TRY(blob_->Read(read_, first, second))
                          : TRY(blob_->ReadNow(read_, first, second));
  CHECK(waiting == Waiting::kNone || got == std::ssize(first) + std::ssize(second));
  read_ += got;
  return got;
}

absl::StatusOr<bool> ByteFeed::FetchPlain(Waiting waiting) {
  const int64_t left = options_.end - read_;
  if (!filling() && (left <= 0 || end_ - begin_ >= wanted_)) return true;
  TRY(MakeRoom());
  absl::Span<std::byte> behind = RoomBehind();
  // Behind long content there is probably more of it, which wants its own place.
  if (filled_place_)
    behind = behind.first(std::min<size_t>(behind.size(), kGlanceBytes));
  behind = behind.first(
      std::clamp<int64_t>(left - std::ssize(place_), 0, std::ssize(behind)));
  const int64_t got = TRY(Read(place_, behind, waiting));
  const int64_t in_place = std::min<int64_t>(got, std::ssize(place_));
  offset_ += in_place;
  end_ += got - in_place;
  place_.remove_prefix(in_place);
  return !filling() && (end_ - begin_ >= wanted_ || read_ >= options_.end);
}

absl::StatusOr<bool> ByteFeed::FetchPiece(Waiting waiting) {
  if (piece_begin_ < piece_end_ || read_ >= file_.bytes) return true;
  if (piece_.size() == 0) {
    piece_ = TRY(pool_.Allocate(std::min(kPieceBytes, file_.bytes)));
  }
  const int64_t size = std::min(piece_.size(), file_.bytes - read_);
  const int64_t got = TRY(Read(Part(piece_, 0, size), {}, waiting));
  piece_begin_ = 0;
  piece_end_ = got;
  return got > 0;
}

// Makes room behind the window for what is wanted: in its buffer, or in a new one,
// since what was in the window before may still be in use.
absl::Status ByteFeed::MakeRoom() {
  const int64_t have = end_ - begin_;
  const int64_t least = std::max(wanted_, have + kGlanceBytes);
  if (room_.size() - begin_ >= least) return absl::OkStatus();
  core::Buffer next = TRY(pool_.Allocate(std::max({RoomWanted(), wanted_, have + 1})));
  if (have > 0) std::memcpy(next.mutable_data(), room_.data() + begin_, have);
  room_ = std::move(next);
  begin_ = 0;
  end_ = have;
  return absl::OkStatus();
}

// A window's worth, or less where there is less to read.
int64_t ByteFeed::RoomWanted() const {
  if (compressed()) return options_.window_bytes;
  return std::min(options_.window_bytes, end_ - begin_ + options_.end - read_);
}

absl::Span<std::byte> ByteFeed::RoomBehind() { return Part(room_, end_, room_.size()); }

absl::Status ByteFeed::Unfold() {
  while (compressed() && !unfolded_all_) {
    if (!filling() && to_pass_ == 0 && end_ - begin_ >= wanted_) break;
    TRY(MakeRoom());
    const absl::Span<std::byte> room = filling() ? place_ : RoomBehind();
    const std::string_view piece =
        piece_.text().substr(piece_begin_, piece_end_ - piece_begin_);
    const codec::Progress done = TRY(unfold_->Run(piece, room));
    piece_begin_ += done.taken;
    TRY(TakeUnfolded(done.given));
    if (done.given == std::ssize(room)) continue;
    if (piece_begin_ < piece_end_ && done.taken > 0) continue;
    if (read_ < file_.bytes) break;
    TRY(unfold_->Finish());
    unfolded_all_ = true;
    if (filling() || to_pass_ > 0) return EndsEarly();
  }
  return absl::OkStatus();
}

absl::Status ByteFeed::TakeUnfolded(int64_t size) {
  if (filling()) {
    place_.remove_prefix(size);
    offset_ += size;
    return absl::OkStatus();
  }
  end_ += size;
  const int64_t passed = std::min(size, to_pass_);
  to_pass_ -= passed;
  Drop(passed);
  return absl::OkStatus();
}

void ByteFeed::Drop(int64_t size) {
  begin_ += size;
  offset_ += size;
}

absl::Status ByteFeed::EndsEarly() const {
  return absl::DataLossError(base::StrCat(
      "file ends in the middle of a row, at byte ",
      compressed() ? offset_ + (end_ - begin_) : options_.end,
      compressed() ? " of its content" : "",
      ": it was not written to its end or not copied whole; make it anew"));
}

absl::Status ByteFeed::CheckHas(int64_t size) const {
  const int64_t behind = size - (end_ - begin_);
  const bool has =
      compressed() ? behind <= 0 || !unfolded_all_ : behind <= options_.end - read_;
  return has ? absl::OkStatus() : EndsEarly();
}

absl::Status ByteFeed::Pass(int64_t size) {
  TRY(CheckHas(size));
  const int64_t here = std::min(size, end_ - begin_);
  Drop(here);
  const int64_t behind = size - here;
  if (compressed()) {
    to_pass_ += behind;
  } else {
    read_ += behind;
    offset_ += behind;
  }
  return absl::OkStatus();
}

absl::Status ByteFeed::FillPlace(absl::Span<std::byte> room) {
  CHECK(!filling() && !passing());
  TRY(CheckHas(std::ssize(room)));
  const int64_t here = std::min<int64_t>(std::ssize(room), end_ - begin_);
  if (here > 0) std::memcpy(room.data(), room_.data() + begin_, here);
  Drop(here);
  place_ = room.subspan(here);
  filled_place_ = filling();
  return absl::OkStatus();
}

}  // namespace millrace::ops
