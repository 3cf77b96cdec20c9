// One connection between a consumer and a worker: messages in order, both ways. A
// message is a small head (JSON of a struct of api) and a payload (a frame, as raw
// buffers). The carriers behind it: in_process.h, and a stream over a socket
// (adapters/http). Thread-safe; nothing here waits.
//
// A channel lives until it is closed, by whichever side; dropping the pointer to it
// does not close it. What the events use must live until on_closed was called.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/bytes.h"
#include "millrace/core/buffer.h"
#include "millrace/frames/frame.h"

namespace millrace::transport {

// The most that a head may have.
inline constexpr int64_t kHeadBytesMax = int64_t{1} << 20;

struct Message {
  std::string head;  // At most kHeadBytesMax.
  frames::Frame payload = frames::Frame({}, {}, 0);
};

struct Received {
  std::string head;
  core::Buffer payload;  // What `allocate` gave; none where there is no payload.
  // Where some of a frame is in shared memory: its body, as frames::DecodeParts takes
  // it; the payload is the frame's head then.
  std::vector<core::Buffer> parts = {};
  int64_t shared_bytes = 0;  // Of the parts.
};

// What a channel tells its owner, on a thread of the carrier: one call at a time, and
// quick, as other channels wait meanwhile.
struct ChannelEvents {
  std::function<void(Received)> on_message;

  // The last call; always comes, and once. OK where this side closed the channel, else
  // who ended it and why.
  std::function<void(absl::Status)> on_closed;

  // Gives memory for a payload of so many bytes, aligned to core::kAlignment. An error
  // closes the channel; without this, memory comes from core::HeapPool().
  std::function<absl::StatusOr<core::Buffer>(std::string_view head, base::Bytes)>
      allocate = {};
};

// What a channel has sent so far, and how it sends now.
struct ChannelStats {
  int64_t messages = 0;
  int64_t bytes = 0;                // Heads and payloads, before compression.
  int64_t wire_bytes = 0;           // What the connection took for them.
  int64_t packed_messages = 0;      // That were compressed.
  std::string_view codec = "none";  // Of the next payload.
  std::string_view reason = "nothing measured yet";  // Why, in words.

  bool operator==(const ChannelStats&) const = default;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // Queues a message. What is sent after the channel was closed is dropped. The caller
  // bounds what it sends by credits; a queue beyond all bounds closes the channel.
  virtual void Send(Message message) = 0;

  // What was sent and has not left this process yet.
  virtual base::Bytes queued() const = 0;

  virtual ChannelStats stats() const = 0;

  // Sends what is queued, within a short time, and ends the connection. Messages that
  // arrive from now on are dropped. May be repeated.
  virtual void Close() = 0;
};

}  // namespace millrace::transport
