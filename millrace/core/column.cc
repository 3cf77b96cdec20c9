#include "millrace/core/column.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

constexpr int64_t kOffsetSize = sizeof(int64_t);
constexpr int64_t kCountMax = int64_t{1} << 48;

int64_t OffsetCount(const Level& level) { return level.offsets.size() / kOffsetSize; }

bool IsAligned(const Buffer& buffer, int64_t to) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % static_cast<uintptr_t>(to) == 0;
}

absl::Status AbsurdSize(int64_t size) {
  return absl::InvalidArgumentError(base::StrCat("column has an absurd size: ", size));
}

// Checks the fixed sizes by themselves: even a row that is not there has a sane shape.
absl::Status CheckSizes(absl::Span<const Level> levels) {
  absl::InlinedVector<int64_t, 4> sizes;
  for (const Level& level : levels) {
    if (!level.fixed()) continue;
    if (level.size < 0) return AbsurdSize(level.size);
    sizes.push_back(level.size);
  }
  return Shape(sizes).CountChecked().status();
}

// Checks the offsets of `count` values. Below other offsets there may be more of them:
// a slice leaves what it does not need in place.
absl::Status CheckOffsets(const Level& level, int64_t count, bool exact) {
  const int64_t there = OffsetCount(level);
  const int64_t wanted = level.gaps ? 2 * count : count + 1;
  if (level.offsets.size() % kOffsetSize != 0 ||
      (exact ? there != wanted : there < wanted)) {
    return absl::InvalidArgumentError(
        base::StrCat("column has ", there, " offsets for ", count, " values"));
  }
  if (!IsAligned(level.offsets, kOffsetSize)) {
    return absl::InvalidArgumentError("column has offsets that are not aligned");
  }
  const absl::Span<const int64_t> offsets = level.offsets.As<int64_t>();
  if ((wanted > 0 && offsets[0] < 0) || !std::ranges::is_sorted(offsets)) {
    return absl::InvalidArgumentError("column has offsets that do not rise");
  }
  return absl::OkStatus();
}

// Where the next level's values end, when this level has `count` values.
absl::StatusOr<int64_t> CountBelow(const Level& level, int64_t count, bool exact) {
  if (level.fixed()) {
    if (level.size > 0 && count > kCountMax / level.size) return AbsurdSize(level.size);
    return count * level.size;
  }
  TRY(CheckOffsets(level, count, exact));
  const int64_t below = level.Below({0, count}).end;
  return below > kCountMax ? absl::StatusOr<int64_t>(AbsurdSize(below)) : below;
}

// Checks that the buffer holds the values that the levels speak of.
absl::Status CheckValues(DType dtype, int64_t count, const Buffer& values, bool exact) {
  const int64_t size = IsVariable(dtype) ? 1 : SizeOf(dtype);
  if (exact ? values.size() != count * size : values.size() < count * size) {
    return absl::InvalidArgumentError(base::StrCat("column has ", values.size(),
                                                   " bytes of values where ",
                                                   count * size, " are needed"));
  }
  if (!IsAligned(values, size)) {
    return absl::InvalidArgumentError("column has values that are not aligned");
  }
  return absl::OkStatus();
}

// The one size that all values [here.begin, here.end) of a level have.
absl::StatusOr<int64_t> UniformSize(const Level& level, Extent here) {
  if (level.fixed()) return level.size;
  if (here.begin == here.end) return 0;
  const absl::Span<const int64_t> offsets = level.offsets.As<int64_t>();
  const int64_t size = offsets[here.begin + 1] - offsets[here.begin];
  for (int64_t i = here.begin; i < here.end; ++i) {
    if (offsets[i + 1] - offsets[i] != size) {
      return absl::InvalidArgumentError(
          base::StrCat("row is not rectangular: it holds values of sizes ", size,
                       " and ", offsets[i + 1] - offsets[i]));
    }
  }
  return size;
}

// The offsets of some values of a level.
Buffer OffsetsOf(const Level& level, Extent here) {
  const int64_t count = here.end - here.begin;
  if (level.gaps) {
    return level.offsets.Slice(2 * here.begin * kOffsetSize, 2 * count * kOffsetSize);
  }
  return level.offsets.Slice(here.begin * kOffsetSize, (count + 1) * kOffsetSize);
}

int64_t BytesBetweenGaps(const Level& level) {
  const absl::Span<const int64_t> places = level.offsets.As<int64_t>();
  int64_t bytes = 0;
  for (size_t i = 0; i < places.size(); i += 2) bytes += places[i + 1] - places[i];
  return bytes;
}

}  // namespace

Extent Level::Below(Extent here) const {
  if (fixed()) return {here.begin * size, here.end * size};
  const absl::Span<const int64_t> at = offsets.As<int64_t>();
  if (!gaps) return {at[here.begin], at[here.end]};
  if (here.begin == here.end) return {};
  return {at[2 * here.begin], at[2 * here.end - 1]};
}

Column Column::Dense(DType dtype, int64_t rows, const Shape& row_shape, Buffer values) {
  CHECK(!IsVariable(dtype));
  Levels levels;
  for (const int64_t size : row_shape.sizes()) levels.push_back(Level::Fixed(size));
  absl::StatusOr<Column> column =
      FromLevels(dtype, rows, std::move(levels), std::move(values));
  CHECK(column.ok()) << column.status();
  return *std::move(column);
}

Column Column::Texts(DType dtype, int64_t rows, Buffer offsets, Buffer data) {
  CHECK(IsVariable(dtype));
  absl::StatusOr<Column> column =
      FromLevels(dtype, rows, {Level::Variable(std::move(offsets))}, std::move(data));
  CHECK(column.ok()) << column.status();
  return *std::move(column);
}

Column Column::TextsWithGaps(DType dtype, int64_t rows, Buffer places, Buffer data) {
  absl::StatusOr<Column> column =
      FromLevels(dtype, rows, {Level::WithGaps(std::move(places))}, std::move(data));
  CHECK(column.ok()) << column.status();
  return *std::move(column);
}

absl::StatusOr<Column> Column::FromLevels(DType dtype, int64_t rows, Levels levels,
                                          Buffer values) {
  if (rows < 0 || rows > kCountMax) return AbsurdSize(rows);
  if (IsVariable(dtype) && (levels.empty() || levels.back().fixed())) {
    return absl::InvalidArgumentError("column of texts has no offsets for them");
  }
  if (std::ranges::any_of(levels, &Level::gaps) &&
      (levels.size() > 1 || !IsVariable(dtype))) {
    return absl::InvalidArgumentError("column has gaps between more than texts");
  }
  TRY(CheckSizes(levels));
  int64_t count = rows;
  bool exact = true;  // Above the first offsets every value has its place.
  for (const Level& level : levels) {
    count = TRY(CountBelow(level, count, exact));
    exact = exact && level.fixed();
  }
  TRY(CheckValues(dtype, count, values, exact));
  Column column;
  column.dtype_ = dtype;
  column.rows_ = rows;
  column.levels_ = std::move(levels);
  column.values_ = std::move(values);
  return column;
}

Column Column::OfTensors(DType dtype, Tensors tensors) {
  for (const Tensor& tensor : tensors) CHECK_EQ(tensor.dtype(), dtype);
  Column column;
  column.dtype_ = dtype;
  column.rows_ = static_cast<int64_t>(tensors.size());
  column.tensors_ = std::make_shared<const Tensors>(std::move(tensors));
  return column;
}

absl::StatusOr<Column> Column::Repeat(const Tensor& value, int64_t rows, Pool& pool) {
  CHECK_GE(rows, 0);
  if (IsVariable(value.dtype())) {
    return OfTensors(value.dtype(), Tensors(rows, value));
  }
  const int64_t bytes = value.values().size();
  Buffer values = TRY(pool.Allocate((base::Bytes(bytes) * rows).count()));
  for (int64_t row = 0; row < rows && bytes > 0; ++row) {
    std::memcpy(values.mutable_data() + row * bytes, value.values().data(), bytes);
  }
  return Dense(value.dtype(), rows, value.shape(), std::move(values));
}

absl::Span<const Level> Column::shape_levels() const {
  const absl::Span<const Level> all = levels_;
  const bool has_text_extents = IsVariable(dtype_) && !HoldsTensors();
  return has_text_extents ? all.first(all.size() - 1) : all;
}

absl::Span<const Tensor> Column::tensors() const {
  CHECK(HoldsTensors());
  Extent here = {0, rows_};
  for (const Level& level : levels_) here = level.Below(here);
  return absl::MakeConstSpan(*tensors_).subspan(first_tensor_, here.end);
}

bool Column::IsDense() const {
  return !IsVariable(dtype_) && !HoldsTensors() &&
         std::ranges::all_of(levels_, &Level::fixed);
}

std::optional<Shape> Column::row_shape() const {
  if (HoldsTensors()) return std::nullopt;
  absl::InlinedVector<int64_t, 4> sizes;
  for (const Level& level : shape_levels()) {
    if (!level.fixed()) return std::nullopt;
    sizes.push_back(level.size);
  }
  return Shape(sizes);
}

absl::StatusOr<Tensor> Column::Row(int64_t row) const {
  CHECK_GE(row, 0);
  CHECK_LT(row, rows_);
  if (HoldsTensors() && levels_.empty()) return (*tensors_)[first_tensor_ + row];
  if (HoldsTensors()) {
    return absl::InvalidArgumentError(
        "row is not rectangular: it is a batch of tensors that may differ in shape");
  }
  absl::InlinedVector<int64_t, 4> sizes;
  Extent here = {row, row + 1};
  for (const Level& level : shape_levels()) {
    sizes.push_back(TRY(UniformSize(level, here)));
    here = level.Below(here);
  }
  const int64_t count = here.end - here.begin;
  if (!IsVariable(dtype_)) {
    const int64_t size = SizeOf(dtype_);
    return Tensor::Fixed(dtype_, Shape(sizes),
                         values_.Slice(here.begin * size, count * size));
  }
  return Tensor::Texts(dtype_, Shape(sizes), OffsetsOf(levels_.back(), here), values_);
}

std::string_view Column::TextAt(int64_t row) const {
  CHECK(IsVariable(dtype_));
  CHECK_GE(row, 0);
  CHECK_LT(row, rows_);
  CHECK(shape_levels().empty());
  if (HoldsTensors()) return (*tensors_)[first_tensor_ + row].TextAt(0);
  const Extent text = levels_[0].Below({row, row + 1});
  return values_.text().substr(text.begin, text.end - text.begin);
}

Column Column::Slice(int64_t begin, int64_t rows) const {
  CHECK_GE(begin, 0);
  CHECK_GE(rows, 0);
  CHECK_LE(begin, rows_ - rows);
  Column part = *this;
  part.rows_ = rows;
  Extent here = {begin, begin + rows};
  for (Level& level : part.levels_) {
    if (!level.fixed()) {  // What lies below is addressed by these offsets.
      level.offsets = OffsetsOf(level, here);
      return part;
    }
    here = level.Below(here);
  }
  if (HoldsTensors()) {
    part.first_tensor_ += here.begin;
  } else {
    const int64_t size = SizeOf(dtype_);
    part.values_ = values_.Slice(here.begin * size, (here.end - here.begin) * size);
  }
  return part;
}

Column Column::Stack(int64_t size) const {
  CHECK_GT(size, 0);
  CHECK_EQ(rows_ % size, 0);
  CHECK(!HasGaps());
  Column stacked = *this;
  stacked.rows_ = rows_ / size;
  stacked.levels_.insert(stacked.levels_.begin(), Level::Fixed(size));
  return stacked;
}

Column Column::Nest(int64_t rows, Levels levels) const {
  CHECK_GE(rows, 0);
  CHECK(!HasGaps());
  Extent here = {0, rows};
  for (const Level& level : levels) here = level.Below(here);
  CHECK_EQ(here.end, rows_);
  Column nested = *this;
  nested.rows_ = rows;
  nested.levels_ = std::move(levels);
  nested.levels_.insert(nested.levels_.end(), levels_.begin(), levels_.end());
  return nested;
}

bool Column::HasLeadingAxis() const {
  if (!shape_levels().empty()) return true;
  return HoldsTensors() && std::ranges::all_of(tensors(), [](const Tensor& tensor) {
           return tensor.shape().rank() > 0;
         });
}

int64_t Column::LeadingSize(int64_t row) const {
  CHECK_GE(row, 0);
  CHECK_LT(row, rows_);
  if (shape_levels().empty()) {
    CHECK(HoldsTensors());
    return tensors()[row].shape()[0];
  }
  const Extent below = levels_.front().Below({row, row + 1});
  return below.end - below.begin;
}

Column Column::Unstack() const {
  CHECK(HasLeadingAxis());
  if (shape_levels().empty()) {
    Tensors parts;
    for (const Tensor& tensor : tensors()) {
      for (int64_t i = 0; i < tensor.shape()[0]; ++i) parts.push_back(tensor.Part(i));
    }
    return OfTensors(dtype_, std::move(parts));
  }
  const Extent rows = levels_.front().Below({0, rows_});
  return Below().Slice(rows.begin, rows.end - rows.begin);
}

Column Column::Below() const {
  CHECK(!shape_levels().empty());
  Column below = *this;
  below.rows_ = levels_.front().Below({0, rows_}).end;
  below.levels_.erase(below.levels_.begin());
  return below.Slice(0, below.rows_);
}

int64_t Column::content_bytes() const {
  if (HasGaps()) return BytesBetweenGaps(levels_.back());
  Extent here = {0, rows_};
  for (const Level& level : levels_) here = level.Below(here);
  if (!HoldsTensors()) {
    return (here.end - here.begin) * (IsVariable(dtype_) ? 1 : SizeOf(dtype_));
  }
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors().subspan(here.begin)) {
    bytes += tensor.content_bytes();
  }
  return bytes;
}

namespace {

// What one row holds, as rows, where it has an axis.
std::optional<Column> Inside(const Column& column, int64_t row) {
  const Column one = column.Slice(row, 1);
  return one.HasLeadingAxis() ? std::optional(one.Unstack()) : std::nullopt;
}

bool SameRow(const Column& a, const Column& b, int64_t row) {
  const absl::StatusOr<Tensor> of_a = a.Row(row);
  const absl::StatusOr<Tensor> of_b = b.Row(row);
  if (of_a.ok() && of_b.ok()) return *of_a == *of_b;
  const std::optional<Column> in_a = Inside(a, row);
  const std::optional<Column> in_b = Inside(b, row);
  return in_a && in_b && SameRows(*in_a, *in_b);
}

}  // namespace

bool Column::pooled() const {
  const auto is_pooled = [](const Buffer& buffer) {
    return buffer.storage() != nullptr && buffer.storage()->pooled();
  };
  if (!HoldsTensors()) return is_pooled(values_);
  return std::ranges::any_of(
      tensors(), [&](const Tensor& tensor) { return is_pooled(tensor.values()); });
}

void Column::LeaveBudget() const {
  const auto leave = [](const Buffer& buffer) {
    if (buffer.storage() != nullptr) buffer.storage()->LeaveBudget();
  };
  leave(values_);
  for (const Level& level : levels_) leave(level.offsets);
  if (!HoldsTensors()) return;
  for (const Tensor& tensor : tensors()) {
    leave(tensor.values());
    leave(tensor.offsets());
  }
}

bool SameRows(const Column& a, const Column& b) {
  if (a.dtype() != b.dtype() || a.rows() != b.rows()) return false;
  if (a.rows() > 0 && a.IsDense() && b.IsDense()) {
    return a.row_shape() == b.row_shape() && a.values().text() == b.values().text();
  }
  for (int64_t row = 0; row < a.rows(); ++row) {
    if (!SameRow(a, b, row)) return false;
  }
  return true;
}

}  // namespace millrace::core
