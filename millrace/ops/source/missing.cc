#include "millrace/ops/source/missing.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/text.h"

namespace millrace::ops {

absl::StatusOr<Missing> MissingOf(std::string_view text) {
  if (text == "error") return Missing::kError;
  if (text == "default") return Missing::kDefault;
  return absl::InvalidArgumentError(base::StrCat(
      "argument missing must be \"error\" or \"default\", not \"", text, "\""));
}

}  // namespace millrace::ops
