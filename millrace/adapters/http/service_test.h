// A server with some routes, and clients of it, for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/base/text.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {

// "/echo" gives back what it gets, "/fail" fails, "/healthz" is open to all. "/stream"
// is a channel that sends back each message, and is told to the recorder.
inline Router TestRouter(transport::Recorder* recorder = nullptr) {
  Router router;
  const Handler echo = [](const Request& request, Responder responder) {
    responder.Send({.body = base::StrCat(request.method, " ", request.path, "?",
                                         request.query, " ", request.body)});
  };
  router.Get("/echo", echo);
  router.Post("/echo", echo);
  router.GetOpenToAll("/healthz", echo);
  router.Post("/fail", [](const Request&, Responder responder) {
    responder.Send(absl::FailedPreconditionError("there is \"no\" such pass"));
  });
  router.Channel(
      "/stream",
      [recorder](const Request& request,
                 const std::shared_ptr<transport::Channel>& channel)
          -> absl::StatusOr<transport::ChannelEvents> {
        if (request.query == "refused") {
          return absl::PermissionDeniedError("another generation took over");
        }
        const transport::ChannelEvents kept =
            recorder != nullptr ? recorder->Events() : transport::ChannelEvents{};
        return transport::ChannelEvents{
            .on_message =
                [channel, kept](transport::Received message) {
                  transport::Message back = {.head = message.head};
                  if (message.payload.size() > 0) {
                    back.payload = frames::Frame(std::string(), {message.payload}, 1);
                  }
                  channel->Send(std::move(back));
                  if (kept.on_message != nullptr) kept.on_message(std::move(message));
                },
            .on_closed =
                [kept](const absl::Status& why) {
                  if (kept.on_closed != nullptr) kept.on_closed(why);
                }};
      });
  return router;
}

inline std::unique_ptr<Server> StartServer(const ServerOptions& options = {},
                                           transport::Recorder* recorder = nullptr) {
  return Server::Start(options, TestRouter(recorder)).value();
}

inline std::unique_ptr<Client> MakeClient(const ClientOptions& options = {}) {
  return Client::Make(options).value();
}

inline Address AddressOf(const Server& server) { return {"127.0.0.1", server.port()}; }

}  // namespace millrace::http
