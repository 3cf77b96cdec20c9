#include "millrace/api/error.h"

#include <string>

#include "absl/status/status.h"

#include "millrace/base/check.h"

namespace millrace::api {

Error ToError(const absl::Status& status) {
  CHECK(!status.ok());
  return {absl::StatusCodeToString(status.code()), std::string(status.message())};
}

absl::Status ToStatus(const Error& error) {
  constexpr int kLast = static_cast<int>(absl::StatusCode::kUnauthenticated);
  for (int number = 1; number <= kLast; ++number) {
    const auto known = static_cast<absl::StatusCode>(number);
    if (absl::StatusCodeToString(known) == error.code) return {known, error.message};
  }
  return absl::UnknownError(error.message);
}

}  // namespace millrace::api
