#include "millrace/bench/service/child_process.h"

#include <poll.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/text.h"

namespace millrace::bench {
namespace {

absl::Status Failed(std::string_view doing) {
  return absl::ResourceExhaustedError(
      base::StrCat("a process of the benchmark: ", doing, ": ",
                   std::generic_category().message(errno)));
}

[[noreturn]] void Run(absl::FunctionRef<void(Lines&)> work, int descriptor,
                      pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // It died before that.
  Lines lines(descriptor);
  work(lines);
  _exit(0);  // What the parent has open is the parent's to close.
}

}  // namespace

absl::Status Lines::Tell(const std::string& line) const {
  const std::string sent = base::StrCat(line, "\n");
  if (send(descriptor_, sent.data(), sent.size(), MSG_NOSIGNAL) == std::ssize(sent)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError("a process of the benchmark has ended");
}

absl::StatusOr<std::string> Lines::Hear(absl::Duration within) {
  while (true) {
    const size_t end = heard_.find('\n');
    if (end != std::string::npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    pollfd waiting = {.fd = descriptor_, .events = POLLIN, .revents = 0};
    const auto most = static_cast<int>(absl::ToInt64Milliseconds(within));
    if (poll(&waiting, 1, most) == 0) {
      return absl::DeadlineExceededError("a process of the benchmark says nothing");
    }
    std::array<char, 256> part = {};
    const ssize_t got = recv(descriptor_, part.data(), part.size(), 0);
    if (got <= 0) {
      return absl::UnavailableError("a process of the benchmark has ended");
    }
    heard_.append(part.data(), static_cast<size_t>(got));
  }
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    absl::FunctionRef<void(Lines&)> work) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Failed("socketpair");
  }
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    Run(work, ends[1], parent);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return Failed("fork");
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(process, ends[0]));
}

ChildProcess::~ChildProcess() {
  Kill();
  close(descriptor_);
}

void ChildProcess::Kill() {
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

}  // namespace millrace::bench
