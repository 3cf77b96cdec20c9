#include "millrace/kernels/value_writer.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::kernels {

ValueWriter::ValueWriter(core::DType dtype, core::Buffer values, core::Pool& pool)
    : dtype_(dtype), pool_(&pool), values_(std::move(values)) {}

absl::StatusOr<ValueWriter> ValueWriter::Open(core::DType dtype, int64_t count,
                                              core::Pool& pool) {
  CHECK_GE(count, 0);
  core::Buffer values = TRY(pool.Allocate(count * core::SizeOf(dtype)));
  ValueWriter writer(dtype, std::move(values), pool);
  if (core::IsVariable(dtype)) {
    writer.ends_.reserve(count + 1);
    writer.EndText();  // The first text begins where none has ended: at 0.
  }
  return writer;
}

ValueWriter ValueWriter::Into(core::DType dtype, core::Buffer into, core::Pool& pool) {
  CHECK(!core::IsVariable(dtype));
  return ValueWriter(dtype, std::move(into), pool);
}

std::byte* ValueWriter::TakeBytes(int64_t bytes) {
  CHECK_LE(bytes, values_.size() - written_bytes_);
  std::byte* place = values_.mutable_data() + written_bytes_;
  written_bytes_ += bytes;
  return place;
}

absl::StatusOr<core::Buffer> ValueWriter::TakeEnds() {
  const auto bytes = static_cast<int64_t>(ends_.size() * sizeof(int64_t));
  return core::CopyBytes(ends_.data(), bytes, *pool_);
}

absl::StatusOr<core::Buffer> ValueWriter::TakeValues() {
  if (core::IsVariable(dtype_)) {
    return core::CopyBytes(texts_.data(), static_cast<int64_t>(texts_.size()), *pool_);
  }
  CHECK_EQ(written_bytes_, values_.size());
  return std::move(values_);
}

absl::StatusOr<core::Tensor> ValueWriter::ToTensor(const core::Shape& shape) && {
  core::Buffer values = TRY(TakeValues());
  if (!core::IsVariable(dtype_)) {
    return core::Tensor::Fixed(dtype_, shape, std::move(values));
  }
  return core::Tensor::Texts(dtype_, shape, TRY(TakeEnds()), std::move(values));
}

absl::StatusOr<core::Column> ValueWriter::ToColumn(int64_t rows,
                                                   const core::Shape& row_shape) && {
  core::Levels levels;
  for (const int64_t size : row_shape.sizes()) {
    levels.push_back(core::Level::Fixed(size));
  }
  return std::move(*this).ToColumn(rows, std::move(levels));
}

absl::StatusOr<core::Column> ValueWriter::ToColumn(int64_t rows,
                                                   core::Levels shape_levels) && {
  core::Buffer values = TRY(TakeValues());
  if (core::IsVariable(dtype_)) {
    shape_levels.push_back(core::Level::Variable(TRY(TakeEnds())));
  }
  return core::Column::FromLevels(dtype_, rows, std::move(shape_levels),
                                  std::move(values));
}

}  // namespace millrace::kernels
