#include "millrace/cli/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

constexpr int kCannotStart = 127;  // As shells say it.

absl::Status Failed(const std::string& what) {
  return absl::UnavailableError(
      base::StrCat(what, ": ", std::generic_category().message(errno)));
}

std::vector<std::string> VariablesWithout(const std::vector<std::string>& names) {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::string name = text.substr(0, text.find('='));
    if (std::ranges::find(names, name) == names.end()) kept.push_back(text);
  }
  return kept;
}

std::vector<char*> Raw(std::vector<std::string>& texts) {
  std::vector<char*> raw;
  raw.reserve(texts.size() + 1);
  for (std::string& text : texts) raw.push_back(text.data());
  raw.push_back(nullptr);
  return raw;
}

// Between fork and exec: only what is safe where other threads have vanished.
[[noreturn]] void Become(const std::vector<char*>& words,
                         const std::vector<char*>& variables, int output,
                         pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotStart);  // It has died meanwhile.
  dup2(output, STDOUT_FILENO);
  execvpe(words[0], words.data(), variables.data());
  _exit(kCannotStart);
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    return base::StrCat("was ended by signal ", WTERMSIG(status));
  }
  return base::StrCat("ended with exit code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Child>> Child::Start(
    const std::vector<std::string>& words, const std::vector<std::string>& without) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed("cannot make a pipe");
  std::vector<std::string> own_words = words;
  std::vector<std::string> own_variables = VariablesWithout(without);
  const std::vector<char*> raw_words = Raw(own_words);
  const std::vector<char*> raw_variables = Raw(own_variables);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) Become(raw_words, raw_variables, ends[1], parent);
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return Failed("cannot start a process");
  }
  return std::unique_ptr<Child>(new Child(process, ends[0]));
}

Child::~Child() {
  close(output_);
  if (Ended()) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

absl::StatusOr<std::string> Child::ReadLine(absl::Duration within) {
  base::Clock& clock = base::RealClock();
  const absl::Duration until = clock.Monotonic() + within;
  std::array<char, 4096> part = {};
  while (line_.find('\n') == std::string::npos) {
    const absl::Duration left = until - clock.Monotonic();
    pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
    const auto milliseconds = static_cast<int>(absl::ToInt64Milliseconds(left));
    if (left <= absl::ZeroDuration() || poll(&ready, 1, milliseconds) == 0) {
      return absl::DeadlineExceededError("it has said nothing");
    }
    const ssize_t got = read(output_, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return absl::UnavailableError("it has closed its output");
    line_.append(part.data(), static_cast<size_t>(got));
  }
  const size_t end = line_.find('\n');
  std::string line = line_.substr(0, end);
  line_.erase(0, end + 1);
  return line;
}

std::optional<std::string> Child::Ended() {
  int status = 0;
  if (!ended_ && waitpid(process_, &status, WNOHANG) == process_) {
    ended_ = HowItEnded(status);
  }
  return ended_;
}

void Child::Ask() const {
  if (!ended_) kill(process_, SIGTERM);
}

std::vector<std::string> ThisProgram(int argc) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> words =
      absl::StrSplit(text.substr(0, text.rfind('\0')), '\0');
  const auto own = static_cast<size_t>(std::max(argc - 1, 0));
  words.resize(std::max<size_t>(1, words.size() - std::min(own, words.size())));
  return words;
}

}  // namespace millrace::cli
