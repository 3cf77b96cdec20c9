// Channels between two parts of one process: no socket, one copy of each payload. Runs
// a thread of its own, which makes all calls of events, for all its channels. For local
// workers and for tests. Thread-safe.
//
//   InProcess carrier;
//   auto [near, far] = carrier.Connect(events_of_near, events_of_far);
//   near->Send({.head = "{}"});              // far's on_message gets it.
#pragma once

#include <memory>
#include <utility>

#include "millrace/transport/channel.h"

namespace millrace::transport {

class InProcess {
 public:
  InProcess();
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  // Closes all channels; no event is called any more when it returns.
  // Requires: not called by an event.
  ~InProcess();

  using Pair = std::pair<std::shared_ptr<Channel>, std::shared_ptr<Channel>>;

  // Makes both ends of a connection.
  Pair Connect(ChannelEvents near, ChannelEvents far);

 private:
  class Worker;
  class End;
  std::shared_ptr<Worker> worker_;
};

}  // namespace millrace::transport
