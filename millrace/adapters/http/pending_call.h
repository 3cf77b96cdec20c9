// One request of a client on its way: connection, request, answer; again where that
// failed, within its time. Of its loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/connecting.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/idle_links.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/random.h"

namespace millrace::http {

using ResponseParser =
    boost::beast::http::response_parser<boost::beast::http::string_body>;

// What a parser that is done has read.
Response ResponseOf(ResponseParser& parser);

// What all calls of a client share.
struct CallResources {
  CallResources(ClientOptions given, std::shared_ptr<Tls> client_tls)
      : options(std::move(given)),
        tls(std::move(client_tls)),
        idle(options.idle_connections_max, options.idle_max) {}

  const ClientOptions options;
  const std::shared_ptr<Tls> tls;  // Null: plain connections.
  IdleLinks idle;
};

class PendingCall : public std::enable_shared_from_this<PendingCall> {
 public:
  PendingCall(std::shared_ptr<CallResources> resources, std::shared_ptr<Loop> loop,
              Call call, CallDone done);

  void Start();

  // Ends it early. Thread-safe.
  void Cancel();

  // Ends it before it began, as there are too many. Thread-safe.
  void Refuse();

 private:
  void Attempt();
  absl::Duration TimeLeft() const;
  Request MakeRequest() const;
  void Ask(std::shared_ptr<Link> link);
  void ReadAnswer();
  void OnRead(const absl::Status& status);
  void Parse();
  void OnAnswer();
  void Retry(absl::Status error);
  void OnDeadline();
  void Finish(absl::StatusOr<Response> result);

  const std::shared_ptr<CallResources> resources_;
  const std::shared_ptr<Loop> loop_;
  const Call call_;
  CallDone done_;  // Null when it was called.
  std::string id_;
  base::Generator generator_;
  boost::asio::steady_timer deadline_timer_;
  boost::asio::steady_timer retry_timer_;
  absl::Duration deadline_ = absl::ZeroDuration();  // On the monotonic clock.
  std::shared_ptr<Connecting> connecting_;
  std::shared_ptr<Link> link_;
  std::optional<ResponseParser> parser_;
  bool link_is_new_ = true;
  int attempts_ = 0;
  absl::Status last_error_;
};

}  // namespace millrace::http
