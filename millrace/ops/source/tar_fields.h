// Reads the names of the members of a tar file's first row, to tell by them what all
// rows have.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::ops {

// Gives the fields of the first row of the first file that has any, sorted. Names that
// rows cannot have are left out. An error when there are none, since then the user must
// say what they would be.
absl::StatusOr<std::vector<std::string>> ReadTarFields(
    const std::vector<std::string>& paths);

}  // namespace millrace::ops
