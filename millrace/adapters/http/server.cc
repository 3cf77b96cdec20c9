#include "millrace/adapters/http/server.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/session.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/log.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

// When the process has no descriptor left, for example.
constexpr std::chrono::milliseconds kAcceptPause(100);

absl::Status CannotListen(const ServerOptions& options, const ErrorCode& error) {
  return absl::UnavailableError(
      base::StrCat("cannot listen on ", ToString({options.host, options.port}), ": ",
                   error.message(), ": choose another host or port"));
}

absl::StatusOr<tcp::endpoint> Resolved(const ServerOptions& options,
                                       boost::asio::io_context& context) {
  ErrorCode error;
  tcp::resolver resolver(context);
  const auto results = resolver.resolve(options.host, std::to_string(options.port),
                                        tcp::resolver::passive, error);
  if (error || results.empty()) return CannotListen(options, error);
  return results.begin()->endpoint();
}

absl::Status CheckSecured(const ServerOptions& options, const tcp::endpoint& end) {
  if (end.address().is_loopback() || (options.tls && !options.token.empty())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(base::StrCat(
      "listening on ", options.host, ", which others can reach, needs TLS and a ",
      "token: give both, or listen on 127.0.0.1"));
}

}  // namespace

class Server::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(const ServerOptions& options, Router router, std::shared_ptr<Tls> tls)
      : service_(std::make_shared<Service>(options, std::move(router))),
        tls_(std::move(tls)),
        request_loops_(options.request_threads),
        accept_loop_(request_loops_.Next()),
        acceptor_(accept_loop_->context()),
        pause_(accept_loop_->context()) {}

  absl::Status Listen() {
    const ServerOptions& options = service_->options;
    const tcp::endpoint end = TRY(Resolved(options, accept_loop_->context()));
    TRY(CheckSecured(options, end));
    ErrorCode error;
    error = acceptor_.open(end.protocol(), error);
    if (!error) error = acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) error = acceptor_.bind(end, error);
    if (!error) error = acceptor_.listen(tcp::acceptor::max_listen_connections, error);
    if (error) return CannotListen(options, error);
    port_ = acceptor_.local_endpoint(error).port();
    Accept();
    return absl::OkStatus();
  }

  int port() const { return port_; }

  void Stop() {
    if (std::exchange(stopped_, true)) return;
    accept_loop_->Post([self = shared_from_this()] {
      ErrorCode ignored;
      ignored = self->acceptor_.close(ignored);
      self->pause_.cancel();
    });
    service_->connections.CloseAll();
    request_loops_.Stop();
    service_->streams->CloseAll();
    service_->stream_loops.Stop();
  }

 private:
  void Accept() {
    const std::shared_ptr<Loop> loop = request_loops_.Next();
    acceptor_.async_accept(
        loop->context(),
        [self = shared_from_this(), loop](const ErrorCode& error, tcp::socket socket) {
          self->OnAccepted(error, loop, std::move(socket));
        });
  }

  void OnAccepted(const ErrorCode& error, const std::shared_ptr<Loop>& loop,
                  tcp::socket socket) {
    if (!acceptor_.is_open()) return;
    if (error) return Pause(error);
    loop->Post([self = shared_from_this(), loop, socket = std::move(socket)]() mutable {
      self->Begin(loop, std::move(socket));
    });
    Accept();
  }

  void Pause(const ErrorCode& error) {
    base::LogOnce("http accept", base::LogLevel::kWarning, "a connection was not taken",
                  {{"error", error.message()}});
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](const ErrorCode& cancelled) {
      if (!cancelled) self->Accept();
    });
  }

  void Begin(const std::shared_ptr<Loop>& loop, tcp::socket accepted) {
    Socket socket(loop, std::move(accepted));
    if (tls_ != nullptr && !socket.UseTls(*tls_).ok()) return socket.Close();
    std::make_shared<Session>(service_, loop, std::move(socket))->Start();
  }

  const std::shared_ptr<Service> service_;
  const std::shared_ptr<Tls> tls_;
  Loops request_loops_;
  const std::shared_ptr<Loop> accept_loop_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer pause_;
  int port_ = 0;
  bool stopped_ = false;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      Router router) {
  std::shared_ptr<Tls> tls;
  if (options.tls) tls = TRY(Tls::ForServer(*options.tls));
  const std::shared_ptr<Listener> listener =
      TRY(MakeWithLoops<Listener>(options, std::move(router), std::move(tls)));
  std::unique_ptr<Server> server(new Server(listener));  // Stops what fails.
  TRY(listener->Listen());
  return server;
}

Server::Server(std::shared_ptr<Listener> listener) : listener_(std::move(listener)) {}

Server::~Server() { Stop(); }

int Server::port() const { return listener_->port(); }

void Server::Stop() { listener_->Stop(); }

}  // namespace millrace::http
