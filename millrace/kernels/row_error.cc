#include "millrace/kernels/row_error.h"

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"

namespace millrace::kernels {

absl::Status RowError(int64_t row, std::string_view what) {
  return absl::DataLossError(base::StrCat("row ", row, ": ", what));
}

absl::Status RowErrorOf(int64_t row, const absl::Status& error) {
  if (error.code() != absl::StatusCode::kInvalidArgument) return error;
  return RowError(row, base::ToStd(error.message()));
}

}  // namespace millrace::kernels
