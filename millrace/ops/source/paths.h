// What sources of files have in common: the argument `paths`. Plain data.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/core/spec.h"

namespace millrace::ops {

inline constexpr char kPathsDoc[] =
    "The files: paths or patterns such as train-{000..127}.tar, *.tar, data/**/*.txt. "
    "They are read sorted by name.";

struct PathsArgs {
  std::vector<std::string> paths;
};

// Gives the spec when there are paths and none is empty.
absl::StatusOr<core::Spec> SpecOfPaths(const std::vector<std::string>& paths,
                                       const core::Spec& spec);

}  // namespace millrace::ops
