// A socket that sends any bytes, for tests of what others may send.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
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
      pollfd ready = {.fd = socket_, .events = POLLIN, .revents = 0};
      constexpr int kMilliseconds = 60'000;
      if (poll(&ready, 1, kMilliseconds) <= 0) return all + "<nothing came>";
      const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
      if (got <= 0) return all;
      all.append(bytes.data(), static_cast<size_t>(got));
    }
    return all;
  }

  // Reads all until the other side ends.
  std::string ReadAll() const { return ReadUntil(""); }

 private:
  int socket_;
};

}  // namespace millrace::http
