// Reads pipelines in text form, from a file or from standard input, and rewrites them
// for running. Errors name the file.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/rewrite/rewrite.h"

namespace millrace::cli {

// Reads and rewrites the pipeline in a file; - is standard input. `off`: rewrites to
// leave out, or "all".
absl::StatusOr<rewrite::Rewritten> ReadPipeline(const std::string& file,
                                                const std::vector<std::string>& off);

}  // namespace millrace::cli
