#include "millrace/ops/source/byte_feed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/codec/decompress.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/stretch.h"
#include "millrace/storage/blob_store.h"

namespace millrace::ops {
namespace {

constexpr int64_t kPieceBytes = 256 << 10;
// A room with less left than this is not filled further.
constexpr int64_t kLeastRoom = 16 << 10;
// Read behind long content, to find the next row: there is probably more such behind.
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
      since_long_(options.end - options.begin > options.window_bytes ? 0
                                                                     : kGlanceBytes),
      read_(options.begin) {
  CHECK(!compressed() || options.begin == 0);
}

std::string_view ByteFeed::window() const {
  return room_.text().substr(begin_, end_ - begin_);
}

bool ByteFeed::is_rest() const {
  return compressed() ? unfolded_all_ : read_ >= options_.end && ahead_.empty();
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

std::shared_ptr<FetchAhead> ByteFeed::Ahead() {
  if (blob_ == nullptr || read_ >= read_end() || expects_long()) return nullptr;
  const int64_t at_once =
      compressed() ? kPieceBytes : options_.window_bytes - headroom();
  const int64_t size = std::min(at_once, read_end() - read_);
  ahead_.push_back(std::make_shared<Stretch>(
      blob_,
      Stretch::Place{
          .offset = read_, .size = size, .headroom = headroom() + AlignedPlace(read_)},
      pool_));
  read_ += size;
  return ahead_.back();
}

absl::StatusOr<std::shared_ptr<Stretch>> ByteFeed::TakeAhead() {
  std::shared_ptr<Stretch> stretch = std::move(ahead_.front());
  ahead_.pop_front();
  TRY(stretch->status());
  return stretch;
}

// Reads where reading goes on; less than there is room for only where more takes
// waiting.
absl::StatusOr<int64_t> ByteFeed::Read(absl::Span<std::byte> room, Waiting waiting) {
  const int64_t got = waiting == Waiting::kAllowed ? TRY(blob_->Read(read_, room))
                                                   : TRY(blob_->ReadNow(read_, room));
  CHECK(waiting == Waiting::kNone || got == std::ssize(room));
  read_ += got;
  return got;
}

absl::StatusOr<bool> ByteFeed::FetchPlain(Waiting waiting) {
  if (!passing() && end_ - begin_ >= wanted_) return true;
  if (!ahead_.empty()) {
    TRY(TakeWindow(*TRY(TakeAhead())));
    return true;
  }
  const int64_t left = options_.end - read_;
  if (left <= 0) return true;
  TRY(MakeRoom());
  const absl::Span<std::byte> room = RoomBehind();
  const int64_t most = expects_long() ? std::max(wanted_, kGlanceBytes) : left;
  Add(TRY(Read(room.first(std::min({left, most, std::ssize(room)})), waiting)));
  return end_ - begin_ >= wanted_ || read_ >= options_.end;
}

// Goes on in what was fetched ahead, with what is left of the window in front of it.
absl::Status ByteFeed::TakeWindow(const Stretch& stretch) {
  const int64_t have = end_ - begin_;
  core::Buffer next = stretch.room();
  int64_t begin = stretch.headroom() - have;
  if (begin < 0) {
    begin = 0;
    next = TRY(pool_.Allocate(have + stretch.size()));
    std::memcpy(next.mutable_data() + have, stretch.room().data() + stretch.headroom(),
                stretch.size());
  }
  if (have > 0) {
    std::memcpy(next.mutable_data() + begin, room_.data() + begin_, have);
  }
  room_ = std::move(next);
  begin_ = begin;
  end_ = begin + have;
  Add(stretch.size());
  return absl::OkStatus();
}

absl::StatusOr<bool> ByteFeed::FetchPiece(Waiting waiting) {
  if (piece_begin_ < piece_end_) return true;
  if (!ahead_.empty()) {
    const std::shared_ptr<Stretch> stretch = TRY(TakeAhead());
    piece_ = stretch->room();
    piece_begin_ = 0;
    piece_end_ = stretch->size();
    return true;
  }
  if (read_ >= file_.bytes) return true;
  const int64_t size = std::min(kPieceBytes, file_.bytes - read_);
  if (piece_.size() < size) piece_ = TRY(pool_.Allocate(size));
  piece_end_ = TRY(Read(Part(piece_, 0, size), waiting));
  piece_begin_ = 0;
  return piece_end_ > 0;
}

// Makes room behind the window for what is wanted: in its buffer, or in a new one,
// since what was in the window before may still be in use.
absl::Status ByteFeed::MakeRoom() {
  const int64_t have = end_ - begin_;
  const int64_t least = std::max(wanted_, have + kLeastRoom);
  if (room_.size() - begin_ >= least) return absl::OkStatus();
  const int64_t begin = AlignedPlace(read_ - have);
  const int64_t size = std::max({RoomWanted(), wanted_, have + 1});
  core::Buffer next = TRY(pool_.Allocate(begin + size));
  if (have > 0) std::memcpy(next.mutable_data() + begin, room_.data() + begin_, have);
  room_ = std::move(next);
  begin_ = begin;
  end_ = begin + have;
  return absl::OkStatus();
}

// A window's worth, or less where there is less to read.
int64_t ByteFeed::RoomWanted() const {
  if (compressed()) return options_.window_bytes;
  if (expects_long()) return kGlanceBytes;
  return std::min(options_.window_bytes, end_ - begin_ + options_.end - read_);
}

absl::Span<std::byte> ByteFeed::RoomBehind() { return Part(room_, end_, room_.size()); }

absl::Status ByteFeed::Unfold() {
  while (compressed() && !unfolded_all_) {
    if (!passing() && end_ - begin_ >= wanted_) break;
    TRY(MakeRoom());
    const absl::Span<std::byte> room = RoomBehind();
    const std::string_view piece =
        piece_.text().substr(piece_begin_, piece_end_ - piece_begin_);
    const codec::Progress done = TRY(unfold_->Run(piece, room));
    piece_begin_ += done.taken;
    Add(done.given);
    if (done.given == std::ssize(room)) continue;
    if (piece_begin_ < piece_end_ && done.taken > 0) continue;
    if (read_ < file_.bytes || !ahead_.empty()) break;
    TRY(unfold_->Finish());
    unfolded_all_ = true;
    if (passing()) return EndsEarly();
  }
  return absl::OkStatus();
}

// Takes bytes in that were written behind the window, but for those to pass over.
void ByteFeed::Add(int64_t size) {
  end_ += size;
  const int64_t passed = std::min(size, to_pass_);
  to_pass_ -= passed;
  Drop(passed);
}

void ByteFeed::Drop(int64_t size) {
  begin_ += size;
  offset_ += size;
  since_long_ += size;
}

bool ByteFeed::expects_long() const { return since_long_ < kGlanceBytes; }

absl::Status ByteFeed::EndsEarly() const {
  return absl::DataLossError(base::StrCat(
      "file ends in the middle of a row, at byte ",
      compressed() ? offset_ + (end_ - begin_) : options_.end,
      compressed() ? " of its content" : "",
      ": it was not written to its end or not copied whole; make it anew"));
}

absl::Status ByteFeed::CheckHas(int64_t size) const {
  const bool has = compressed() ? size <= end_ - begin_ || !unfolded_all_
                                : size <= options_.end - offset_;
  return has ? absl::OkStatus() : EndsEarly();
}

absl::Status ByteFeed::Pass(int64_t size) {
  TRY(CheckHas(size));
  const int64_t here = std::min(size, end_ - begin_);
  Drop(here);
  const int64_t behind = size - here;
  if (compressed() || !ahead_.empty()) {
    to_pass_ += behind;
  } else {  // There is no need to read it.
    read_ += behind;
    offset_ += behind;
  }
  return absl::OkStatus();
}

absl::StatusOr<SetApart> ByteFeed::PassApart(int64_t size, bool sums) {
  TRY(CheckHas(size));
  const int64_t begin = AlignedPlace(offset_);
  const int64_t here = std::min(size, end_ - begin_);
  core::Buffer room = TRY(pool_.Allocate(begin + size));
  if (here > 0) {
    std::memcpy(room.mutable_data() + begin, room_.data() + begin_, here);
  }
  Stretch::Place rest = {
      .offset = offset_ + here, .size = size - here, .headroom = begin + here};
  if (sums) rest.sum_before = codec::Crc32c(window().substr(0, here));
  TRY(Pass(size));
  since_long_ = 0;
  return SetApart{.room = room,
                  .begin = begin,
                  .rest = std::make_shared<Stretch>(blob_, rest, std::move(room))};
}

}  // namespace millrace::ops
