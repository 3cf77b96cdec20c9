// A mutex with Abseil's thread-safety annotations and names over the standard
// library's. Guarded data says ABSL_GUARDED_BY(mutex_), checked by Clang. Why not
// absl::Mutex: the one that Debian ships is invisible to the thread sanitizer, which
// then reports every correctly locked access as a race. Costs what std::mutex costs.
#pragma once

#include <pthread.h>

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace millrace::base {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }

  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds a mutex while in scope.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    mutex_->Lock();
  }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }

 private:
  Mutex* const mutex_;
};

// Wakes threads that wait for a change of guarded data.
class CondVar {
 public:
  CondVar();
  ~CondVar();
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Releases the mutex, waits until notified or until `deadline` on the real clock, and
  // takes the mutex again. May wake without cause: call it in a loop that looks at the
  // data. Returns false when the deadline has passed.
  bool WaitUntil(Mutex* mutex, absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  void NotifyOne() { pthread_cond_signal(&changed_); }

  void NotifyAll() { pthread_cond_broadcast(&changed_); }

 private:
  // Not the standard library's: its waits follow the time of day, or need a newer C
  // library than our wheels may ask for.
  pthread_cond_t changed_;
};

}  // namespace millrace::base
