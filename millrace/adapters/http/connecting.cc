#include "millrace/adapters/http/connecting.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/link.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

}  // namespace

Connecting::Connecting(std::shared_ptr<Loop> loop, Address address,
                       std::shared_ptr<Tls> tls)
    : loop_(std::move(loop)),
      address_(std::move(address)),
      tls_(std::move(tls)),
      resolver_(loop_->context()),
      socket_(loop_->context()),
      timer_(loop_->context()) {}

void Connecting::Start(absl::Duration within, Done done) {
  done_ = std::move(done);
  timer_.expires_after(absl::ToChronoNanoseconds(within));
  timer_.async_wait([self = shared_from_this(), within](const ErrorCode& cancelled) {
    if (cancelled) return;
    self->Fail(base::StrCat("no answer within ", absl::FormatDuration(within)));
  });
  ErrorCode error;
  const auto literal = boost::asio::ip::make_address(address_.host, error);
  const std::string port = std::to_string(address_.port);
  if (!error) {
    const tcp::endpoint end(literal, static_cast<uint16_t>(address_.port));
    return Connect(Results::create(end, address_.host, port));
  }
  resolver_.async_resolve(
      address_.host, port, tcp::resolver::numeric_service,
      [self = shared_from_this()](const ErrorCode& failed, const Results& results) {
        if (failed) return self->Fail(failed.message());
        self->Connect(results);
      });
}

void Connecting::Connect(const Results& results) {
  if (done_ == nullptr) return;
  boost::asio::async_connect(
      socket_, results,
      [self = shared_from_this()](const ErrorCode& failed, const tcp::endpoint&) {
        if (failed) return self->Fail(failed.message());
        self->OnConnected();
      });
}

void Connecting::OnConnected() {
  if (done_ == nullptr) return;
  Socket socket(loop_, std::move(socket_));
  if (tls_ == nullptr) return Finish(std::make_shared<Link>(std::move(socket)));
  const absl::Status begun = socket.UseTls(*tls_, address_.host);
  if (!begun.ok()) return Fail(base::ToStd(begun.message()));
  link_ = std::make_shared<Link>(std::move(socket));
  link_->Handshake([self = shared_from_this()](const absl::Status& status) {
    if (!status.ok()) return self->Fail(base::ToStd(status.message()));
    self->Finish(self->link_);
  });
}

void Connecting::Fail(std::string_view why) {
  Finish(absl::UnavailableError(
      base::StrCat("cannot connect to ", ToString(address_), ": ", why)));
}

void Connecting::Finish(absl::StatusOr<std::shared_ptr<Link>> result) {
  if (done_ == nullptr) return;
  Done done = std::exchange(done_, nullptr);
  if (result.ok()) link_ = nullptr;
  Cancel();
  done(std::move(result));
}

void Connecting::Cancel() {
  done_ = nullptr;
  timer_.cancel();
  resolver_.cancel();
  ErrorCode ignored;
  ignored = socket_.close(ignored);
  if (link_ != nullptr) {
    std::exchange(link_, nullptr)->Close(absl::CancelledError("no longer wanted"));
  }
}

}  // namespace millrace::http
