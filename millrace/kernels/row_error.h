// Errors that are about one row and not about the pipeline or the machine: DataLoss,
// the code that tells a job to skip the row or stop, as it was told.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::kernels {

// "row 7: division by zero". Rows are counted from 0 within the block.
absl::Status RowError(int64_t row, std::string_view what);

// Tells that a row's value has not the regular shape it would need, or passes on any
// other error, such as of memory.
absl::Status RowErrorOf(int64_t row, const absl::Status& error);

// Tells whether an error is about the rows: they are corrupt, or not what a kernel can
// take. Others, such as of memory, are not.
bool IsOfRow(const absl::Status& error);

// Makes an error of a block of one row DataLoss that does not number the row: its place
// in that block says nothing.
absl::Status OfOnlyRow(const absl::Status& error);

}  // namespace millrace::kernels
