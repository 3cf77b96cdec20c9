#include "millrace/dispatcher/server.h"

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/json.h"
#include "millrace/api/openapi.h"
#include "millrace/api/route.h"
#include "millrace/api/routes.h"
#include "millrace/base/check.h"
#include "millrace/dispatcher/loop.h"

namespace millrace::dispatcher {
namespace {

// Asks the loop, and sends its answer as JSON.
template <typename Request, typename Reply>
void Answer(Loop& loop, const http::Request& request, http::Responder responder) {
  const absl::StatusOr<Request> parsed = api::FromJson<Request>(request.body);
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
    const auto handler = [&loop](const http::Request& request,
                                 http::Responder responder) {
      Answer<typename Route::Request, typename Route::Reply>(loop, request,
                                                             std::move(responder));
    };
    CHECK_EQ(route.method, "POST");
    router.Post(std::string(route.path), handler);
  });
}

void AddPage(http::Router& router) {
  const std::string page = api::OpenApiPage(
      {.title = "Millrace dispatcher", .version = "1"}, api::kDispatcherRoutes);
  router.Get("/v1/openapi.json",
             [page](const http::Request&, http::Responder responder) {
               responder.Send(http::Response{.body = page});
             });
  router.GetOpenToAll("/healthz", [](const http::Request&, http::Responder responder) {
    responder.Send(http::Response{.body = "{}"});
  });
}

}  // namespace

absl::StatusOr<std::unique_ptr<http::Server>> Serve(const http::ServerOptions& options,
                                                    Loop& loop) {
  http::Router router;
  AddRoutes(router, loop);
  AddPage(router);
  return http::Server::Start(options, std::move(router));
}

}  // namespace millrace::dispatcher
