#include "millrace/kernels/row_by_row.h"

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {

absl::StatusOr<core::Column> RowByRow(const ir::KernelCall& call, ComputeRow compute) {
  core::Tensors results;
  results.reserve(call.rows);
  for (int64_t row = 0; row < call.rows; ++row) {
    absl::StatusOr<core::Tensor> result = compute(row);
    if (!result.ok()) return RowErrorOf(row, result.status());
    CHECK_EQ(result->dtype(), call.type.dtype);
    results.push_back(*std::move(result));
  }
  return core::FromRows(call.type.dtype, std::move(results), call.pool);
}

absl::StatusOr<core::Tensor> RowOf(const ir::Operand& operand, int64_t row) {
  return operand.column.Row(operand.constant ? 0 : row);
}

}  // namespace millrace::kernels
