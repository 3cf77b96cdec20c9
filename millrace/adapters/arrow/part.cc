#include "millrace/adapters/arrow/part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/adapters/arrow/columnar_file.h"
#include "millrace/adapters/arrow/fields.h"
#include "millrace/adapters/arrow/import.h"
#include "millrace/adapters/arrow/interface.h"
#include "millrace/adapters/arrow/module.h"
#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/storage/blob_store.h"

namespace millrace::arrow {
namespace {

constexpr double kSliceBytes = 4 << 20;
constexpr int64_t kSliceRowsMax = int64_t{1} << 16;
constexpr int64_t kRoundRows = 1024;
constexpr size_t kSlicesKept = 8;

// Rows of a slice for rows of about so many bytes.
int64_t SliceRows(double row_bytes) {
  const double rows = kSliceBytes / std::max(row_bytes, 1.0);
  const auto whole =
      static_cast<int64_t>(std::clamp(rows, 1.0, static_cast<double>(kSliceRowsMax)));
  return whole < kRoundRows ? whole : whole / kRoundRows * kRoundRows;
}

}  // namespace

Part::Part(std::shared_ptr<const ColumnarFile> file, int64_t number,
           WantedLeaves leaves, const storage::BlobStore& store, core::Pool& pool)
    : file_(std::move(file)),
      number_(number),
      leaves_(std::move(leaves)),
      store_(store),
      pool_(pool) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const int64_t field = leaves_[i]->field;
    auto found = std::ranges::find(fields_, field, &Field::number);
    if (found == fields_.end()) {
      numbers.push_back(field);
      found = fields_.insert(fields_.end(), {.number = field, .leaves = {}});
    }
    found->leaves.push_back(i);
  }
  slice_rows_ = SliceRows(file_->RowBytes(number_, numbers));
}

int64_t Part::RowsOf(int64_t slice) const {
  const int64_t rows = file_->EndOf(number_) - file_->BeginOf(number_);
  return std::min(slice_rows_, rows - slice * slice_rows_);
}

int64_t Part::slices() const {
  const int64_t rows = file_->EndOf(number_) - file_->BeginOf(number_);
  return (rows + slice_rows_ - 1) / slice_rows_;
}

absl::Status Part::Fetch() {
  {
    const base::MutexLock lock(&mutex_);
    while (bytes_ == Bytes::kBusy) {
      changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
    }
    if (bytes_ == Bytes::kThere) return absl::OkStatus();
    bytes_ = Bytes::kBusy;
  }
  const absl::StatusOr<bool> fetched = FetchBytes(/*waits=*/true);
  const base::MutexLock lock(&mutex_);
  bytes_ = fetched.ok() ? Bytes::kThere : Bytes::kWanted;
  changed_.NotifyAll();
  return fetched.status();
}

absl::StatusOr<bool> Part::FetchNow() {
  {
    const base::MutexLock lock(&mutex_);
    if (bytes_ != Bytes::kWanted) return bytes_ == Bytes::kThere;
    bytes_ = Bytes::kBusy;
  }
  const absl::StatusOr<bool> fetched = FetchBytes(/*waits=*/false);
  const base::MutexLock lock(&mutex_);
  bytes_ = fetched.ok() && *fetched ? Bytes::kThere : Bytes::kWanted;
  changed_.NotifyAll();
  return fetched;
}

// Goes on where the last one stopped.
absl::StatusOr<bool> Part::FetchBytes(bool waits) {
  if (blob_ == nullptr) {
    std::vector<int64_t> numbers;
    for (const Leaf* leaf : leaves_) {
      if (std::ranges::count(numbers, leaf->field) == 0) numbers.push_back(leaf->field);
    }
    needed_ = TRY(file_->NeededFor(number_, numbers));
    blob_ = TRY(store_.Open(file_->info()));
  }
  for (; filled_pieces_ < needed_.size(); ++filled_pieces_) {
    if (!TRY(FillPiece(needed_[filled_pieces_], filled_pieces_, waits))) return false;
    filled_bytes_ = 0;
  }
  blob_ = nullptr;
  return true;
}

absl::StatusOr<bool> Part::FillPiece(const Needed& needed, size_t piece, bool waits) {
  if (fetched_.size() == piece) {
    fetched_.push_back(
        {.place = needed.place, .bytes = TRY(pool_.Allocate(needed.size))});
  }
  const absl::Span<std::byte> room(fetched_[piece].bytes.mutable_data(), needed.size);
  while (filled_bytes_ < needed.size) {
    const int64_t offset = needed.offset + filled_bytes_;
    const absl::Span<std::byte> rest = room.subspan(filled_bytes_);
    const int64_t got =
        TRY(waits ? blob_->Read(offset, rest) : blob_->ReadNow(offset, rest));
    if (got == 0 && !waits) return false;
    if (got == 0) {
      return absl::FailedPreconditionError(
          base::StrCat("the file has become shorter; file ", file_->info().path));
    }
    filled_bytes_ += got;
  }
  return true;
}

absl::Status Part::OpenIfNeeded() {
  CHECK(bytes_ == Bytes::kThere) << "the bytes were not fetched";
  if (opened_ != nullptr) return absl::OkStatus();
  opened_ = TRY(file_->OpenPart(number_, std::move(fetched_), slice_rows_, pool_));
  return absl::OkStatus();
}

bool Part::IsDropped(int64_t slice) const {
  return !decoding_.contains(slice) &&
         std::ranges::any_of(fields_,
                             [&](const Field& field) { return field.next > slice; });
}

Part::Decoding& Part::At(int64_t slice) {
  std::shared_ptr<Decoding>& at = decoding_[slice];
  if (at == nullptr) {
    at = std::make_shared<Decoding>(Decoding{
        .slice = std::make_shared<Slice>(leaves_.size()), .missing = fields_.size()});
  }
  return *at;
}

// One that is not yet at the slice's end, and that nobody decodes.
Part::Field* Part::FreeField(int64_t slice) {
  const auto found = std::ranges::find_if(
      fields_, [&](const Field& field) { return !field.busy && field.next <= slice; });
  return found == fields_.end() ? nullptr : &*found;
}

int64_t Part::position() const {
  const base::MutexLock lock(&mutex_);
  if (fields_.empty()) return slices();
  return std::ranges::min(fields_, {}, &Field::next).next;
}

bool Part::WasDropped(int64_t slice) const {
  const base::MutexLock lock(&mutex_);
  return IsDropped(slice);
}

void Part::Want(int64_t slice_begin, int64_t slice_end) {
  const base::MutexLock lock(&mutex_);
  for (int64_t slice = slice_begin; slice < slice_end; ++slice) ++wanted_[slice];
}

void Part::Unwant(int64_t slice_begin, int64_t slice_end) {
  const base::MutexLock lock(&mutex_);
  for (int64_t slice = slice_begin; slice < slice_end; ++slice) {
    const auto wanted = wanted_.find(slice);
    CHECK(wanted != wanted_.end());
    if (--wanted->second == 0) wanted_.erase(wanted);
  }
}

absl::StatusOr<std::shared_ptr<const Slice>> Part::Take(int64_t slice, int64_t rows) {
  const base::MutexLock lock(&mutex_);
  if (IsDropped(slice)) return nullptr;
  At(slice);
  const std::shared_ptr<Decoding> wanted = decoding_[slice];
  while (wanted->missing > 0) {
    TRY(error_);
    if (Field* const field = FreeField(slice)) {
      error_ = OpenIfNeeded();
      if (error_.ok()) DecodeNext(*field);
    } else {
      changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
    }
  }
  wanted->taken += rows;
  if (wanted->taken >= RowsOf(slice)) decoding_.erase(slice);
  return wanted->slice;
}

// Decodes a slice of a field, without the lock.
void Part::DecodeNext(Field& field) {
  field.busy = true;
  const std::shared_ptr<MillraceArrowPart> opened = opened_;
  const Field copy = field;
  mutex_.Unlock();
  absl::StatusOr<std::vector<Imported>> decoded = Decode(copy, opened.get());
  mutex_.Lock();
  field.busy = false;
  if (decoded.ok()) {
    Decoding& at = At(field.next++);
    for (size_t i = 0; i < field.leaves.size(); ++i) {
      (*at.slice)[field.leaves[i]] = std::move((*decoded)[i]);
    }
    --at.missing;
    DropOld();
  } else if (error_.ok()) {
    error_ = decoded.status();
  }
  changed_.NotifyAll();
}

absl::StatusOr<std::vector<Imported>> Part::Decode(const Field& field,
                                                   MillraceArrowPart* part) const {
  const int64_t rows = RowsOf(field.next);
  ArrowArray array = {};
  MillraceArrowError error = {};
  const int32_t kind = file_->module().next(part, field.number, rows, &array, &error);
  if (kind != kMillraceArrowOk) return ErrorOf(kind, error, file_->info().path);
  const SharedArray shared = Share(array);
  if (shared->length != rows) {
    return absl::DataLossError(base::StrCat(
        "a column has fewer rows than the file says; file ", file_->info().path));
  }
  std::vector<Imported> columns;
  for (const size_t leaf : field.leaves) {
    absl::StatusOr<Imported> column = Import(shared, *leaves_[leaf], pool_);
    if (!column.ok()) {
      return absl::Status(
          column.status().code(),
          base::StrCat(column.status().message(), "; field ", leaves_[leaf]->spec.name,
                       " of file ", file_->info().path));
    }
    columns.push_back(*std::move(column));
  }
  return columns;
}

// Old slices that nobody wants go first. The decoder goes with the last slice.
void Part::DropOld() {
  for (auto at = decoding_.begin();
       at != decoding_.end() && decoding_.size() > kSlicesKept;) {
    const bool drops = at->second->missing == 0 && !wanted_.contains(at->first);
    at = drops ? decoding_.erase(at) : std::next(at);
  }
  const int64_t end = slices();
  const bool ended = std::ranges::all_of(
      fields_, [&](const Field& field) { return field.next == end; });
  if (ended) opened_ = nullptr;
}

}  // namespace millrace::arrow
