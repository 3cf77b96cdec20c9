#include "millrace/dispatcher/server.h"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/operations.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/json.h"
#include "millrace/api/openapi.h"
#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/routes.h"
#include "millrace/base/check.h"
#include "millrace/base/metrics.h"
#include "millrace/base/text.h"
#include "millrace/dispatcher/loop.h"

namespace millrace::dispatcher {
namespace {

// Asks the loop, and sends its answer as JSON.
template <typename Request, typename Reply>
void Answer(Loop& loop, const std::string& body, http::Responder responder) {
  const absl::StatusOr<Request> parsed = api::FromJson<Request>(body);
  if (!parsed.ok()) return responder.Send(parsed.status());
  const auto shared = std::make_shared<http::Responder>(std::move(responder));
  loop.Ask(*parsed, [shared](absl::StatusOr<Reply> reply) {
    if (!reply.ok()) return shared->Send(reply.status());
    shared->Send(http::Response{.body = api::ToJson(*reply)});
  });
}

void AddRoutes(http::Router& router, Loop& loop) {
  api::ForEachRoute(api::kDispatcherRoutes, [&](const auto& route) {
    using Route = std::decay_t<decltype(route)>;
    using Request = typename Route::Request;
    const bool has_body = api::HasBody(route.method);
    CHECK(has_body || std::is_empty_v<Request>) << route.path;
    const auto handler = [&loop, has_body](const http::Request& request,
                                           http::Responder responder) {
      Answer<Request, typename Route::Reply>(loop, has_body ? request.body : "{}",
                                             std::move(responder));
    };
    const std::string path(route.path);
    has_body ? router.Post(path, handler) : router.Get(path, handler);
  });
}

void AddPage(http::Router& router) {
  const std::string page = api::OpenApiPage(
      {.title = "Millrace dispatcher", .version = "1"}, api::kDispatcherRoutes);
  router.Get("/v1/openapi.json",
             [page](const http::Request&, http::Responder responder) {
               responder.Send(http::Response{.body = page});
             });
}

base::MetricSample Gauge(const std::string& name, const std::string& help,
                         int64_t value) {
  return {{base::StrCat("millrace_dispatcher_", name), help, {}},
          static_cast<double>(value)};
}

// How things are now, which is counted only when it is asked for.
std::vector<base::MetricSample> Samples(const Loop& loop,
                                        const api::ServiceStatus& status) {
  std::vector<base::MetricSample> samples = {
      Gauge("jobs", "Jobs that are known.", status.jobs),
      Gauge("lanes_placed", "Lanes that workers are to run.", status.lanes_placed),
      Gauge("lanes_waiting", "Lanes needed now that no worker may run.",
            status.lanes_waiting),
      {{"millrace_dispatcher_placements_total", "Lanes given to workers.", {}},
       static_cast<uint64_t>(status.placements)},
      Gauge("ready", "1: it gives lanes away.", status.ready ? 1 : 0),
      Gauge("workers", "Workers that live.", status.workers),
      Gauge("workers_draining", "Those of them that leave.", status.workers_draining)};
  for (base::MetricSample& sample : loop.metrics().Snapshot()) {
    samples.push_back(std::move(sample));
  }
  return samples;
}

void AddHealth(http::Router& router, Loop& loop) {
  http::Operations operations;
  operations.alive = [&loop](const http::Operations::Verdict& tell) {
    loop.Ask(api::GetStatus{}, [tell](const absl::StatusOr<api::ServiceStatus>& told) {
      tell(told.status());
    });
  };
  operations.ready = [&loop](const http::Operations::Verdict& tell) {
    loop.Ask(api::GetStatus{}, [tell](const absl::StatusOr<api::ServiceStatus>& told) {
      if (!told.ok() || told->ready) return tell(told.status());
      tell(absl::UnavailableError(
          base::StrCat("the dispatcher waits for ", told->waits_for)));
    });
  };
  operations.samples = [&loop](const http::Operations::Samples& tell) {
    loop.Ask(api::GetStatus{},
             [&loop, tell](const absl::StatusOr<api::ServiceStatus>& told) {
               tell(told.ok() ? Samples(loop, *told) : loop.metrics().Snapshot());
             });
  };
  http::AddOperations(operations, router);
}

}  // namespace

absl::StatusOr<std::unique_ptr<http::Server>> Serve(const http::ServerOptions& options,
                                                    Loop& loop) {
  http::Router router;
  AddRoutes(router, loop);
  AddPage(router);
  AddHealth(router, loop);
  return http::Server::Start(options, std::move(router));
}

}  // namespace millrace::dispatcher
