#include "millrace/ops/source/scan_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/byte_feed.h"
#include "millrace/ops/source/found_rows.h"
#include "millrace/ops/source/stretch.h"
#include "millrace/storage/row_scanner.h"

namespace millrace::ops {
namespace {

using storage::Found;

// Content as long as this is fetched by itself, straight to where it stays.
constexpr int64_t kApartBytes = 256 << 10;

}  // namespace

ScanReader::ScanReader(const ScanPlan& plan,
                       std::unique_ptr<storage::RowScanner> scanner,
                       const SourceContext& context)
    : plan_(std::make_shared<const RowsPlan>(plan.rows)),
      scanner_(std::move(scanner)),
      range_(plan.range),
      context_(context),
      feed_(context.blobs, plan.file, plan.feed, context.pool),
      index_(plan.index),
      on_row_(plan.on_row),
      next_row_(plan.row),
      ended_(range_.begin >= range_.end) {}

absl::Status ScanReader::Fetch() { return ended_ ? absl::OkStatus() : feed_.Fetch(); }

absl::StatusOr<bool> ScanReader::FetchNow() {
  if (ended_) return true;
  return feed_.FetchNow();
}

std::shared_ptr<FetchAhead> ScanReader::Ahead() {
  return ended_ ? nullptr : feed_.Ahead();
}

absl::StatusOr<std::optional<FoundWork>> ScanReader::Find() {
  Step step = ended_ ? Step::kEnd : Step::kGoOn;
  if (!ended_) {
    const absl::Status unfolded = feed_.Unfold();
    if (!unfolded.ok()) step = TRY(Lose(unfolded));
    feed_.Want(1);
  }
  rest_ = feed_.window();
  while (step == Step::kGoOn) step = TRY(TakeStep());
  TRY(PassUsed());
  const bool ends = !ended_ && step == Step::kEnd;
  ended_ = step == Step::kEnd;
  FoundRows found = found_.TakeComplete();
  // Whatever is wrong with the file, a part of it is no index.
  const bool indexes = index_ != nullptr && ends && found.lost().ok();
  if (ended_ && found.empty() && !indexes) return std::nullopt;
  const std::vector<std::shared_ptr<Stretch>> wanted = found.Wanted();
  FoundWork work = [found = std::move(found), plan = plan_,
                    context = context_](RowsSink& sink) {
    return GiveRows(found, *plan, context, sink);
  };
  work.wanted.assign(wanted.begin(), wanted.end());
  if (indexes) {
    index_->End(feed_.offset());
    work.wanted.push_back(index_);
  }
  return work;
}

// Tells the feed what was used of its window.
absl::Status ScanReader::PassUsed() {
  return feed_.Pass(std::ssize(feed_.window()) - std::ssize(rest_));
}

absl::StatusOr<ScanReader::Step> ScanReader::TakeStep() {
  if (feed_.passing()) return Step::kNeedMore;
  if (content_) return TakeContent();
  const Found found = scanner_->Look(rest_, feed_.is_rest());
  if (found.skip <= std::ssize(rest_)) {
    rest_.remove_prefix(found.skip);
  } else if (const absl::Status passed = PassBeyond(found.skip); !passed.ok()) {
    return Lose(passed);
  }
  switch (found.kind) {
    case Found::Kind::kMore:
      if (feed_.is_rest() || std::ssize(rest_) >= found.size) break;
      if (found.size > context_.row_bytes_max) return Lose(TooLong());
      feed_.Want(found.size);
      return Step::kNeedMore;
    case Found::Kind::kContent:
      if (found.size > context_.row_bytes_max) return Lose(TooLong());
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

absl::Status ScanReader::TooLong() const {
  return absl::DataLossError(
      base::StrCat("row ", next_row_, " is longer than the ", context_.row_bytes_max,
                   " bytes that there is memory for, at byte ",
                   feed_.offset() + std::ssize(feed_.window()) - std::ssize(rest_),
                   ": give the engine more memory, if it is meant to be so long"));
}

absl::Status ScanReader::PassBeyond(int64_t size) {
  TRY(PassUsed());
  rest_ = {};
  TRY(feed_.Pass(size));
  rest_ = feed_.window();
  return absl::OkStatus();
}

// Takes what is there of the content announced: long content comes window by window.
absl::StatusOr<ScanReader::Step> ScanReader::TakeContent() {
  const int64_t size = content_->size;
  const int64_t here = std::min<int64_t>(size, std::ssize(rest_));
  if (here < size) {
    TRY(PassUsed());
    rest_ = feed_.window();
    if (const absl::Status there = feed_.CheckHas(size); !there.ok()) {
      return Lose(there);
    }
  }
  if (size >= kApartBytes && feed_.can_set_apart()) return SetApart(size);
  if (here < size && size <= feed_.headroom()) {  // So that it lies in one piece.
    feed_.Want(size);
    return Step::kNeedMore;
  }
  if (here > 0 || size == 0) {
    const char* const room = feed_.room().text().data();
    found_.AddPiece(content_->field, feed_.room(), rest_.data() - room, here);
  }
  rest_.remove_prefix(here);
  content_->size -= here;
  if (here < size) return Step::kNeedMore;
  content_.reset();
  return Step::kGoOn;
}

absl::StatusOr<ScanReader::Step> ScanReader::SetApart(int64_t size) {
  TRY(PassUsed());
  found_.AddApart(content_->field, TRY(feed_.PassApart(size, plan_->sums)), size);
  rest_ = feed_.window();
  content_.reset();
  return Step::kGoOn;
}

absl::StatusOr<ScanReader::Step> ScanReader::TakeRow() {
  const int64_t number = next_row_++;
  if (index_ != nullptr) index_->Add(scanner_->row().begin);
  if (number < range_.begin) {
    found_.DropRow();
    return Step::kGoOn;
  }
  if (on_row_) on_row_(number, scanner_->row());
  found_.EndRow(scanner_->row(), number);
  if (next_row_ >= range_.end) return Step::kEnd;
  return found_.is_full() ? Step::kFull : Step::kGoOn;
}

// The framing is broken: nothing behind can be found.
absl::StatusOr<ScanReader::Step> ScanReader::Lose(const absl::Status& why) {
  const bool is_data = absl::IsDataLoss(why);
  absl::Status named(
      why.code(),
      base::StrCat(why.message(), is_data ? "; the rest of the file is left out" : "",
                   "; file ", plan_->path));
  if (!is_data) return named;
  found_.Lose(named);
  return Step::kEnd;
}

}  // namespace millrace::ops
