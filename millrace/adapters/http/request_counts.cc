#include "millrace/adapters/http/request_counts.h"

#include <string>

#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"
#include "millrace/base/mutex.h"
#include "millrace/base/text.h"

namespace millrace::http {

void RequestCounts::Add(const Route* route, int code) {
  const base::MutexLock lock(&mutex_);
  base::Counter*& counter = counters_[{route, code}];
  if (counter == nullptr) {
    counter = &base::ProcessMetrics().AddCounter(
        {"millrace_http_requests_total",
         "Requests that were answered, by route and code.",
         {{"route", route == nullptr ? "other" : route->path},
          {"code", base::StrCat(code)}}});
  }
  counter->Add();
}

}  // namespace millrace::http
