#include "millrace/kernels/row_error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::kernels {

absl::Status RowError(int64_t row, std::string_view what) {
  return absl::DataLossError(base::StrCat("row ", row, ": ", what));
}

absl::Status RowErrorOf(int64_t row, const absl::Status& error) {
  if (error.code() != absl::StatusCode::kInvalidArgument) return error;
  return RowError(row, base::ToStd(error.message()));
}

bool IsOfRow(const absl::Status& error) {
  return absl::IsDataLoss(error) || absl::IsInvalidArgument(error) ||
         absl::IsOutOfRange(error);
}

absl::Status OfOnlyRow(const absl::Status& error) {
  CHECK(IsOfRow(error)) << error;
  constexpr std::string_view kNumber = "row 0: ";
  std::string message(base::ToStd(error.message()));
  const size_t at = message.find(kNumber);
  if (at != std::string::npos) message.erase(at, kNumber.size());
  return absl::DataLossError(message);
}

}  // namespace millrace::kernels
