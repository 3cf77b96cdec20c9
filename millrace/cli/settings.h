// Flags that come from elsewhere: every flag of a verb is also a variable of the
// environment, and a key of a file (TOML or INI) that --config names. What is closer to
// the user counts: the command line, then the environment, then the file, then the
// default.
//
//   token-file = "/etc/millrace/token"    # For whichever verb reads the file.
//   [worker]                              # For `millrace worker` alone.
//   join = "dispatcher:7171"
//   tag = ["gpu", "large"]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace CLI {  // NOLINT(readability-identifier-naming): of CLI11.
class App;
}  // namespace CLI

namespace millrace::cli {

// How the process logs; empty: as MILLRACE_LOG says.
struct LogFlags {
  std::string level;
  std::string format;
};

// Gives each flag of the verb a variable where it has none yet, and adds --config and
// the flags of the log, which are the same for all such verbs.
void AddSettings(CLI::App& command, LogFlags& log);

// The words of a command line, with flags behind the verb for what only the environment
// or the file says. `verbs` are those that a file may have sections for.
absl::StatusOr<std::vector<std::string>> WithSettings(
    const CLI::App& command, const std::vector<std::string>& verbs,
    std::vector<std::string> words);

// Has the process log as the flags say.
absl::Status SetLog(const LogFlags& log);

}  // namespace millrace::cli
