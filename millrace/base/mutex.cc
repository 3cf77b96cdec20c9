#include "millrace/base/mutex.h"

#include <errno.h>  // NOLINT(modernize-deprecated-headers): of POSIX.
#include <pthread.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): of POSIX.

#include <algorithm>

#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"

namespace millrace::base {

CondVar::CondVar() {
  pthread_condattr_t attributes;
  CHECK_EQ(pthread_condattr_init(&attributes), 0);
  CHECK_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
  CHECK_EQ(pthread_cond_init(&changed_, &attributes), 0);
  pthread_condattr_destroy(&attributes);
}

CondVar::~CondVar() { pthread_cond_destroy(&changed_); }

bool CondVar::WaitUntil(Mutex* mutex, absl::Time deadline) {
  pthread_mutex_t* const held = mutex->mutex_.native_handle();
  if (deadline == absl::InfiniteFuture()) {
    pthread_cond_wait(&changed_, held);
    return true;
  }
  const absl::Duration left = deadline - RealClock().Now();
  const timespec at =
      absl::ToTimespec(std::max(RealClock().Monotonic() + left, absl::ZeroDuration()));
  return pthread_cond_timedwait(&changed_, held, &at) != ETIMEDOUT;
}

}  // namespace millrace::base
