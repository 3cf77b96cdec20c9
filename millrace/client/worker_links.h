// The streams of a consumer to the workers that run its lanes: opened when something is
// to be said, opened again when one was lost. Who uses it holds its own lock in every
// call; what happens on a stream is told on a thread of the client, without it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/stream.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/shared_reader.h"

namespace millrace::client {

struct LinkEvents {
  std::function<void(delivery::WorkerId, transport::Received)> on_message;
  std::function<void(delivery::WorkerId, int64_t link)> on_closed;
};

// Of all streams so far.
struct SharingStats {
  int64_t workers = 0;    // That share memory, now.
  std::string note = {};  // Why something came by copying; of one of them.
};

class WorkerLinks {
 public:
  explicit WorkerLinks(LinkEvents events) : events_(std::move(events)) {}

  // Who speaks, and through what. Requires: the client outlives all calls of Send.
  // `shares`: whether workers are asked for shared memory.
  void Begin(http::Client& client, const api::ReaderHello& hello, bool shares);

  // Where a worker is.
  void SetAddress(delivery::WorkerId worker, http::Address address);

  void Send(delivery::WorkerId worker, const api::ReaderMessage& message);

  // Does not let a worker that is silent about shared memory keep what is asked of it.
  void StopWaiting(absl::Time now);

  // A message came from that worker: it can be reached.
  void OnMessage(delivery::WorkerId worker);

  // A stream was closed. Tells whether it was the one that is used.
  bool OnClosed(delivery::WorkerId worker, int64_t link, absl::Time now);

  // Workers that were not to be reached lately.
  std::vector<int64_t> Unreachable(absl::Time now) const;

  SharingStats sharing() const;

 private:
  struct Link {
    std::shared_ptr<transport::SharedReader> channel;
    int64_t number = 0;
    bool heard = false;
    absl::Time opened = absl::InfinitePast();
  };

  transport::Channel& Connect(delivery::WorkerId worker);

  LinkEvents events_;
  http::Client* client_ = nullptr;
  api::ReaderHello hello_;
  std::map<delivery::WorkerId, http::Address> addresses_;
  std::map<delivery::WorkerId, Link> links_;
  std::map<delivery::WorkerId, absl::Time> unreachable_;  // Up to then.
  bool shares_ = false;
  std::set<delivery::WorkerId> liars_;  // Are not asked for shared memory again.
  std::string note_;                    // Of streams that were.
  int64_t next_ = 0;
};

}  // namespace millrace::client
