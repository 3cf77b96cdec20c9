#include "millrace/bench/usage.h"

#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "millrace/base/text.h"

namespace millrace::bench {

double CpuSeconds() {
  rusage usage = {};  // NOLINT(misc-include-cleaner): sys/resource.h has it.
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {  // NOLINT(misc-include-cleaner)
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double CpuSecondsOf(pid_t process) {
  std::ifstream file(base::StrCat("/proc/", process, "/stat"));
  // The name, in parentheses, may hold anything; eleven words stand between it and what
  // the process worked, for itself and in the kernel.
  std::string word;
  while (file >> word && !word.ends_with(')')) {
  }
  for (int i = 0; i < 11; ++i) file >> word;
  int64_t own = 0;
  int64_t in_kernel = 0;
  file >> own >> in_kernel;
  return static_cast<double>(own + in_kernel) /
         static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t StatusBytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    int64_t kibibytes = 0;
    if (word == name && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}

}  // namespace millrace::bench
