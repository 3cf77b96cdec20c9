// Sends a server's connection anything, in pieces of drawn sizes, and then the end: it
// is answered as HTTP or not at all, and always ends. What asks for a channel goes on
// as one. The sockets are pairs of this process, without a network.

#include "millrace/adapters/http/session.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/transport/channel.h"

namespace millrace::http {
namespace {

using base::literals::operator""_KiB;

// Small limits, so that inputs reach them.
ServerOptions Options() {
  ServerOptions options{.header_max = 1_KiB, .body_max = 2_KiB};
  options.stream.payload_max = 4_KiB;
  return options;
}

// "/echo" gives back what it gets; "/stream" is a channel that does the same with
// heads.
Router Echoing() {
  Router router;
  const Handler echo = [](Request request, Responder responder) {
    responder.Send({.body = std::move(request.body)});
  };
  router.Get("/echo", echo);
  router.Post("/echo", echo);
  router.Channel("/stream", [](const Request& /*request*/, const auto& channel) {
    transport::ChannelEvents events;
    events.on_message = [channel](const transport::Received& message) {
      channel->Send({.head = message.head});
    };
    return events;
  });
  return router;
}

class Connection {
 public:
  Connection() : Connection(Pair()) {}

  // What comes back for these bytes, until the server ends.
  std::string Answer(std::string_view bytes, size_t step) const {
    bool taken = true;
    while (taken && !bytes.empty()) {
      const size_t size = std::min(step, bytes.size());
      taken = near_.Send(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    near_.EndWriting();
    return near_.ReadAll();
  }

 private:
  explicit Connection(const std::array<int, 2>& pair) : near_(RawSocket::Own(pair[0])) {
    // Never destroyed: a connection may outlive the last input, on the loop's thread.
    static const auto& service =
        *new std::shared_ptr<Service>(std::make_shared<Service>(Options(), Echoing()));
    static const auto& loop = *new std::shared_ptr<Loop>(std::make_shared<Loop>());
    loop->Post([far = pair[1]] {
      using boost::asio::ip::tcp;
      tcp::socket socket(loop->context());
      socket.assign(tcp::v4(), far);
      std::make_shared<Session>(service, loop, Socket(loop, std::move(socket)))
          ->Start();
    });
  }

  static std::array<int, 2> Pair() {
    std::array<int, 2> pair = {};
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
    return pair;
  }

  const RawSocket near_;
};

}  // namespace
}  // namespace millrace::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const millrace::http::Connection connection;
  const std::string answer = connection.Answer(input, size_t{1} + data[0]);
  CHECK(answer.empty() || answer.starts_with("HTTP/1.1 ")) << answer;
  CHECK(!answer.ends_with("<nothing came>")) << answer;
  return 0;
}
