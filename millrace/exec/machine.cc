#include "millrace/exec/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "millrace/base/text.h"

namespace millrace::exec {
namespace {

// A file's first bytes; nothing where it cannot be read.
std::string ReadSmallFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<int64_t> ParsePositive(std::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(base::ToAbsl(text), &number) || number <= 0) return {};
  return number;
}

// The least of what is known.
template <typename Number>
std::optional<Number> Least(std::optional<Number> a, std::optional<Number> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The group of a process, below the root, as the line "0::/a/b" tells it; "" where it
// is the root itself, or not told.
std::string GroupOf(std::string_view groups) {
  for (const absl::string_view line : absl::StrSplit(base::ToAbsl(groups), '\n')) {
    if (absl::StartsWith(line, "0::/")) return std::string(line.substr(3));
  }
  return "";
}

const GroupLimits& OwnLimits() {
  static const GroupLimits limits =
      ReadGroupLimits(ReadSmallFile("/proc/self/cgroup"), "/sys/fs/cgroup");
  return limits;
}

}  // namespace

GroupLimits ReadGroupLimits(std::string_view groups, const std::string& root) {
  GroupLimits limits;
  std::string group = GroupOf(groups);
  for (;;) {
    const std::string folder = base::StrCat(root, group);
    limits.processors =
        Least(limits.processors,
              ParseCpuQuota(ReadSmallFile(base::StrCat(folder, "/cpu.max"))));
    limits.memory_bytes =
        Least(limits.memory_bytes,
              ParseMemoryLimit(ReadSmallFile(base::StrCat(folder, "/memory.max"))));
    if (group.empty()) return limits;
    group.resize(group.rfind('/'));
  }
}

std::optional<int> ParseCpuQuota(std::string_view text) {
  const std::vector<std::string> parts =
      absl::StrSplit(base::ToAbsl(text), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (parts.size() != 2) return std::nullopt;
  const std::optional<int64_t> quota = ParsePositive(parts[0]);
  const std::optional<int64_t> period = ParsePositive(parts[1]);
  if (!quota || !period) return std::nullopt;
  const int64_t processors = (*quota - 1) / *period + 1;
  return static_cast<int>(std::min<int64_t>(processors, 1 << 16));
}

std::optional<int64_t> ParseMemoryLimit(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return ParsePositive(text);
}

int AvailableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, std::min(allowed, OwnLimits().processors.value_or(allowed)));
}

int64_t AvailableMemoryBytes() {
  const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) *
                          static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  return std::min(machine, OwnLimits().memory_bytes.value_or(machine));
}

int64_t DefaultMemoryBytes() { return AvailableMemoryBytes() / 4; }

}  // namespace millrace::exec
