// What of this machine is ours: processors by affinity and control group, memory by
// control group. Read once, at start; the defaults of an engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::exec {

// Threads that may compute at once: by affinity, and by the quota of the control group.
// At least 1.
int AvailableThreads();

// Memory that the process may have: of the control group, else of the machine.
int64_t AvailableMemoryBytes();

// An engine's budget where nobody says otherwise: a quarter of that.
int64_t DefaultMemoryBytes();

// What a process may have by its control group and all groups around it.
struct GroupLimits {
  std::optional<int> processors = {};
  std::optional<int64_t> memory_bytes = {};
};

// Reads the limits of a process: `groups` is its /proc/self/cgroup, `root` where the
// groups are. In a container its own group is the root.
GroupLimits ReadGroupLimits(std::string_view groups, const std::string& root);

// Reads "max 100000" or "150000 100000" (cpu.max): processors, rounded up. Nothing
// where there is no limit, or no sense.
std::optional<int> ParseCpuQuota(std::string_view text);

// Reads "max" or a number of bytes (memory.max).
std::optional<int64_t> ParseMemoryLimit(std::string_view text);

}  // namespace millrace::exec
