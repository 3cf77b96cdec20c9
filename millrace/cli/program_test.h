// For tests: the command as people use it, the real program, in a process of its own.
#pragma once

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <stdio.h>   // NOLINT(modernize-deprecated-headers): popen is of POSIX.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::cli {

constexpr int kWaitMicroseconds = 10'000;
constexpr int kWaitTimes = 6'000;  // A minute.

// Whether a process does anything still; one that nobody has asked about does not.
inline bool IsAlive(pid_t process) {
  std::ifstream file(base::StrCat("/proc/", process, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end + 2, 1) != "Z";
}

// Waits until something holds; tells whether it came to that.
template <typename Condition>
bool Eventually(const Condition& holds) {
  for (int i = 0; i < kWaitTimes; ++i) {
    if (holds()) return true;
    usleep(kWaitMicroseconds);
  }
  return false;
}

// The processes that a process has started.
inline std::vector<pid_t> ChildrenOf(pid_t process) {
  std::ifstream file(base::StrCat("/proc/", process, "/task/", process, "/children"));
  return {std::istream_iterator<pid_t>(file), {}};
}

// The folder with the program, which was built beside this test.
inline std::string ProgramFolder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// What a line of the shell prints, whether on success or failure, and its exit code
// where that is not 0.
inline std::string OutputOf(const std::string& line) {
  FILE* pipe = popen(line.c_str(), "r");  // NOLINT(cert-env33-c)
  CHECK(pipe != nullptr);
  std::string output;
  std::array<char, 4096> part = {};
  while (const size_t size = fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), size);
  }
  const int code = WEXITSTATUS(pclose(pipe));
  return code == 0 ? output : base::StrCat(output, "exit code ", code);
}

// A process of `millrace`, which dies with this test at the latest.
class Program {
 public:
  enum class Errors { kApart, kAmongOutput };

  explicit Program(std::vector<std::string> arguments, Errors errors = Errors::kApart) {
    int ends[2];
    CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t parent = getpid();
    pid_ = fork();
    CHECK_GE(pid_, 0);
    if (pid_ == 0) {
      if (errors == Errors::kAmongOutput) dup2(ends[1], STDERR_FILENO);
      Become(std::move(arguments), ends[1], parent);
    }
    close(ends[1]);
    output_ = fdopen(ends[0], "r");
    CHECK(output_ != nullptr);
  }

  ~Program() {
    if (pid_ > 0) End(SIGKILL);
    fclose(output_);
  }

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t process() const { return pid_; }

  // The next line that it prints, without its end.
  std::string Line() {
    std::string line;
    for (int c = fgetc(output_); c != EOF && c != '\n'; c = fgetc(output_)) {
      line.push_back(static_cast<char>(c));
    }
    return line;
  }

  std::string Rest() {
    std::string rest;
    for (int c = fgetc(output_); c != EOF; c = fgetc(output_)) {
      rest.push_back(static_cast<char>(c));
    }
    return rest;
  }

  void Signal(int signal) const { kill(pid_, signal); }

  // Sends it a signal, and waits for its end; gives how it ended.
  int End(int signal) {
    Signal(signal);
    return Wait();
  }

  int Wait() {
    int status = 0;
    CHECK_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = -1;
    return status;
  }

  // The address that it says it listens on.
  std::string Address() {
    const std::string line = Line();
    CHECK(line.find(" listens on ") != std::string::npos) << line;
    return line.substr(line.rfind(' ') + 1);
  }

 private:
  [[noreturn]] static void Become(std::vector<std::string> arguments, int output,
                                  pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    dup2(output, STDOUT_FILENO);
    const std::string program = ProgramFolder() + "/millrace";
    std::vector<char*> raw = {const_cast<char*>(program.c_str())};
    for (std::string& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    execv(program.c_str(), raw.data());
    _exit(127);
  }

  pid_t pid_ = -1;
  FILE* output_ = nullptr;
};

}  // namespace millrace::cli
