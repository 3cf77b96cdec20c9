// Data for the workloads, made once: a file that is there is kept.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace millrace::bench {

// A TFRecord or tar file of so many rows of so many bytes, below a folder.
absl::StatusOr<std::string> MakeTfrecord(const std::string& folder, int64_t rows,
                                         int64_t row_bytes);
absl::StatusOr<std::string> MakeTar(const std::string& folder, int64_t rows,
                                    int64_t row_bytes);

}  // namespace millrace::bench
