#include "millrace/api/error.h"

#include <string_view>

#include "absl/status/status.h"

#include "millrace/base/text.h"

namespace millrace::api {

absl::Status ToStatus(std::string_view code, std::string_view message) {
  constexpr int kLast = static_cast<int>(absl::StatusCode::kUnauthenticated);
  for (int number = 1; number <= kLast; ++number) {
    const auto known = static_cast<absl::StatusCode>(number);
    if (absl::StatusCodeToString(known) == code) return {known, base::ToAbsl(message)};
  }
  return absl::UnknownError(base::ToAbsl(message));
}

}  // namespace millrace::api
