// A process of its own that runs a function of this program, tells lines, and can be
// killed at any moment. It dies with this process at the latest. Start children before
// threads: only the calling thread lives on in a child.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace millrace::bench {

// A child's way to talk: lines both ways.
class Lines {
 public:
  explicit Lines(int descriptor) : descriptor_(descriptor) {}

  absl::Status Tell(const std::string& line) const;

  // Waits for a line; Unavailable where the other side has ended, DeadlineExceeded
  // where it says nothing.
  absl::StatusOr<std::string> Hear(absl::Duration within = absl::Minutes(1));

 private:
  int descriptor_;
  std::string heard_;  // Behind the last line.
};

class ChildProcess {
 public:
  // Calls `work` in the child, which ends when that returns.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      absl::FunctionRef<void(Lines&)> work);

  // Kills it.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t process() const { return process_; }

  Lines& lines() { return lines_; }

  // Ends it as it stands, and waits until it is gone. May be repeated.
  void Kill();

 private:
  ChildProcess(pid_t process, int descriptor)
      : process_(process), descriptor_(descriptor), lines_(descriptor) {}

  pid_t process_;
  int descriptor_;
  Lines lines_;
};

}  // namespace millrace::bench
