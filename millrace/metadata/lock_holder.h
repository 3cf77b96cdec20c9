// Finds who has a lock on a file, for the message to who cannot have it. The system is
// asked, so that the answer is never about a process that is gone. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::metadata {

// Names who holds a lock on a file: "process 12 (millrace)", or "another process"
// where the system does not say: one in another container, or on another machine.
std::string LockHolder(const std::string& path);

// Finds the holder's process in the system's list of locks; `file` is as it stands
// there, "fd:01:131074".
std::optional<int64_t> ProcessInLocks(std::string_view locks, std::string_view file);

}  // namespace millrace::metadata
