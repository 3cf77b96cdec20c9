// Time as something handed in. What needs the time takes a `Clock&` in its constructor
// (control and policy take a time as an argument instead); tests hand in a ManualClock.
// clock.cc is the one file of the project that reads the machine's clocks. Safe to use
// from any thread.
#pragma once

#include <stop_token>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "millrace/base/mutex.h"

namespace millrace::base {

class Clock {
 public:
  virtual ~Clock() = default;

  // Returns the time. It begins as the time of day and then passes evenly: who sets the
  // machine's clock forward or back changes no deadline.
  virtual absl::Time Now() const = 0;

  // Returns the time of day as people read it, which may be set back. For logs.
  virtual absl::Time TimeOfDay() const = 0;

  // Returns the time since some fixed moment; it never goes back. For measuring.
  virtual absl::Duration Monotonic() const = 0;

  // Waits until `deadline` (returns true) or until asked to stop, which wins if both
  // hold (returns false).
  virtual bool WaitUntil(absl::Time deadline, const std::stop_token& stop) = 0;

  // Waits for `duration`; the same answers.
  bool WaitFor(absl::Duration duration, const std::stop_token& stop);
};

// Returns the machine's clock.
Clock& RealClock();

// Stands still until told to move.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(absl::Time now = absl::UnixEpoch()) : now_(now) {}

  absl::Time Now() const override;

  absl::Time TimeOfDay() const override { return Now(); }

  absl::Duration Monotonic() const override;
  bool WaitUntil(absl::Time deadline, const std::stop_token& stop) override;

  // Moves the time forward and wakes those whose deadline it reached. Requires:
  // `duration` is not negative.
  void Advance(absl::Duration duration);

  // Returns how many threads wait now, so that a test can advance once they do.
  int waiters() const;

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  absl::Time now_ ABSL_GUARDED_BY(mutex_);
  absl::Duration monotonic_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  int waiters_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::base
