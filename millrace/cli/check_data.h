// Reads files whole to find what is wrong with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/storage/row_scanner.h"

namespace millrace::cli {

// Tells a file's format by the end of its name, compressed or not; the error lists what
// there is.
absl::StatusOr<storage::RowFormat> FormatOf(const std::string& path);

struct CheckedFile {
  int64_t rows = 0;              // That can be read.
  std::vector<std::string> bad;  // What is wrong with the others, by offset.
};

// Reads every row of a file. An error only where the file itself cannot be read.
absl::StatusOr<CheckedFile> CheckFile(const std::string& path);

}  // namespace millrace::cli
