#include "millrace/base/clock.h"

#include <chrono>
#include <stop_token>

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"

namespace millrace::base {
namespace {

class MachineClock final : public Clock {
 public:
  absl::Time Now() const override { return origin_ + Monotonic(); }

  absl::Time TimeOfDay() const override { return absl::Now(); }

  absl::Duration Monotonic() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }

  bool WaitUntil(absl::Time deadline, const std::stop_token& stop) override {
    Mutex mutex;
    CondVar stopped;
    const std::stop_callback wake(stop, [&] {
      MutexLock lock(&mutex);
      stopped.NotifyAll();
    });
    MutexLock lock(&mutex);
    while (!stop.stop_requested()) {
      if (!stopped.WaitUntil(&mutex, deadline)) return true;
    }
    return false;
  }

 private:
  const absl::Time origin_ = absl::Now() - Monotonic();
};

}  // namespace

bool Clock::WaitFor(absl::Duration duration, const std::stop_token& stop) {
  return WaitUntil(Now() + duration, stop);
}

Clock& RealClock() {
  static auto* const clock = new MachineClock();
  return *clock;
}

absl::Time ManualClock::Now() const {
  MutexLock lock(&mutex_);
  return now_;
}

absl::Duration ManualClock::Monotonic() const {
  MutexLock lock(&mutex_);
  return monotonic_;
}

bool ManualClock::WaitUntil(absl::Time deadline, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  MutexLock lock(&mutex_);
  ++waiters_;
  while (now_ < deadline && !stop.stop_requested()) {
    changed_.WaitUntil(&mutex_, absl::InfiniteFuture());
  }
  --waiters_;
  return !stop.stop_requested();
}

void ManualClock::Advance(absl::Duration duration) {
  CHECK_GE(duration, absl::ZeroDuration());
  MutexLock lock(&mutex_);
  now_ += duration;
  monotonic_ += duration;
  changed_.NotifyAll();
}

int ManualClock::waiters() const {
  MutexLock lock(&mutex_);
  return waiters_;
}

}  // namespace millrace::base
