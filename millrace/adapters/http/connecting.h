// Opens a connection: looks the name up, connects, and settles TLS, within a time. Of
// its loop's thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/tls.h"

namespace millrace::http {

class Connecting : public std::enable_shared_from_this<Connecting> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::shared_ptr<Link>>)>;

  // Without `tls` the connection is plain. Errors are Unavailable, and name the
  // address.
  Connecting(std::shared_ptr<Loop> loop, Address address, std::shared_ptr<Tls> tls);

  void Start(absl::Duration within, Done done);

  // Gives up; `done` is not called.
  void Cancel();

 private:
  using Results = boost::asio::ip::tcp::resolver::results_type;

  void Connect(const Results& results);
  void OnConnected();
  void Fail(std::string_view why);
  void Finish(absl::StatusOr<std::shared_ptr<Link>> result);

  const std::shared_ptr<Loop> loop_;
  const Address address_;
  const std::shared_ptr<Tls> tls_;
  Done done_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<Link> link_;
};

}  // namespace millrace::http
