// The channels of a server or client, of which there may be so many; they end with it.
// Thread-safe.
#pragma once

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "millrace/adapters/http/stream.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

class StreamSet : public std::enable_shared_from_this<StreamSet> {
 public:
  explicit StreamSet(int streams_max) : streams_max_(streams_max) {}

  // Keeps the stream in mind until it is closed. False where there are too many, or
  // all were closed. Requires: it has not begun.
  bool Add(const std::shared_ptr<Stream>& stream);

  // Closes all, and takes no more.
  void CloseAll();

 private:
  void Remove(const Stream* stream);

  const int streams_max_;
  base::Mutex mutex_;
  absl::flat_hash_map<const Stream*, std::weak_ptr<Stream>> streams_
      ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::http
