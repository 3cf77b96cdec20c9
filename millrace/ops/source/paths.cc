#include "millrace/ops/source/paths.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/spec.h"

namespace millrace::ops {

absl::StatusOr<core::Spec> SpecOfPaths(const std::vector<std::string>& paths,
                                       const core::Spec& spec) {
  if (paths.empty()) {
    return absl::InvalidArgumentError("argument paths must name a file or pattern");
  }
  if (std::ranges::any_of(paths, &std::string::empty)) {
    return absl::InvalidArgumentError("argument paths has an empty path");
  }
  return spec;
}

}  // namespace millrace::ops
