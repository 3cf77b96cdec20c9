#include "millrace/client/worker_links.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/json.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/ids.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/shared_reader.h"

namespace millrace::client {
namespace {

// So long a worker that could not be reached is to have no lanes of ours.
constexpr absl::Duration kAvoided = absl::Seconds(10);

// Who knows of shared memory has told by then.
constexpr absl::Duration kAnswersWithin = absl::Seconds(5);

}  // namespace

void WorkerLinks::Begin(http::Client& client, const api::ReaderHello& hello,
                        bool shares) {
  client_ = &client;
  hello_ = hello;
  shares_ = shares;
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
  // What several members read none of them may write to.
  auto channel = std::make_shared<transport::SharedReader>(
      transport::SharedReaderOptions{.writes = hello_.members == 1});
  channel->Begin(client_->OpenChannel(
      {.address = addresses_[worker], .path = "/v1/stream"}, channel->Wrap(events)));
  channel->Send({.head = api::ToJson(api::ReaderMessage{.hello = hello_})});
  if (shares_ && !liars_.contains(worker)) channel->Offer();
  Link& link = links_[worker] = {.channel = std::move(channel),
                                 .number = number,
                                 .opened = base::RealClock().Now()};
  return *link.channel;
}

void WorkerLinks::StopWaiting(absl::Time now) {
  for (const auto& [worker, link] : links_) {
    if (now - link.opened > kAnswersWithin) link.channel->StopWaiting();
  }
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
  if (found->second.channel->betrayed()) liars_.insert(worker);
  const std::string note = found->second.channel->shared_stats().note;
  if (!note.empty()) note_ = note;
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

SharingStats WorkerLinks::sharing() const {
  SharingStats all{.note = note_};
  for (const auto& [worker, link] : links_) {
    const transport::SharedReaderStats stats = link.channel->shared_stats();
    all.workers += stats.sharing ? 1 : 0;
    if (!stats.note.empty()) all.note = stats.note;
  }
  return all;
}

}  // namespace millrace::client
