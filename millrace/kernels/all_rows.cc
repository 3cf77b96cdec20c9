#include "millrace/kernels/all_rows.h"

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {

absl::StatusOr<core::Tensor> StackedRows(const core::Column& column, core::Pool& pool) {
  CHECK(column.row_shape().has_value());
  const core::Column whole = TRY(core::WithoutGaps(column, pool));
  return whole.Stack(whole.rows()).Row(0);
}

absl::StatusOr<core::Column> RowsOfStack(const core::Tensor& stack) {
  core::Levels levels;
  for (int axis = 1; axis < stack.shape().rank(); ++axis) {
    levels.push_back(core::Level::Fixed(stack.shape()[axis]));
  }
  if (core::IsVariable(stack.dtype())) {
    levels.push_back(core::Level::Variable(stack.offsets()));
  }
  return core::Column::FromLevels(stack.dtype(), stack.shape()[0], std::move(levels),
                                  stack.values());
}

absl::StatusOr<core::Column> ForAllRows(const ir::KernelCall& call,
                                        ComputeRows compute) {
  const ir::Operand& x = call.operands[0];
  if (x.column.row_shape().has_value() && x.column.rows() > 0) {
    const core::Tensor stack = TRY(StackedRows(x.column, call.pool));
    const absl::StatusOr<core::Tensor> result = compute(stack, 1);
    if (!result.ok()) return RowErrorOf(0, result.status());
    CHECK_EQ(result->dtype(), call.type.dtype);
    CHECK_EQ(result->shape()[0], call.rows);
    return RowsOfStack(*result);
  }
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<core::Tensor> {
    return compute(TRY(RowOf(x, row)), 0);
  });
}

}  // namespace millrace::kernels
