// Finds out whether the first turn of a repeat gives any rows, where only reading
// tells: one without an end would else look for rows for ever. Thread-safe.
#pragma once

#include <cstdint>
#include <set>

#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"

namespace millrace::exec {

class FirstTurn {
 public:
  // It has so many splits.
  void Expect(int64_t splits);

  // All of a split was given: there were rows in it, or none. It may be given again.
  void End(int64_t split, bool any);

  // Whether it is known that there are no rows.
  bool HasNoRows() const;

 private:
  mutable base::Mutex mutex_;
  int64_t splits_ ABSL_GUARDED_BY(mutex_) = -1;  // Not known at first.
  std::set<int64_t> ended_ ABSL_GUARDED_BY(mutex_);
  bool any_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::exec
