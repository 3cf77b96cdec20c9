// Connections between processes of one machine, to pass descriptors through. They have
// names in no folder, so nothing is left behind however a process ends, and the kernel
// tells whose process is at the other end. Whole messages, in order. Never waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/descriptor.h"

namespace millrace::transport {

// The most bytes of a message.
inline constexpr int64_t kUnixMessageMax = 256;

struct UnixMessage {
  std::string bytes;
  base::Descriptor descriptor = {};  // That came with it, closed by exec; or none.
};

class UnixSocket {
 public:
  // Waits under a name, which nobody else has then.
  static absl::StatusOr<UnixSocket> Listen(std::string_view name);

  static absl::StatusOr<UnixSocket> Connect(std::string_view name);

  // Of a socket that waits: the next that came; nothing where there is none.
  absl::StatusOr<std::optional<UnixSocket>> Accept();

  // The user that the process at the other end acted for when it connected, or began to
  // wait.
  absl::StatusOr<int64_t> PeerUser() const;

  // Sends a message, and a descriptor with it unless it is -1. Unavailable where there
  // is no room. Requires: 1 to kUnixMessageMax bytes.
  absl::Status Send(std::string_view bytes, int descriptor = -1);

  // The next message; Unavailable where none is there.
  absl::StatusOr<UnixMessage> Receive();

  const base::Descriptor& descriptor() const { return socket_; }

 private:
  explicit UnixSocket(base::Descriptor socket) : socket_(std::move(socket)) {}

  base::Descriptor socket_;
};

}  // namespace millrace::transport
