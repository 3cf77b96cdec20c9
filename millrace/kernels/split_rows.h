// Runs kernels that make several values of one text per row: a ragged result, written
// without a tensor per row. Pure.
#pragma once

#include <cstdint>
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

// Reads a row's text; gives how many values it has.
using ReadRowText = absl::FunctionRef<absl::StatusOr<int64_t>(std::string_view text)>;

// Reads the text of each row. Gives the level that says which values are a row's. An
// error is about the first row that is no one text, or that cannot be read.
absl::StatusOr<core::Level> ReadRowTexts(const ir::KernelCall& call, ReadRowText read);

// Adds the parts of a text, which are views of it, to those found before.
using SplitText =
    absl::FunctionRef<void(std::string_view text, std::vector<std::string_view>&)>;

// Splits the text of each row. An error is about the first row that is no one text.
absl::StatusOr<core::Column> SplitRows(const ir::KernelCall& call, SplitText split);

}  // namespace millrace::kernels
