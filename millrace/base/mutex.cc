#include "millrace/base/mutex.h"

#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace millrace::base {

bool CondVar::WaitUntil(Mutex* mutex, absl::Time deadline) {
  // Lends the mutex, which the caller holds, to the standard library's wait.
  std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
  std::cv_status status = std::cv_status::no_timeout;
  if (deadline == absl::InfiniteFuture()) {
    // As changed_.wait, of which the library's newest version has another one: programs
    // that call it do not start where that is not installed.
    pthread_cond_wait(changed_.native_handle(), mutex->mutex_.native_handle());
  } else {
    status = changed_.wait_until(lock, absl::ToChronoTime(deadline));
  }
  lock.release();
  return status == std::cv_status::no_timeout;
}

}  // namespace millrace::base
