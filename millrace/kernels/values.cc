#include "millrace/kernels/values.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::Extent;
using core::Level;

constexpr int64_t kOffsetSize = sizeof(int64_t);

// Where the values of all rows lie below the levels.
Extent ExtentOf(const Column& column) {
  CHECK(!column.HoldsTensors());
  Extent here = {0, column.rows()};
  for (const Level& level : column.shape_levels()) here = level.Below(here);
  return here;
}

int64_t SizeAt(const Level& level, int64_t index) {
  const Extent below = level.Below({index, index + 1});
  return below.end - below.begin;
}

bool SameSizes(const Level& a, Extent of_a, const Level& b, Extent of_b) {
  if (a.fixed() && b.fixed()) return a.size == b.size;
  for (int64_t i = 0; i < of_a.end - of_a.begin; ++i) {
    if (SizeAt(a, of_a.begin + i) != SizeAt(b, of_b.begin + i)) return false;
  }
  return true;
}

// The offsets of the values `here`, moved to start at 0.
absl::StatusOr<core::Buffer> MovedOffsets(const Level& level, Extent here,
                                          core::Pool& pool) {
  const int64_t count = here.end - here.begin + 1;
  core::Buffer offsets =
      level.offsets.Slice(here.begin * kOffsetSize, count * kOffsetSize);
  const absl::Span<const int64_t> old = offsets.As<int64_t>();
  if (old[0] == 0) return offsets;
  core::Buffer moved = TRY(pool.AllocateFor<int64_t>(count));
  const absl::Span<int64_t> out = moved.MutableAs<int64_t>();
  for (int64_t i = 0; i < count; ++i) out[i] = old[i] - old[0];
  return moved;
}

void CheckAligned(const Values& values) {
  if (values.value_bytes == 0) return;
  CHECK_EQ(reinterpret_cast<uintptr_t>(values.data) % values.value_bytes, 0U);
}

}  // namespace

Values Values::From(int64_t distance) const {
  Values further = *this;
  if (offsets != nullptr) {
    further.offsets += distance * offsets_each;
  } else if (distance != 0) {
    further.data += distance * value_bytes;
  }
  return further;
}

Values ValuesOf(const core::Tensor& tensor) {
  Values values = {.data = tensor.values().data(),
                   .value_bytes = core::SizeOf(tensor.dtype())};
  if (core::IsVariable(tensor.dtype())) {
    values.offsets = tensor.offsets().As<int64_t>().data();
  }
  CheckAligned(values);
  return values;
}

core::Tensor Reshaped(const core::Tensor& tensor, const core::Shape& shape) {
  CHECK_EQ(shape.Count(), tensor.count());
  if (core::IsVariable(tensor.dtype())) {
    return core::Tensor::Texts(tensor.dtype(), shape, tensor.offsets(),
                               tensor.values());
  }
  return core::Tensor::Fixed(tensor.dtype(), shape, tensor.values());
}

Values ValuesOf(const Column& column) {
  const Extent extent = ExtentOf(column);
  Values values = {.data = column.values().data(),
                   .value_bytes = core::SizeOf(column.dtype())};
  if (core::IsVariable(column.dtype())) {
    values.offsets = column.levels().back().offsets.As<int64_t>().data();
    values.offsets_each = column.HasGaps() ? 2 : 1;
  }
  CheckAligned(values);
  return values.From(extent.begin);
}

int64_t CountValues(const Column& column) {
  const Extent extent = ExtentOf(column);
  return extent.end - extent.begin;
}

bool SameShapes(const Column& a, const Column& b) {
  CHECK(!a.HoldsTensors());
  CHECK(!b.HoldsTensors());
  const absl::Span<const Level> of_a = a.shape_levels();
  const absl::Span<const Level> of_b = b.shape_levels();
  if (a.rows() != b.rows() || of_a.size() != of_b.size()) return false;
  Extent in_a = {0, a.rows()};
  Extent in_b = {0, b.rows()};
  for (size_t depth = 0; depth < of_a.size(); ++depth) {
    if (!SameSizes(of_a[depth], in_a, of_b[depth], in_b)) return false;
    in_a = of_a[depth].Below(in_a);
    in_b = of_b[depth].Below(in_b);
  }
  return true;
}

absl::StatusOr<core::Levels> ShapeLevels(const Column& column, core::Pool& pool) {
  CHECK(!column.HoldsTensors());
  core::Levels levels;
  Extent here = {0, column.rows()};
  for (const Level& level : column.shape_levels()) {
    levels.push_back(
        level.fixed() ? level : Level::Variable(TRY(MovedOffsets(level, here, pool))));
    here = level.Below(here);
  }
  return levels;
}

int64_t RowOfValue(const Column& column, int64_t index) {
  int64_t row = 0;
  int64_t values = 0;
  for (; row < column.rows(); ++row) {
    values += CountValues(column.Slice(row, 1));
    if (index < values) break;
  }
  CHECK_LT(row, column.rows());
  return row;
}

}  // namespace millrace::kernels
