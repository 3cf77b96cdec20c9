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

constexpr double kBlockBytes = 4 << 20;
constexpr int64_t kBlockRowsMax = int64_t{1} << 16;
constexpr int64_t kRoundRows = 1024;
constexpr size_t kSlicesKept = 8;

// Rows of a block for rows of about so many bytes.
int64_t BlockRows(double row_bytes) {
  const double rows = kBlockBytes / std::max(row_bytes, 1.0);
  const auto whole =
      static_cast<int64_t>(std::clamp(rows, 1.0, static_cast<double>(kBlockRowsMax)));
  return whole < kRoundRows ? whole : whole / kRoundRows * kRoundRows;
}

// The fields that leaves lie in, each once.
std::vector<int64_t> FieldsOf(const WantedLeaves& leaves) {
  std::vector<int64_t> fields;
  for (const Leaf* leaf : leaves) {
    if (std::ranges::count(fields, leaf->field) == 0) fields.push_back(leaf->field);
  }
  return fields;
}

}  // namespace

Part::Part(std::shared_ptr<const ColumnarFile> file, int64_t number,
           WantedLeaves leaves, const storage::BlobStore& store, core::Pool& pool)
    : file_(std::move(file)),
      number_(number),
      leaves_(std::move(leaves)),
      pool_(pool),
      bytes_(*file_, {number_, FieldsOf(leaves_)}, store, pool) {
  const std::vector<int64_t> numbers = FieldsOf(leaves_);
  for (const int64_t field : numbers) fields_.push_back({.number = field});
  for (size_t i = 0; i < leaves_.size(); ++i) {
    std::ranges::find(fields_, leaves_[i]->field, &Field::number)->leaves.push_back(i);
  }
  block_rows_ = BlockRows(file_->RowBytes(number_, numbers));
  // Arrow moves what it has decoded whenever a page ends inside of what it is asked
  // for: a part no larger than the slices we would keep of it is decoded as a whole.
  const int64_t rows = file_->EndOf(number_) - file_->BeginOf(number_);
  const bool whole = rows <= block_rows_ * static_cast<int64_t>(kSlicesKept);
  slice_rows_ = whole ? std::max<int64_t>(rows, 1) : block_rows_;
}

int64_t Part::RowsOf(int64_t slice) const {
  const int64_t rows = file_->EndOf(number_) - file_->BeginOf(number_);
  return std::min(slice_rows_, rows - slice * slice_rows_);
}

int64_t Part::slices() const {
  const int64_t rows = file_->EndOf(number_) - file_->BeginOf(number_);
  return (rows + slice_rows_ - 1) / slice_rows_;
}

absl::Status Part::OpenIfNeeded() {
  if (opened_ != nullptr) return absl::OkStatus();
  opened_ = TRY(file_->OpenPart(number_, bytes_.Release(), slice_rows_, pool_));
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
