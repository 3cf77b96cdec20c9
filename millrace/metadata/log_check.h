// Finds damage in the write-ahead log that a killed process left behind. SQLite ends
// reading at the first frame whose sum is wrong, and takes that for a write that power
// cut short; what was acknowledged behind it would be lost without a word.
//
// A transaction begins when the one before is on the disk. So power can cut short the
// last one only: where two or more end behind a wrong frame, it is damage. A wrong
// frame in the last transaction cannot be told from one that was never acknowledged.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace millrace::metadata {

// Reads a log, frame by frame; DataLoss where it is damaged. None is good.
absl::Status CheckLog(const std::string& path);

}  // namespace millrace::metadata
