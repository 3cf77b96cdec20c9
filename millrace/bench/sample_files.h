// Data for the workloads, made once: a file that is there is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace millrace::bench {

// A TFRecord or tar file of so many rows of so many bytes, below a folder.
absl::StatusOr<std::string> MakeTfrecord(const std::string& folder, int64_t rows,
                                         int64_t row_bytes);
absl::StatusOr<std::string> MakeTar(const std::string& folder, int64_t rows,
                                    int64_t row_bytes);

// A row as a TFRecord file has it: with its length and both sums.
std::string TfrecordFrame(std::string_view row);

// A file of rows, and how long it is.
struct RowFile {
  std::string path;
  int64_t bytes = 0;
};

// Writes `head`, then so many rows as `row` gives them, each with what ends it.
absl::StatusOr<RowFile> MakeRowFile(const std::string& path, std::string_view head,
                                    int64_t rows,
                                    absl::FunctionRef<std::string(int64_t)> row);

}  // namespace millrace::bench
