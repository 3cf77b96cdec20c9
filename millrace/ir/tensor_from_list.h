// Makes a constant array from nested lists, as in float32[[1.0, 2.0], [3.0, 4.0]].
#pragma once

#include "absl/status/statusor.h"

#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"

namespace millrace::ir {

// Converts every item to `dtype`; the lists must be of equal length at each depth.
absl::StatusOr<core::Tensor> TensorFromList(const Value& list, core::DType dtype);

}  // namespace millrace::ir
