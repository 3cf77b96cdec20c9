// Finds out whether the first turn of a repeat gives any rows, where only reading
// tells: one without an end would else look for rows for ever. Thread-safe.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"

namespace millrace::exec {

class FirstTurn {
 public:
  // It has so many splits.
  void Expect(int64_t splits);

  // All of a split was given: there were rows in it, or none.
  void End(bool any);

  // Whether it is known that there are no rows.
  bool HasNoRows() const;

 private:
  mutable base::Mutex mutex_;
  int64_t left_ ABSL_GUARDED_BY(mutex_) = -1;  // Splits; not known at first.
  bool any_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::exec
