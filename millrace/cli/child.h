// A process that this one starts, and that ends with it at the latest, even if this one
// is killed: the system sees to it. One thread, which lives as long as the child.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace millrace::cli {

class Child {
 public:
  // Starts a program, found as a shell finds it. What it writes to its standard output
  // is for ReadLine; its variables are ours, less those named.
  static absl::StatusOr<std::unique_ptr<Child>> Start(
      const std::vector<std::string>& words, const std::vector<std::string>& without);

  // Ends it, at once.
  ~Child();

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t process() const { return process_; }

  // The next line it writes. Unavailable: it has closed its output; DeadlineExceeded.
  absl::StatusOr<std::string> ReadLine(absl::Duration within);

  // How it ended, in words; nothing while it runs.
  std::optional<std::string> Ended();

  // Asks it to end.
  void Ask() const;

 private:
  Child(pid_t process, int output) : process_(process), output_(output) {}

  pid_t process_;
  int output_;
  std::string line_;  // The beginning of one.
  std::optional<std::string> ended_;
};

// The words that started this process, less those of the command line it was given: so
// another one is started, be it a program or a script.
std::vector<std::string> ThisProgram(int argc);

}  // namespace millrace::cli
