#include "millrace/client/worker_links.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/json.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/ids.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/transport/channel.h"

namespace millrace::client {
namespace {

// So long a worker that could not be reached is to have no lanes of ours.
constexpr absl::Duration kAvoided = absl::Seconds(10);

}  // namespace

void WorkerLinks::Begin(http::Client& client, const api::ReaderHello& hello) {
  client_ = &client;
  hello_ = hello;
}

void WorkerLinks::SetAddress(delivery::WorkerId worker, http::Address address) {
  addresses_.insert_or_assign(worker, std::move(address));
}

void WorkerLinks::Send(delivery::WorkerId worker, const api::ReaderMessage& message) {
  const auto found = links_.find(worker);
  transport::Channel& channel =
      found == links_.end() ? Connect(worker) : *found->second.channel;
  channel.Send({.head = api::ToJson(message)});
}

transport::Channel& WorkerLinks::Connect(delivery::WorkerId worker) {
  CHECK(client_ != nullptr);
  const int64_t number = next_++;
  transport::ChannelEvents events;
  events.on_message = [this, worker](transport::Received received) {
    events_.on_message(worker, std::move(received));
  };
  events.on_closed = [this, worker, number](const absl::Status&) {
    events_.on_closed(worker, number);
  };
  std::shared_ptr<transport::Channel> channel = client_->OpenChannel(
      {.address = addresses_[worker], .path = "/v1/stream"}, std::move(events));
  channel->Send({.head = api::ToJson(api::ReaderMessage{.hello = hello_})});
  Link& link = links_[worker] = {std::move(channel), number};
  return *link.channel;
}

void WorkerLinks::OnMessage(delivery::WorkerId worker) {
  const auto found = links_.find(worker);
  if (found != links_.end()) found->second.heard = true;
  unreachable_.erase(worker);
}

bool WorkerLinks::OnClosed(delivery::WorkerId worker, int64_t link, absl::Time now) {
  const auto found = links_.find(worker);
  if (found == links_.end() || found->second.number != link) return false;
  if (!found->second.heard) unreachable_[worker] = now + kAvoided;
  links_.erase(found);
  return true;
}

std::vector<int64_t> WorkerLinks::Unreachable(absl::Time now) const {
  std::vector<int64_t> workers;
  for (const auto& [worker, until] : unreachable_) {
    if (now < until) workers.push_back(base::ToNumber(worker));
  }
  return workers;
}

}  // namespace millrace::client
