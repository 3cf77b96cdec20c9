// Serves HTTP: requests by method and path, and channels that begin as requests. Its
// own threads, apart for requests and for channels. What anybody may cost is bounded:
// the number of connections, the size of a request, the time it may take to arrive and
// to be answered. Every request passes access.h. Thread-safe.
//
//   Router router;
//   router.Post("/v1/heartbeat", OnHeartbeat);
//   const std::unique_ptr<Server> server = TRY(Server::Start({}, std::move(router)));
//   Use(server->port());
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/bytes.h"

namespace millrace::http {

using base::literals::operator""_KiB;
using base::literals::operator""_MiB;

struct ServerOptions {
  std::string host = "127.0.0.1";  // Others than loopback need TLS and a token.
  int port = 0;                    // 0: any that is free.
  std::string token = {};          // Of all who ask; empty: none is needed.
  std::optional<TlsOptions> tls = std::nullopt;
  std::vector<std::string> allowed_hosts = {};    // access.h
  std::vector<std::string> allowed_origins = {};  // access.h
  int request_threads = 1;
  int stream_threads = 1;
  int connections_max = 1024;  // Without channels.
  int channels_max = 1024;
  base::Bytes header_max = 16_KiB;
  base::Bytes body_max = 16_MiB;
  absl::Duration read_within = absl::Seconds(10);  // A request; also an answer.
  absl::Duration idle_max = absl::Seconds(60);     // Between two requests.
  absl::Duration answer_within =
      absl::Seconds(60);  // The most that clients may ask for.
  StreamOptions stream = {};
};

class Server {
 public:
  // Listens. An error names the address or file that is wrong.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       Router router);

  // Stops, as Stop does.
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;

  // Takes no more connections, answers requests that wait with Unavailable, closes
  // channels, and waits for its threads. No handler and no event is called after it.
  // Requires: not called by one of them.
  void Stop();

 private:
  class Listener;
  explicit Server(std::shared_ptr<Listener> listener);
  std::shared_ptr<Listener> listener_;
};

}  // namespace millrace::http
