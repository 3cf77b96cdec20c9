// Runs an element-wise kernel: brings each operand to the type it is computed in, then
// broadcasts (broadcast.h). Pure; no thread rule.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {

// Computes a call's result, of its inferred type. `dtypes` says what each operand is
// brought to; texts stay as they are. `failure` is what is wrong with a value for which
// the loop stops. Requires: a type per operand.
absl::StatusOr<core::Column> Elementwise(const ir::KernelCall& call,
                                         absl::Span<const core::DType> dtypes,
                                         Loop loop, std::string_view failure = {});

// The same where the loop itself says what is wrong with the value at which it stops:
// it writes that to `found`.
absl::StatusOr<core::Column> ElementwiseChecked(const ir::KernelCall& call,
                                                absl::Span<const core::DType> dtypes,
                                                Loop loop, const std::string& found);

}  // namespace millrace::kernels
