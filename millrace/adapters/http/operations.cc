#include "millrace/adapters/http/operations.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/base/metrics.h"

namespace millrace::http {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";

Handler Asks(const std::function<void(Operations::Verdict)>& ask) {
  return [ask](const Request&, Responder responder) {
    const auto shared = std::make_shared<Responder>(std::move(responder));
    ask([shared](const absl::Status& status) {
      if (!status.ok()) return shared->Send(status);
      shared->Send(Response{.body = "{}"});
    });
  };
}

}  // namespace

void AddOperations(const Operations& operations, Router& router) {
  router.GetOpenToAll("/healthz", Asks(operations.alive));
  router.GetOpenToAll("/readyz", Asks(operations.ready));
  router.Get(
      "/metrics", [ask = operations.samples](const Request&, Responder responder) {
        const auto shared = std::make_shared<Responder>(std::move(responder));
        ask([shared](const std::vector<base::MetricSample>& samples) {
          shared->Send(
              Response{.body = base::ToPrometheus(base::ProcessMetrics().Snapshot()) +
                               base::ToPrometheus(samples),
                       .content_type = kMetricsType});
        });
      });
}

}  // namespace millrace::http
