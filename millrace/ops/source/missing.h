// What becomes of a value that a row should have and has not: an argument of sources
// that parse texts. Plain data.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace millrace::ops {

enum class Missing : uint8_t {
  kError,    // Its row is wrong.
  kDefault,  // 0, of floats NaN, of texts an empty one, of arrays no items.
};

inline constexpr char kMissingDoc[] =
    "What becomes of a value that is not there: \"error\", its row is wrong, or "
    "\"default\", it is 0, of floats NaN, of texts empty, of arrays without items.";

// Reads the argument.
absl::StatusOr<Missing> MissingOf(std::string_view text);

}  // namespace millrace::ops
