// What a server answers to: functions by method and path, and channels by path. A
// value, complete before the server starts.
//
//   Router router;
//   router.Post("/v1/heartbeat", [](Request request, Responder responder) {
//     responder.Send({.body = "{}"});        // Now, or later from any thread.
//   });
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/transport/channel.h"

namespace millrace::http {

// Where the answer to one request goes, from any thread, once. Dropped without an
// answer, as by a server that ends, it answers that there is none: Unavailable, so that
// clients ask again.
class Responder {
 public:
  using Answer = absl::AnyInvocable<void(Response)>;

  explicit Responder(Answer answer) : answer_(std::move(answer)) {}

  Responder(Responder&& other) noexcept
      : answer_(std::exchange(other.answer_, nullptr)) {}

  Responder& operator=(Responder&& other) noexcept;
  ~Responder();

  // Requires: not yet answered.
  void Send(Response response);

  void Send(const absl::Status& error) { Send(ErrorResponse(error)); }

 private:
  Answer answer_;
};

// Called on the server's threads: quick, without waiting.
using Handler = std::function<void(Request, Responder)>;

// Says who hears what happens on a channel that is being opened, or why it is not. It
// may keep the channel, and send.
using ChannelHandler = std::function<absl::StatusOr<transport::ChannelEvents>(
    const Request&, const std::shared_ptr<transport::Channel>&)>;

struct Route {
  std::string path = {};
  Handler handler = {};  // One of the two.
  ChannelHandler channel = {};
  bool open_to_all = false;  // Needs no token: for health checks.
};

class Router {
 public:
  void Get(const std::string& path, Handler handler);
  void Post(const std::string& path, Handler handler);
  void GetOpenToAll(const std::string& path, Handler handler);
  void Channel(const std::string& path, ChannelHandler handler);

  // Null where there is none.
  const Route* Find(std::string_view method, std::string_view path) const;

  // Tells whether some other method would do.
  bool HasPath(std::string_view path) const;

 private:
  void Add(std::string_view method, Route route);

  // By path, then method.
  absl::flat_hash_map<std::string, absl::flat_hash_map<std::string, Route>> routes_;
};

}  // namespace millrace::http
