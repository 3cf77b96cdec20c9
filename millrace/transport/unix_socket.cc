#include "millrace/transport/unix_socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/descriptor.h"
#include "millrace/base/status.h"

namespace millrace::transport {
namespace {

constexpr int kWaiting = 16;  // Connections that came and were not accepted.

absl::Status Failed(const char* what) { return absl::ErrnoToStatus(errno, what); }

// Room for one descriptor beside a message.
struct alignas(cmsghdr) Beside {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes = {};
};

struct Address {
  sockaddr_un address = {};
  socklen_t size = 0;
};

// Names that begin with a zero are in no folder.
absl::StatusOr<Address> AddressOf(std::string_view name) {
  Address address;
  address.address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof(address.address.sun_path)) {
    return absl::InvalidArgumentError("a socket has a name that none can have");
  }
  std::memcpy(address.address.sun_path + 1, name.data(), name.size());
  address.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

absl::StatusOr<base::Descriptor> Open() {
  base::Descriptor socket(
      ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.open()) return Failed("making a unix socket");
  return socket;
}

// The first descriptor beside a message; others that came with it are closed.
base::Descriptor DescriptorOf(msghdr& header) {
  base::Descriptor first;
  for (cmsghdr* beside = CMSG_FIRSTHDR(&header); beside != nullptr;
       beside = CMSG_NXTHDR(&header, beside)) {
    if (beside->cmsg_level != SOL_SOCKET || beside->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (beside->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(beside) + i * sizeof(int), sizeof(int));
      base::Descriptor received(number);
      if (!first.open()) first = std::move(received);
    }
  }
  return first;
}

}  // namespace

absl::StatusOr<UnixSocket> UnixSocket::Listen(std::string_view name) {
  const Address address = TRY(AddressOf(name));
  base::Descriptor socket = TRY(Open());
  if (bind(socket.number(), reinterpret_cast<const sockaddr*>(&address.address),
           address.size) != 0 ||
      listen(socket.number(), kWaiting) != 0) {
    return Failed("waiting at a unix socket");
  }
  return UnixSocket(std::move(socket));
}

absl::StatusOr<UnixSocket> UnixSocket::Connect(std::string_view name) {
  const Address address = TRY(AddressOf(name));
  base::Descriptor socket = TRY(Open());
  if (connect(socket.number(), reinterpret_cast<const sockaddr*>(&address.address),
              address.size) != 0) {
    return Failed("connecting to a unix socket");
  }
  return UnixSocket(std::move(socket));
}

absl::StatusOr<std::optional<UnixSocket>> UnixSocket::Accept() {
  base::Descriptor socket(
      accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.open()) return UnixSocket(std::move(socket));
  if (errno == EAGAIN || errno == ECONNABORTED) return std::nullopt;
  return Failed("accepting at a unix socket");
}

absl::StatusOr<int64_t> UnixSocket::PeerUser() const {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket_.number(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return Failed("asking who is at a unix socket");
  }
  return static_cast<int64_t>(peer.uid);
}

absl::Status UnixSocket::Send(std::string_view bytes, int descriptor) {
  CHECK(!bytes.empty());
  CHECK_LE(std::ssize(bytes), kUnixMessageMax);
  iovec piece = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  Beside beside;
  if (descriptor >= 0) {
    header.msg_control = beside.bytes.data();
    header.msg_controllen = beside.bytes.size();
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &descriptor, sizeof(int));
  }
  const ssize_t sent = sendmsg(socket_.number(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == std::ssize(bytes)) return absl::OkStatus();
  if (sent < 0 && errno != EAGAIN) return Failed("sending through a unix socket");
  return absl::UnavailableError("a unix socket has no room");
}

absl::StatusOr<UnixMessage> UnixSocket::Receive() {
  UnixMessage message{.bytes = std::string(kUnixMessageMax, '\0')};
  iovec piece = {message.bytes.data(), message.bytes.size()};
  msghdr header = {};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  Beside beside;
  header.msg_control = beside.bytes.data();
  header.msg_controllen = beside.bytes.size();
  const ssize_t size =
      recvmsg(socket_.number(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && errno != EAGAIN) return Failed("reading from a unix socket");
  if (size <= 0) return absl::UnavailableError("a unix socket has no message");
  message.descriptor = DescriptorOf(header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::DataLossError("a message of a unix socket is too long");
  }
  message.bytes.resize(size);
  return message;
}

}  // namespace millrace::transport
