#include "millrace/bench/service/raw_stream.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/usage.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"

namespace millrace::bench {
namespace {

absl::Status Failed(std::string_view doing) {
  return absl::UnavailableError(base::StrCat("a TCP connection on loopback: ", doing,
                                             ": ",
                                             std::generic_category().message(errno)));
}

// A socket that is closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}

  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

  Socket& operator=(Socket&&) = delete;

  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct Ends {
  Socket near;
  Socket far;
};

absl::StatusOr<Ends> Connect() {
  const Socket listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener.get(), generic, length) != 0) return Failed("bind");
  if (listen(listener.get(), 1) != 0) return Failed("listen");
  if (getsockname(listener.get(), generic, &length) != 0) return Failed("getsockname");
  Socket near(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(near.get(), generic, length) != 0) return Failed("connect");
  Socket far(accept(listener.get(), nullptr, nullptr));
  if (far.get() < 0) return Failed("accept");
  return Ends{std::move(near), std::move(far)};
}

absl::Status SendAll(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t taken = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (taken < 0) return Failed("send");
    bytes.remove_prefix(static_cast<size_t>(taken));
  }
  return absl::OkStatus();
}

// Sends messages until they are all sent or the other side has ended.
void SendMessages(int socket, const Amount& amount) {
  const std::string message(static_cast<size_t>(amount.message_bytes), 'x');
  for (int64_t i = 0; i < amount.first + amount.messages; ++i) {
    if (!SendAll(socket, message).ok()) break;
  }
  shutdown(socket, SHUT_WR);
}

absl::StatusOr<Moved> ReceiveMessages(int socket, const Amount& amount) {
  const int64_t size = amount.message_bytes;
  std::array<core::Buffer, 2> places = {TRY(core::HeapPool().Allocate(size)),
                                        TRY(core::HeapPool().Allocate(size))};
  absl::Duration begin;
  double cpu = 0;
  for (int64_t i = 0; i < amount.first + amount.messages; ++i) {
    if (i == amount.first) {
      begin = base::RealClock().Monotonic();
      cpu = CpuSeconds();
    }
    std::byte* const to = places[i % 2].mutable_data();
    if (recv(socket, to, static_cast<size_t>(size), MSG_WAITALL) < size) {
      return Failed("recv");
    }
  }
  const double seconds = absl::ToDoubleSeconds(base::RealClock().Monotonic() - begin);
  const auto bytes = static_cast<double>(size * amount.messages);
  return Moved{bytes / seconds, (CpuSeconds() - cpu) / (bytes * 1e-9)};
}

}  // namespace

absl::StatusOr<Moved> MoveRaw(const Amount& amount) {
  const Ends ends = TRY(Connect());
  const std::jthread sender([&] { SendMessages(ends.near.get(), amount); });
  // So that the sender does not wait for who reads no more.
  const absl::Cleanup end = [&] { shutdown(ends.far.get(), SHUT_RDWR); };
  return ReceiveMessages(ends.far.get(), amount);
}

}  // namespace millrace::bench
