#include "millrace/ops/source/scan_reader.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/crc32c.h"
#include "millrace/core/block.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/row_builder.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

using storage::Found;

// Content longer than this is read straight into its place; shorter is copied there
// from the window, which is cheaper than a call of the system for each.
constexpr int64_t kStraightBytes = 256 << 10;

}  // namespace

ScanReader::ScanReader(ScanPlan plan, std::unique_ptr<storage::RowScanner> scanner,
                       const lanes::RowRange& rows, const SourceContext& context)
    : plan_(std::move(plan)),
      scanner_(std::move(scanner)),
      rows_(rows),
      context_(context),
      feed_(context.blobs, plan_.file, plan_.feed, context.pool),
      builder_(plan_.spec, context),
      next_row_(plan_.row),
      ended_(rows.begin >= rows.end) {}

absl::Status ScanReader::Fetch() { return ended_ ? absl::OkStatus() : feed_.Fetch(); }

absl::StatusOr<std::optional<core::Block>> ScanReader::Next(BadRows& bad_rows) {
  TRY(TellBad(bad_rows));
  Step step = ended_ ? Step::kEnd : Step::kGoOn;
  if (!ended_) {
    const absl::Status unfolded = feed_.Unfold();
    if (!unfolded.ok()) step = TRY(Lose(unfolded));
    TRY(TellBad(bad_rows));
    feed_.Want(1);
  }
  while (step == Step::kGoOn) {
    step = TRY(TakeStep());
    TRY(TellBad(bad_rows));
  }
  if (step == Step::kEnd) {
    ended_ = true;
    if (builder_.rows() == 0) return std::nullopt;
  }
  // The content of an open row is in the builder: it waits for the rest of the row.
  if (step == Step::kNeedMore && row_open_) {
    return TRY(RowBuilder(plan_.spec, context_).TakeBlock(rows_.split));
  }
  return TRY(builder_.TakeBlock(rows_.split));
}

// The rows before it go first.
absl::Status ScanReader::TellBad(BadRows& bad_rows) {
  if (!bad_ || builder_.rows() > 0) return absl::OkStatus();
  return bad_rows.LeaveOut({.why = *std::exchange(bad_, std::nullopt)});
}

absl::StatusOr<ScanReader::Step> ScanReader::TakeStep() {
  if (feed_.filling() || feed_.passing()) return Step::kNeedMore;
  if (content_) return TakeContent();
  const Found found = scanner_->Look(feed_.window(), feed_.is_rest());
  if (found.skip > 0) {
    if (const absl::Status passed = feed_.Pass(found.skip); !passed.ok()) {
      return Lose(passed);
    }
  }
  switch (found.kind) {
    case Found::Kind::kMore:
      if (feed_.is_rest() || std::ssize(feed_.window()) >= found.size) break;
      feed_.Want(found.size);
      return Step::kNeedMore;
    case Found::Kind::kContent:
      content_ = found;
      return feed_.passing() ? Step::kNeedMore : TakeContent();
    case Found::Kind::kRow:
      return TakeRow();
    case Found::Kind::kEnd:
      return Step::kEnd;
    case Found::Kind::kBroken:
      return Lose(scanner_->status());
  }
  return Step::kGoOn;
}

// Takes the content announced, once it is there.
absl::StatusOr<ScanReader::Step> ScanReader::TakeContent() {
  const int64_t size = content_->size;
  if (place_ == nullptr && size <= kStraightBytes &&
      size > std::ssize(feed_.window()) && !feed_.is_rest()) {
    feed_.Want(size);
    return Step::kNeedMore;
  }
  if (place_ == nullptr) {
    if (const absl::Status there = feed_.CheckHas(size); !there.ok()) {
      return Lose(there);
    }
    place_ = TRY(builder_.RoomFor(content_->field, size));
    row_open_ = true;
    TRY(WriteContent());
    if (feed_.filling()) return Step::kNeedMore;
  }
  // What did not come through the window is summed now.
  if (plan_.sums && size > kStraightBytes) {
    crc_ = codec::Crc32c(
        {reinterpret_cast<const char*>(place_), static_cast<size_t>(size)});
  }
  place_ = nullptr;
  content_.reset();
  return Step::kGoOn;
}

// Writes content to its place, or has it written there.
absl::Status ScanReader::WriteContent() {
  const int64_t size = content_->size;
  if (place_ == nullptr) return feed_.Pass(size);
  if (size > kStraightBytes) {
    return feed_.FillPlace(absl::Span<std::byte>(place_, size));
  }
  const std::string_view bytes = feed_.window().substr(0, size);
  if (plan_.sums) {
    crc_ = codec::CopyWithCrc32c(place_, bytes);
  } else if (size > 0) {
    std::memcpy(place_, bytes.data(), size);
  }
  return feed_.Pass(size);
}

absl::StatusOr<ScanReader::Step> ScanReader::TakeRow() {
  const storage::FoundRow& found = scanner_->row();
  const int64_t number = next_row_++;
  row_open_ = false;
  if (number < rows_.begin) {
    builder_.DropRow();
    return Step::kGoOn;
  }
  absl::Status row = found.why;
  if (row.ok() && found.crc && *found.crc != crc_) {
    row = absl::DataLossError("content does not fit its checksum");
  }
  if (row.ok() && plan_.has_key) {
    TRY(builder_.Put(static_cast<int>(plan_.spec.fields().size()) - 1, found.key));
  }
  if (row.ok()) {
    row = builder_.EndRow(number);
  } else {
    builder_.DropRow();
  }
  if (!row.ok()) {
    const std::string where = base::StrCat(", in the row at byte ", found.begin);
    bad_ = Named(row, where);
  }
  if (next_row_ >= rows_.end) return Step::kEnd;
  const bool goes_first = bad_ && builder_.rows() > 0;
  return builder_.is_full() || goes_first ? Step::kFull : Step::kGoOn;
}

// The framing is broken: nothing behind can be found.
absl::StatusOr<ScanReader::Step> ScanReader::Lose(const absl::Status& why) {
  if (!absl::IsDataLoss(why)) return Named(why, "");
  builder_.DropRow();
  bad_ = Named(why, "; the rest of the file is left out");
  return Step::kEnd;
}

absl::Status ScanReader::Named(const absl::Status& status,
                               std::string_view where) const {
  return absl::Status(
      status.code(), base::StrCat(status.message(), where, "; file ", plan_.file.path));
}

}  // namespace millrace::ops
