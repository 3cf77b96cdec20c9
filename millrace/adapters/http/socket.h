// A TCP connection, plain or with TLS, that never blocks: reads and writes give what is
// possible now, and say what to wait for. Belongs to one loop and is used on its thread
// alone.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include <boost/asio/ip/tcp.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/tls.h"

namespace millrace::http {

class Socket {
 public:
  // Takes over a connected socket of this loop.
  Socket(std::shared_ptr<Loop> loop, boost::asio::ip::tcp::socket socket);

  // Protects what follows, from the server's or the client's side; then, Handshake.
  absl::Status UseTls(Tls& tls);
  absl::Status UseTls(Tls& tls, const std::string& host);

  // Goes on with the exchange that TLS begins with; any progress means that it is done.
  absl::StatusOr<Progress> Handshake();

  // Reads into these places, one after the other.
  absl::StatusOr<Progress> Read(absl::Span<const iovec> room);

  // Writes as much of these pieces as the kernel takes, in one call of it.
  absl::StatusOr<Progress> Write(absl::Span<const iovec> pieces);

  // Calls `handler` when the socket may be read, or written, or was closed.
  template <typename Handler>
  void Wait(bool to_write, Handler handler) {
    socket_.async_wait(to_write ? boost::asio::ip::tcp::socket::wait_write
                                : boost::asio::ip::tcp::socket::wait_read,
                       [handler = std::move(handler)](
                           const boost::system::error_code&) mutable { handler(); });
  }

  // Tells the other side that nothing more comes; what it sends can still be read.
  void EndWriting();

  // Tells whether nothing has come, not even the end: good for one more request.
  bool IsQuiet();

  // Ends the connection; whoever waits is called.
  void Close();

  bool open() const { return socket_.is_open(); }

  // Gives the same connection to another loop. Requires: nobody waits.
  absl::StatusOr<Socket> MovedTo(std::shared_ptr<Loop> loop) &&;

  const std::shared_ptr<Loop>& loop() const { return loop_; }

  // Who is on the other side, as in "10.0.0.7:41000".
  const std::string& peer() const { return peer_; }

  // Whether both ends are on one machine, as far as addresses tell.
  bool same_host() const { return same_host_; }

 private:
  absl::Status Failed(std::string_view doing) const;

  std::shared_ptr<Loop> loop_;
  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsSession> tls_;
  std::string peer_;
  bool same_host_ = false;
};

}  // namespace millrace::http
