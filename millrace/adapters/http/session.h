// One connection of a server: request after request, checked, handed to a handler, and
// answered; or a request that makes it a channel. Of its loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "millrace/adapters/http/access.h"
#include "millrace/adapters/http/connection_table.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/request_counts.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/stream_set.h"

namespace millrace::http {

// What all connections of a server share.
struct Service {
  Service(ServerOptions options, Router router);

  const ServerOptions options;
  const Router router;
  const AccessRules access;
  ConnectionTable connections;
  RequestCounts counts;
  const std::shared_ptr<StreamSet> streams;
  Loops stream_loops;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<Service> service, std::shared_ptr<Loop> loop, Socket socket);

  // Begins, unless there are too many connections.
  void Start();

 private:
  enum class State { kIdle, kReading, kWorking, kWriting, kEnded };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void TurnAway();
  void NextRequest();
  void ReadMore();
  void OnRead(const absl::Status& status);
  void Parse();
  bool CheckHead();
  void RefuseUnreadable(const boost::system::error_code& error);
  void Dispatch();
  void CallHandler(const Handler& handler);
  void Upgrade(const ChannelHandler& handler);
  void HandOver(const std::shared_ptr<Stream>& stream);
  void Answer(int64_t number, const Response& response);
  void Respond(const Response& response, bool keeps_connection);
  void Refuse(const absl::Status& error, int http_code = 0);
  void Linger();
  void Close();
  void End();

  const std::shared_ptr<Service> service_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Link> link_;
  boost::asio::steady_timer answer_timer_;
  State state_ = State::kIdle;
  std::optional<int64_t> place_;  // In the table of connections.
  std::optional<Parser> parser_;
  Request request_;
  const Route* route_ = nullptr;
  bool head_checked_ = false;
  bool reading_ = false;  // A read is under way.
  bool stopping_ = false;
  int64_t number_ = 0;  // Of the request.
};

}  // namespace millrace::http
