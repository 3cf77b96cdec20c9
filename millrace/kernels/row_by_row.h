// The slow way for kernels that look at a whole row at once: one row after another,
// each as a tensor, whatever the layout. Costs an allocation or so per row. Pure.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

// Computes one row of the result.
using ComputeRow = absl::FunctionRef<absl::StatusOr<core::Tensor>(int64_t row)>;

// Computes all rows of a call. An error is about the first row that fails; those that
// say the row itself is wrong (InvalidArgument) become row errors.
absl::StatusOr<core::Column> RowByRow(const ir::KernelCall& call, ComputeRow compute);

// Gives a row of an operand; of a constant one, its only row.
absl::StatusOr<core::Tensor> RowOf(const ir::Operand& operand, int64_t row);

}  // namespace millrace::kernels
