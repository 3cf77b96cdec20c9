// For tests: a real process that runs a function, tells lines, and can be killed.
#pragma once

#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"

#include "millrace/base/check.h"

namespace millrace::metadata {

// What a child can do besides its work.
class Teller {
 public:
  explicit Teller(int descriptor) : descriptor_(descriptor) {}

  // Tells the parent a line.
  void Tell(std::string line) const {
    line += '\n';
    CHECK_EQ(write(descriptor_, line.data(), line.size()), line.size());
  }

  // Stays until it is killed.
  [[noreturn]] static void Stay() {
    while (true) pause();
  }

 private:
  const int descriptor_;
};

class Child {
 public:
  explicit Child(absl::FunctionRef<void(const Teller&)> work) {
    std::array<int, 2> ends = {};
    CHECK_EQ(pipe(ends.data()), 0);
    process_ = fork();
    CHECK_GE(process_, 0);
    if (process_ == 0) {
      close(ends[0]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // It does not stay where a test has failed.
      work(Teller(ends[1]));
      _exit(0);
    }
    close(ends[1]);
    descriptor_ = ends[0];
  }

  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  ~Child() {
    Kill();
    close(descriptor_);
  }

  pid_t process() const { return process_; }

  // Waits for the next line; none when the child has ended.
  std::optional<std::string> Next() {
    std::string line;
    for (char letter = 0; read(descriptor_, &letter, 1) == 1; line += letter) {
      if (letter == '\n') return line;
    }
    return std::nullopt;
  }

  // Ends it as it stands, and waits until it is gone.
  void Kill() {
    if (process_ == 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
  int descriptor_ = -1;
};

}  // namespace millrace::metadata
