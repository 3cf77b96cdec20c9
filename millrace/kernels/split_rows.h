// Runs kernels that split one text per row into parts: a ragged result, written
// without a tensor per row. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"

namespace millrace::kernels {

// The type of the parts of one text per row; an error when the operand is another.
absl::StatusOr<ir::ValueType> InferParts(const ir::KernelTypes& types);

// Adds the parts of a text, which are views of it, to those found before.
using SplitText =
    absl::FunctionRef<void(std::string_view text, std::vector<std::string_view>&)>;

// Splits the text of each row. An error is about the first row that is no one text.
absl::StatusOr<core::Column> SplitRows(const ir::KernelCall& call, SplitText split);

}  // namespace millrace::kernels
