// Tells the service manager that started this process (systemd, with Type=notify) how
// it is: that it is ready, that it ends, and, where a watchdog watches, that it lives.
// Says nothing where there is none. Thread-safe.
//
//   [Service]
//   Type=notify
//   WatchdogSec=30
//   ExecStart=/usr/bin/millrace dispatcher --config /etc/millrace.toml
#pragma once

#include <string>

#include "absl/time/time.h"

namespace millrace::cli {

class ServiceManager {
 public:
  // The one that NOTIFY_SOCKET names, whose watchdog waits as long as WATCHDOG_USEC
  // says, if that is for this process (WATCHDOG_PID).
  ServiceManager();

  // Says that the process serves, and a sentence for people.
  void Ready(const std::string& status);

  void Ending();

  // Whether the watchdog should be told again by now, on the machine's even clock; true
  // once for each half of its time. Alive() tells it: for who has seen that the process
  // works, not only waits.
  bool IsDue(absl::Duration now);
  void Alive();

 private:
  void Send(const std::string& message) const;

  std::string socket_;
  absl::Duration period_ = absl::InfiniteDuration();
  absl::Duration told_ = -absl::InfiniteDuration();
};

}  // namespace millrace::cli
