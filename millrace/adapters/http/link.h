// A connection that speaks HTTP, from either side: handshake, bytes in, bytes out, one
// deadline. What it finishes is told by a call, never from inside the call that began
// it. Of its loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/tls.h"

namespace millrace::http {

class Link : public std::enable_shared_from_this<Link> {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  explicit Link(Socket socket);

  void Handshake(Done done);

  // Appends what comes to input(). OutOfRange where the other side has ended.
  void Read(Done done);

  // Writes all of these bytes. Requires: no other write is under way.
  void Write(std::string bytes, Done done);

  // What was read and not yet used; whoever uses it removes it.
  std::string& input() { return input_; }

  // Closes the link with this error unless another deadline is set before.
  void SetDeadline(absl::Duration within, absl::Status error);
  void ClearDeadline();

  // Ends the connection: what is under way, and all that follows, gets this error.
  void Close(absl::Status why);

  // Gives the connection away. Requires: nothing is under way.
  Socket TakeSocket();

  bool open() const { return closed_.ok(); }

  Socket& socket() { return socket_; }

 private:
  using Step = absl::AnyInvocable<absl::StatusOr<Progress>()>;

  void Run(Step step, Done done);
  absl::StatusOr<Progress> ReadOnce();
  absl::StatusOr<Progress> WriteOnce();

  const std::shared_ptr<Loop> loop_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  int64_t deadlines_ = 0;  // How many were set: only the last counts.
  absl::Status closed_;    // Why, once it is.
  std::string input_;
  std::string output_;
  size_t written_ = 0;
};

}  // namespace millrace::http
