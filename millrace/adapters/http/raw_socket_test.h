// A socket that sends any bytes, for tests of what others may send.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::http {

class RawSocket {
 public:
  explicit RawSocket(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
             0);
  }

  // Takes over a connection.
  static RawSocket Own(int socket) { return RawSocket(socket, 0); }

  RawSocket(RawSocket&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}

  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;

  ~RawSocket() {
    if (socket_ >= 0) close(socket_);
  }

  // Sends what the other side takes; false when it has gone.
  bool Send(std::string_view bytes) const {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }

  // Reads until the text has come, or the end; gives all that came.
  std::string ReadUntil(std::string_view text) const {
    std::string all;
    std::array<char, 4096> bytes = {};
    while (text.empty() || all.find(text) == std::string::npos) {
      if (!HasCome()) return all + "<nothing came>";
      const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
      if (got <= 0) return all;
      all.append(bytes.data(), static_cast<size_t>(got));
    }
    return all;
  }

  // Reads all until the other side ends.
  std::string ReadAll() const { return ReadUntil(""); }

  // Sends nothing more; what comes can still be read.
  void EndWriting() const { shutdown(socket_, SHUT_WR); }

 private:
  RawSocket(int socket, int /*owned*/) : socket_(socket) {}

  // Waits for bytes or the end, also where a signal comes first.
  bool HasCome() const {
    constexpr int kMilliseconds = 60'000;
    pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
    int found = -1;
    do {
      found = poll(&ready, 1, kMilliseconds);
    } while (found < 0 && errno == EINTR);
    return found > 0;
  }

  int socket_;
};

// A server that does what it is told with each connection, one after the other.
class RawServer {
 public:
  using Script = std::function<void(const RawSocket&, int connection)>;

  explicit RawServer(Script script) : script_(std::move(script)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    CHECK_EQ(bind(listener_, generic, length), 0);
    CHECK_EQ(listen(listener_, 16), 0);
    CHECK_EQ(getsockname(listener_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { Run(); });
  }

  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  ~RawServer() {
    shutdown(listener_, SHUT_RDWR);  // Wakes accept.
    thread_.join();
    close(listener_);
  }

  int port() const { return port_; }

 private:
  void Run() {
    for (int i = 0;; ++i) {
      const int accepted = accept(listener_, nullptr, nullptr);
      if (accepted < 0) return;
      const RawSocket socket = RawSocket::Own(accepted);
      script_(socket, i);
    }
  }

  const Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::jthread thread_;
};

}  // namespace millrace::http
