// For tests: the socket that a service manager listens on.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "millrace/base/check.h"

namespace millrace::cli {

class NotifySocket {
 public:
  // At a path, or under a name that begins with @.
  explicit NotifySocket(std::string path) : path_(std::move(path)) {
    sockaddr_un address = {};
    CHECK_LT(path_.size(), sizeof(address.sun_path));
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    if (path_.front() == '@') address.sun_path[0] = '\0';
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const size_t length = offsetof(sockaddr_un, sun_path) + path_.size();
    CHECK_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                  static_cast<socklen_t>(length)),
             0);
    const timeval within{.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof(within));
  }

  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  ~NotifySocket() { close(socket_); }

  const std::string& path() const { return path_; }

  // The next message; empty: none came.
  std::string Receive() {
    std::array<char, 4096> message = {};
    const ssize_t got = recv(socket_, message.data(), message.size(), 0);
    return got < 0 ? "" : std::string(message.data(), static_cast<size_t>(got));
  }

 private:
  std::string path_;
  int socket_ = -1;
};

}  // namespace millrace::cli
