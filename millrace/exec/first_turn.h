// Finds out whether the first turn of a repeat gives any rows, where only reading
// tells: one without an end would else look for rows for ever. Readers of that turn are
// watched: it has none when all of them have ended and nothing that they found gave a
// row. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"

#include "millrace/base/mutex.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

class FirstTurn {
 public:
  // So many readers will be opened, one for each split.
  void Expect(int64_t readers);

  // Whether it is known that there are no rows.
  bool HasNoRows() const;

  // Gives the reader of one of its splits, watched. The watcher outlives it through
  // the pointer.
  static std::unique_ptr<ops::Reader> Watched(std::shared_ptr<FirstTurn> turn,
                                              std::unique_ptr<ops::Reader> reader);

 private:
  class WatchedReader;
  class WatchedRows;

  void Begin();        // Something was found.
  void End(bool any);  // It was given, with rows or without; or a reader has ended.

  mutable base::Mutex mutex_;
  int64_t left_ ABSL_GUARDED_BY(mutex_) = -1;  // Readers, and what they found.
  bool any_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::exec
