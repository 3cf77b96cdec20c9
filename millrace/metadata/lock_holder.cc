#include "millrace/metadata/lock_holder.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

#include "millrace/base/text.h"

namespace millrace::metadata {
namespace {

// Empty where it cannot be read.
std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

// A line is "1: POSIX  ADVISORY  WRITE 708 fd:01:131074 0 EOF"; one who waits for the
// lock has "->" after the number.
std::optional<int64_t> ProcessInLocks(std::string_view locks, std::string_view file) {
  for (const absl::string_view line : absl::StrSplit(base::ToAbsl(locks), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t process = 0;
    if (words.size() < 6 || base::ToStd(words[5]) != file) continue;
    if (absl::SimpleAtoi(words[4], &process) && process > 0) return process;
  }
  return std::nullopt;
}

std::string LockHolder(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return "another process";
  const std::string file = absl::StrFormat("%02x:%02x:%d", major(facts.st_dev),
                                           minor(facts.st_dev), facts.st_ino);
  const auto process = ProcessInLocks(ContentOf("/proc/locks"), file);
  if (!process) return "another process";
  if (*process == getpid()) return "this process";
  std::string name = ContentOf(base::StrCat("/proc/", *process, "/comm"));
  if (name.ends_with('\n')) name.pop_back();
  return base::StrCat("process ", *process, " (", name, ")");
}

}  // namespace millrace::metadata
