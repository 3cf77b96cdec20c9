// Both ends of a channel with shared memory, for tests: beside a channel that is made
// as a test likes, inside one process unless it says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/time/time.h"

#include "millrace/base/clock.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/in_process.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_reader.h"
#include "millrace/transport/shared_writer.h"

namespace millrace::transport {

// Events whose receiver is there only after the channel is.
struct LateEvents {
  ChannelEvents events = {};

  static ChannelEvents Through(const std::shared_ptr<LateEvents>& late) {
    return {
        .on_message =
            [late](Received received) { late->events.on_message(std::move(received)); },
        .on_closed = [late](const absl::Status& why) { late->events.on_closed(why); }};
  }
};

class SharedPair {
 public:
  using Ends = std::pair<std::shared_ptr<Channel>, std::shared_ptr<Channel>>;
  using Make = std::function<Ends(ChannelEvents reader, ChannelEvents writer)>;

  explicit SharedPair(std::shared_ptr<SharedHost> host, Make make = {})
      : host_(std::move(host)), make_(std::move(make)) {
    if (make_ == nullptr) {
      make_ = [this](ChannelEvents reader, ChannelEvents writer) {
        return carrier_.Connect(std::move(reader), std::move(writer));
      };
    }
  }

  explicit SharedPair(const SharedHostOptions& options, Make make = {})
      : SharedPair(std::make_shared<SharedHost>(options), std::move(make)) {}

  // Connects, and has the reader ask.
  void Connect(ChannelEvents reader, ChannelEvents writer,
               const SharedReaderOptions& options = {}) {
    auto late = std::make_shared<LateEvents>();
    reader_ = std::make_shared<SharedReader>(options);
    ChannelEvents through = LateEvents::Through(late);
    through.allocate = writer.allocate;
    auto [near, far] = make_(reader_->Wrap(std::move(reader)), std::move(through));
    writer_ = std::make_shared<SharedWriter>(host_, far);
    late->events = writer_->Wrap(std::move(writer));
    reader_->Begin(near);
    reader_->Offer();
  }

  const std::shared_ptr<SharedReader>& reader() const { return reader_; }

  const std::shared_ptr<SharedWriter>& writer() const { return writer_; }

  // Waits until memory is shared, or it is said why not.
  bool WaitSharing() const {
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(30);
    while (base::RealClock().Now() < deadline) {
      if (writer_->shared_stats().sharing) return true;
      const SharedReaderStats stats = reader_->shared_stats();
      if (!stats.note.empty()) return false;
      std::this_thread::yield();
    }
    return false;
  }

 private:
  const std::shared_ptr<SharedHost> host_;
  Make make_;
  std::shared_ptr<SharedReader> reader_;
  std::shared_ptr<SharedWriter> writer_;
  InProcess carrier_;  // Ends first.
};

}  // namespace millrace::transport
