// What processes of a simulated cluster say to each other. Requests and replies are
// lost, doubled and reordered. Streams keep order while they last, and lose what is in
// them when they break. Plain data.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/random.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::sim {

// Rows of a lane, in place of a block.
struct Rows {
  int64_t pass = 0;
  int64_t lane = 0;
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const Rows&) const = default;
};

struct Request {
  std::variant<api::OpenJob, api::ConsumerBeat, api::WorkerBeat> what;
  int64_t from = 0;  // Process.
  int64_t life = 0;  // Of that process: replies to an earlier one are lost.
};

struct Reply {
  std::variant<api::OpenedJob, api::ConsumerNews, api::WorkerNews> what;
  int64_t to = 0;
  int64_t life = 0;
};

// Messages on their way, in no order.
template <typename Message>
class Cloud {
 public:
  explicit Cloud(double loss) : loss_(loss) {}

  void Send(const Message& message, base::Generator& random) {
    const int64_t copies = random.Integer(0, 4) == 0 ? 2 : 1;
    for (int64_t i = 0; i < copies; ++i) {
      if (random.Uniform() >= loss_) messages_.push_back(message);
    }
    if (messages_.size() > kMessagesMax) messages_.erase(messages_.begin());
  }

  bool empty() const { return messages_.empty(); }

  Message Take(base::Generator& random) {
    const int64_t place = random.Integer(0, std::ssize(messages_));
    std::swap(messages_[place], messages_.back());
    Message message = std::move(messages_.back());
    messages_.pop_back();
    return message;
  }

 private:
  static constexpr size_t kMessagesMax = 200;

  double loss_;
  std::vector<Message> messages_;
};

// Between one life of a consumer and one of a worker.
struct Stream {
  delivery::ReaderId reader = {};
  int64_t consumer = 0;  // Process.
  int64_t worker = 0;    // Number that it drew.
  std::deque<api::ReaderMessage> to_worker = {};
  std::deque<std::pair<api::WorkerMessage, Rows>> to_consumer = {};
};

}  // namespace millrace::sim
