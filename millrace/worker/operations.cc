#include "millrace/worker/operations.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/operations.h"
#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"
#include "millrace/base/text.h"

namespace millrace::worker {
namespace {

base::MetricInfo Info(const std::string& name, const std::string& help) {
  return {base::StrCat("millrace_worker_", name), help, {}};
}

base::MetricSample Gauge(const std::string& name, const std::string& help,
                         int64_t value) {
  return {Info(name, help), static_cast<double>(value)};
}

base::MetricSample Counter(const std::string& name, const std::string& help,
                           int64_t value) {
  return {Info(name, help), static_cast<uint64_t>(value)};
}

std::vector<base::MetricSample> Samples(const WorkerStatus& status) {
  return {
      Counter("batches_sent_total", "Batches, and parts of them, sent to readers.",
              status.batches_sent),
      Counter("bytes_sent_total", "Bytes of rows sent to readers.", status.bytes_sent),
      Gauge("joined", "1: the dispatcher knows it.", status.joined ? 1 : 0),
      Gauge("lanes_assigned", "Lanes that the dispatcher has given to it.",
            status.lanes_assigned),
      Counter("lanes_begun_total", "Lanes begun or redone.", status.lanes_begun),
      Counter("lanes_failed_total", "Lanes that failed.", status.lanes_failed),
      Gauge("lanes_running", "Lanes being run.", status.lanes_running),
      Gauge("memory_bytes", "Memory that rows take.", status.memory_bytes),
      Gauge("readers", "Consumers that are connected.", status.readers),
      Gauge("window_bytes", "Memory of rows that are kept for jobs that share them.",
            status.window_bytes)};
}

}  // namespace

void AddOperations(const std::function<void(TakeStatus)>& ask,
                   const http::Address& dispatcher, http::Router& router) {
  http::Operations operations;
  operations.alive = [ask](const http::Operations::Verdict& tell) {
    ask([tell](const WorkerStatus&) { tell(absl::OkStatus()); });
  };
  operations.ready = [ask, dispatcher](const http::Operations::Verdict& tell) {
    ask([tell, dispatcher](const WorkerStatus& status) {
      if (status.joined) return tell(absl::OkStatus());
      tell(absl::UnavailableError(base::StrCat("the worker waits for a dispatcher at ",
                                               http::ToString(dispatcher))));
    });
  };
  operations.samples = [ask](const http::Operations::Samples& tell) {
    ask([tell](const WorkerStatus& status) { tell(Samples(status)); });
  };
  http::AddOperations(operations, router);
}

}  // namespace millrace::worker
