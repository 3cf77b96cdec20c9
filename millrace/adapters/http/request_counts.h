// Counts the answers of a server by route and status code, as a metric of the process:
// millrace_http_requests_total. Requests that no route is for count as one.
// Thread-safe.
#pragma once

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"
#include "millrace/base/mutex.h"

namespace millrace::http {

class RequestCounts {
 public:
  // Counts an answer; null: to a request that no route is for. The route outlives this.
  void Add(const Route* route, int code);

 private:
  base::Mutex mutex_;
  std::map<std::pair<const Route*, int>, base::Counter*> counters_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace::http
