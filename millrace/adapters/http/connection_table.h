// The connections of a server, of which there may be so many. A new one takes the place
// of the one that has waited longest for a request to come or to be complete: many slow
// connections cannot keep others out. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "millrace/base/mutex.h"

namespace millrace::http {

class ConnectionTable {
 public:
  // Requires: connections_max > 0.
  explicit ConnectionTable(int connections_max);

  // Adds a connection and gives its number; `close` may be called later, from any
  // thread. None where all are at work, or the server stops: it is not served.
  std::optional<int64_t> Add(std::function<void()> close);

  // Whether a request is being worked on: such a connection keeps its place.
  void SetAtWork(int64_t number, bool at_work);

  void Remove(int64_t number);

  // Closes all, and takes no more.
  void CloseAll();

  int size() const;

 private:
  struct Entry {
    std::function<void()> close;
    bool at_work = false;
    int64_t since = 0;  // In the order of changes.
  };

  using Entries = absl::flat_hash_map<int64_t, Entry>;

  Entries::iterator LongestWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int connections_max_;
  mutable base::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  int64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::http
