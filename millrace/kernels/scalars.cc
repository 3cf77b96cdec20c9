#include "millrace/kernels/scalars.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {
namespace {

// The first row that is no scalar.
absl::Status CheckScalars(const core::Column& column) {
  for (int64_t row = 0; row < column.rows(); ++row) {
    const absl::StatusOr<core::Tensor> tensor = column.Row(row);
    if (!tensor.ok()) return RowErrorOf(row, tensor.status());
    if (tensor->shape().is_scalar()) continue;
    return RowError(row, base::StrCat("needs a scalar, not a value of shape ",
                                      tensor->shape().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<core::Column> ScalarColumn(const ir::Operand& operand, core::DType dtype,
                                          core::Pool& pool) {
  core::Column column = operand.column;
  if (column.rows() == 0) return core::Column::Dense(dtype, 0, {}, {});
  if (!column.IsDense() || !column.row_shape()->is_scalar()) {
    TRY(CheckScalars(column));
    column = TRY(core::ToUniform(column, pool));
  }
  CHECK(column.IsDense());
  return Convert(column, dtype, pool);
}

}  // namespace millrace::kernels
