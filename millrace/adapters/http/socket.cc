#include "millrace/adapters/http/socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include <boost/asio/ip/tcp.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"

namespace millrace::http {
namespace {

using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

std::string Shown(const tcp::endpoint& end) {
  const std::string address = end.address().to_string();
  return end.address().is_v6() ? base::StrCat("[", address, "]:", end.port())
                               : base::StrCat(address, ":", end.port());
}

}  // namespace

Socket::Socket(std::shared_ptr<Loop> loop, tcp::socket socket)
    : loop_(std::move(loop)), socket_(std::move(socket)) {
  ErrorCode ignored;
  ignored = socket_.native_non_blocking(true, ignored);
  ignored = socket_.set_option(tcp::no_delay(true), ignored);
  const tcp::endpoint peer = socket_.remote_endpoint(ignored);
  peer_ = Shown(peer);
  same_host_ = peer.address().is_loopback() ||
               peer.address() == socket_.local_endpoint(ignored).address();
}

absl::Status Socket::UseTls(Tls& tls) {
  tls_ = TRY(tls.Accept(socket_.native_handle()));
  return absl::OkStatus();
}

absl::Status Socket::UseTls(Tls& tls, const std::string& host) {
  tls_ = TRY(tls.Connect(socket_.native_handle(), host));
  return absl::OkStatus();
}

absl::Status Socket::Failed(std::string_view doing) const {
  if (!socket_.is_open()) return absl::CancelledError("the connection was closed");
  return absl::UnavailableError(base::StrCat("the connection to ", peer_,
                                             " broke while ", doing, ": ",
                                             std::generic_category().message(errno)));
}

absl::StatusOr<Progress> Socket::Handshake() {
  if (tls_ == nullptr) return Progress{.bytes = 1};
  const Progress progress = TRY(tls_->Handshake());
  if (!progress.ended) return progress;
  return absl::UnavailableError(
      base::StrCat("TLS failed: ", peer_, " ended the connection"));
}

absl::StatusOr<Progress> Socket::Read(absl::Span<const iovec> room) {
  if (!socket_.is_open()) return Failed("receiving");
  if (tls_ != nullptr) return tls_->Read(room[0].iov_base, room[0].iov_len);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(room.data());
  message.msg_iovlen = room.size();
  const ssize_t got = recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT);
  if (got > 0) return Progress{.bytes = got};
  if (got == 0) return Progress{.ended = true};
  if (errno == EAGAIN || errno == EINTR) return Progress{};
  return Failed("receiving");
}

absl::StatusOr<Progress> Socket::Write(absl::Span<const iovec> pieces) {
  if (!socket_.is_open()) return Failed("sending");
  if (tls_ != nullptr) return tls_->Write(pieces[0].iov_base, pieces[0].iov_len);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  const ssize_t sent =
      sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return Progress{.bytes = sent};
  if (errno == EAGAIN || errno == EINTR) return Progress{.waits_to_write = true};
  return Failed("sending");
}

void Socket::EndWriting() {
  if (tls_ != nullptr) tls_->SayEnd();
  ErrorCode ignored;
  ignored = socket_.shutdown(tcp::socket::shutdown_send, ignored);
}

bool Socket::IsQuiet() {
  char byte = 0;
  const ssize_t got =
      recv(socket_.native_handle(), &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && errno == EAGAIN;
}

void Socket::Close() {
  if (!socket_.is_open()) return;
  if (tls_ != nullptr) tls_->SayEnd();
  ErrorCode ignored;
  ignored = socket_.close(ignored);
}

absl::StatusOr<Socket> Socket::MovedTo(std::shared_ptr<Loop> loop) && {
  ErrorCode error;
  const tcp::endpoint local = socket_.local_endpoint(error);
  const int descriptor = socket_.release(error);
  if (error) return Failed("moving it");
  tcp::socket moved(loop->context());
  error = moved.assign(local.protocol(), descriptor, error);
  if (error) {
    close(descriptor);
    return Failed("moving it");
  }
  Socket socket(std::move(loop), std::move(moved));
  socket.tls_ = std::move(tls_);
  return socket;
}

}  // namespace millrace::http
