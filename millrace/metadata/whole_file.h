// Makes small files that are there with all of their content, or not at all, whatever
// is killed meanwhile.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace millrace::metadata {

// Makes a file with this content, durable on return. One that is there already stays as
// it is, which is no error: somebody else was faster.
absl::Status MakeWholeFile(const std::string& path, std::string_view content);

}  // namespace millrace::metadata
