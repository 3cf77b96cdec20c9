// A value that one thread sets and another waits for, in tests.
#pragma once

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

template <typename T>
class Result {
 public:
  // Requires: not set before.
  void Set(T value) {
    const base::MutexLock lock(&mutex_);
    CHECK(!value_) << "told twice";
    value_ = std::move(value);
    changed_.NotifyAll();
  }

  T Wait() {
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
    const base::MutexLock lock(&mutex_);
    while (!value_) CHECK(changed_.WaitUntil(&mutex_, deadline)) << "nothing came";
    return *value_;
  }

  bool is_set() {
    const base::MutexLock lock(&mutex_);
    return value_.has_value();
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::http
