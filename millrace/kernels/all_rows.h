// Runs kernels of one operand that treat all rows alike: rows of one shape go all at
// once, as one tensor with the rows as its first axis, others one by one. Pure; costs
// what the computation costs where the layout is dense.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

// Computes the result of a row, or of rows that are stacked: then `outer` is 1, the
// number of axes in front of those of a row, which must stay. Whether it fails depends
// on the row's shape alone.
using ComputeRows =
    absl::FunctionRef<absl::StatusOr<core::Tensor>(const core::Tensor& x, int outer)>;

// Computes a call by what its first operand has. Errors that say the row itself is
// wrong (InvalidArgument) become row errors. Requires: the only operand that is not
// constant, unless all are.
absl::StatusOr<core::Column> ForAllRows(const ir::KernelCall& call,
                                        ComputeRows compute);

// The rows of a column as one tensor. Requires: all of one shape, by its levels.
absl::StatusOr<core::Tensor> StackedRows(const core::Column& column, core::Pool& pool);

// The parts of a tensor along its first axis as rows, without a copy.
absl::StatusOr<core::Column> RowsOfStack(const core::Tensor& stack);

}  // namespace millrace::kernels
