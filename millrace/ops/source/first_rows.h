// Reads the first rows of some files, to tell by them what all are like.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/ops/source/scan_source.h"

namespace millrace::ops {

// Gives the texts of at most 1,000 rows, or about 1 MiB, of the first file that has
// any; rows that are wrong are left out. An error when there are none, since then the
// user must say what they would be. Requires: a format whose rows are one text each.
absl::StatusOr<std::vector<std::string>> ReadFirstTexts(
    const std::vector<std::string>& paths, const ScanFormat& format);

}  // namespace millrace::ops
