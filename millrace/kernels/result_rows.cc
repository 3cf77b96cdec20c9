#include "millrace/kernels/result_rows.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/result_buffer.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {

absl::StatusOr<ResultRows> ResultRows::Open(const ir::KernelCall& call) {
  ResultRows rows(call);
  rows.dense_ = call.type.shape.IsKnown();
  if (rows.dense_) {
    rows.values_ = TRY(ResultBuffer(call));
  } else {
    rows.tensors_.reserve(call.rows);
  }
  return rows;
}

absl::StatusOr<std::byte*> ResultRows::Take(const core::Shape& shape) {
  CHECK_LT(taken_, call_->rows);
  CHECK(call_->type.shape.Admits(shape)) << shape << " is not " << call_->type.shape;
  const int64_t bytes = TRY(shape.CountChecked()) * core::SizeOf(call_->type.dtype);
  const int64_t row = taken_++;
  if (dense_) return values_.mutable_data() + row * bytes;
  core::Buffer values = TRY(call_->pool.Allocate(bytes));
  std::byte* place = values.mutable_data();
  tensors_.push_back(core::Tensor::Fixed(call_->type.dtype, shape, std::move(values)));
  return place;
}

core::Column ResultRows::ToColumn() && {
  CHECK_EQ(taken_, call_->rows);
  const core::DType dtype = call_->type.dtype;
  if (!dense_) return core::Column::OfTensors(dtype, std::move(tensors_));
  return core::Column::Dense(dtype, taken_, call_->type.shape, std::move(values_));
}

absl::StatusOr<core::Column> WriteRows(const ir::KernelCall& call, WriteRow write) {
  ResultRows out = TRY(ResultRows::Open(call));
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status written = write(row, out);
    if (!written.ok()) return RowErrorOf(row, written);
  }
  return std::move(out).ToColumn();
}

}  // namespace millrace::kernels
