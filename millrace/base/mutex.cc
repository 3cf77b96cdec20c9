#include "millrace/base/mutex.h"

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace millrace::base {

bool CondVar::WaitUntil(Mutex* mutex, absl::Time deadline) {
  // Lends the mutex, which the caller holds, to the standard library's wait.
  std::unique_lock<std::mutex> lock(mutex->mutex_, std::adopt_lock);
  std::cv_status status = std::cv_status::no_timeout;
  if (deadline == absl::InfiniteFuture()) {
    changed_.wait(lock);
  } else {
    status = changed_.wait_until(lock, absl::ToChronoTime(deadline));
  }
  lock.release();
  return status == std::cv_status::no_timeout;
}

}  // namespace millrace::base
