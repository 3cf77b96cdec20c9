// Asks HTTP servers, and opens channels to them. Keeps connections for the next
// request, and tries again what failed on the way: every request of ours may be sent
// twice, and carries an id by which a server can tell. Its own threads, apart for
// requests and for channels. Thread-safe.
//
//   const std::unique_ptr<Client> client = TRY(Client::Make({.token = token}));
//   const Response reply = TRY(client->CallAndWait(
//       {.address = {"dispatcher", 7400}, .path = "/v1/heartbeat", .body = json}));
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/adapters/http/tls.h"
#include "millrace/base/bytes.h"
#include "millrace/transport/channel.h"

namespace millrace::http {

using base::literals::operator""_MiB;

struct ClientOptions {
  std::string token = {};                        // Sent with each request.
  std::optional<TlsOptions> tls = std::nullopt;  // None: plain connections.
  int request_threads = 1;
  int stream_threads = 1;
  int calls_max = 4096;                                 // At a time.
  int channels_max = 1024;                              // The same.
  int idle_connections_max = 8;                         // Kept for each address.
  absl::Duration idle_max = absl::Seconds(30);          // How long they are kept.
  absl::Duration connect_within = absl::Seconds(10);    // One attempt.
  absl::Duration retry_after = absl::Milliseconds(50);  // Doubled each time, up to:
  absl::Duration retry_after_max = absl::Seconds(2);
  base::Bytes answer_max = 64_MiB;
  StreamOptions stream = {};
};

struct Call {
  Address address;
  std::string method = "POST";
  std::string path;
  std::string query = {};
  std::string body = {};
  std::vector<Header> headers = {};
  absl::Duration within = absl::Seconds(30);  // All attempts together.
  int attempts_max = std::numeric_limits<int>::max();
};

enum class CallId : int64_t {};

struct ChannelCall {
  Address address;
  std::string path;
  std::string query = {};
  std::vector<Header> headers = {};
  absl::Duration within = absl::Seconds(10);  // Until it is open; one attempt.
};

// An answer that is a success, else: the error that the server sent; Unavailable,
// naming host and port, where it could not be asked; DeadlineExceeded where it did not
// answer.
using CallDone = std::function<void(absl::StatusOr<Response>)>;

class Client {
 public:
  static absl::StatusOr<std::unique_ptr<Client>> Make(const ClientOptions& options);

  // Cancels what is under way, closes channels, and waits for its threads.
  // Requires: not called by a callback.
  ~Client();

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Asks; `done` is called once, on a thread of the client, and must be quick.
  CallId Start(Call call, CallDone done);

  // Ends a call early; its `done` gets Cancelled, unless it was called before.
  void Cancel(CallId id);

  // Asks and waits for the answer, or until asked to stop. Requires: not in a callback.
  absl::StatusOr<Response> CallAndWait(Call call, const std::stop_token& stop = {});

  // Gives a channel at once; what is sent is queued until it is open. Where that fails,
  // on_closed says why.
  std::shared_ptr<transport::Channel> OpenChannel(ChannelCall call,
                                                  transport::ChannelEvents events);

 private:
  class State;
  explicit Client(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace millrace::http
