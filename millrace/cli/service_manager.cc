#include "millrace/cli/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/time/time.h"

#include "millrace/base/log.h"
#include "millrace/base/text.h"

namespace millrace::cli {
namespace {

std::string Variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody here changes the environment.
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Half of what the watchdog waits, as it wants to be told.
absl::Duration WatchdogPeriod() {
  int64_t microseconds = 0;
  int64_t process = 0;
  const bool is_watched =
      absl::SimpleAtoi(Variable("WATCHDOG_USEC"), &microseconds) && microseconds > 0;
  const bool is_for_another = absl::SimpleAtoi(Variable("WATCHDOG_PID"), &process) &&
                              process != int64_t{getpid()};
  if (!is_watched || is_for_another) return absl::InfiniteDuration();
  return absl::Microseconds(microseconds) / 2;
}

}  // namespace

ServiceManager::ServiceManager()
    : socket_(Variable("NOTIFY_SOCKET")), period_(WatchdogPeriod()) {}

void ServiceManager::Ready(const std::string& status) {
  Send(base::StrCat("READY=1\nSTATUS=", status));
}

void ServiceManager::Ending() { Send("STOPPING=1\nSTATUS=ending"); }

bool ServiceManager::IsDue(absl::Duration now) {
  if (socket_.empty() || now - told_ < period_) return false;
  told_ = now;
  return period_ != absl::InfiniteDuration();
}

void ServiceManager::Alive() { Send("WATCHDOG=1"); }

void ServiceManager::Send(const std::string& message) const {
  sockaddr_un address = {};
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';  // A name, not a file.
  const size_t length = offsetof(sockaddr_un, sun_path) + socket_.size();
  const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool sent =
      sender >= 0 && sendto(sender, message.data(), message.size(), MSG_NOSIGNAL,
                            reinterpret_cast<const sockaddr*>(&address),
                            static_cast<socklen_t>(length)) >= 0;
  if (sender >= 0) close(sender);
  if (!sent) {
    base::LogOnce("NOTIFY_SOCKET", base::LogLevel::kWarning,
                  "the service manager cannot be told", {{"socket", socket_}});
  }
}

}  // namespace millrace::cli
