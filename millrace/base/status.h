// Errors are values: absl::Status and absl::StatusOr<T>, passed on with TRY. Everything
// that can fail for reasons outside the program returns one; broken assumptions of the
// program itself are CHECKs (check.h). Free of threads; the good path costs a compare.
#pragma once

#include <string_view>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::base {

// Puts "context: " before the message of an error; code and payloads stay. An OK status
// stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// What TRY needs to treat a Status and a StatusOr alike.
inline absl::Status TakeStatus(absl::Status&& status) { return std::move(status); }

template <typename T>
absl::Status TakeStatus(absl::StatusOr<T>&& result) {
  return std::move(result).status();
}

inline void TakeValue(absl::Status&&) {}

template <typename T>
T TakeValue(absl::StatusOr<T>&& result) {
  return *std::move(result);
}

}  // namespace millrace::base

// Yields the value of a StatusOr (or nothing, of a Status); on error, returns the
// status from the enclosing function, which returns a Status or a StatusOr:
//
//   Tensor image = TRY(Decode(bytes));
//   TRY(file.Close());
//
// A lambda that uses TRY states its return type. A result held in a variable is copied,
// unless it is moved in: TRY(std::move(result)).
#define TRY(...)                                                           \
  __extension__({                                                          \
    auto millrace_try_result = (__VA_ARGS__);                              \
    if (ABSL_PREDICT_FALSE(!millrace_try_result.ok())) {                   \
      return ::millrace::base::TakeStatus(std::move(millrace_try_result)); \
    }                                                                      \
    ::millrace::base::TakeValue(std::move(millrace_try_result));           \
  })
