// A channel over a socket: messages as docs/formats/stream.md says. Belongs to one
// loop; Send, queued and Close may be called from any thread. A payload is written by
// gather, as much at once as the socket takes, and received into the owner's memory:
// one copy, kernel to user, on each side.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include <boost/asio/steady_timer.hpp>

#include "millrace/adapters/http/loop.h"
#include "millrace/adapters/http/socket.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/base/bytes.h"
#include "millrace/base/mutex.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/message_reader.h"
#include "millrace/transport/message_writer.h"
#include "millrace/transport/packing_choice.h"
#include "millrace/transport/packing_meter.h"
#include "millrace/transport/prefix.h"

namespace millrace::http {

class Stream final : public transport::Channel,
                     public std::enable_shared_from_this<Stream> {
 public:
  // What is sent before it has a socket is queued.
  Stream(std::shared_ptr<Loop> loop, const StreamOptions& options);

  void Send(transport::Message message) override;

  base::Bytes queued() const override { return base::Bytes(queued_); }

  transport::ChannelStats stats() const override;

  void Close() override;

  // Says what the other side can unpack. Before Start, on one thread at a time.
  void set_codecs(std::vector<transport::PayloadCodec> codecs) {
    codecs_ = std::move(codecs);
  }

  // Sets who is told of what happens; nothing is told before. On the loop's thread, or
  // before anybody else knows the stream.
  void SetEvents(transport::ChannelEvents events);

  // Begins with a connection of this loop, and what was read of it beyond the request.
  // On the loop's thread.
  void Start(Socket socket, std::string_view already_read);

  // Ends it with this reason; the last call of all is on_closed. Thread-safe.
  void End(absl::Status why);

  // Called when it ends, before on_closed: gives up what would have become its socket.
  void set_on_finish(std::function<void()> on_finish) {
    on_finish_ = std::move(on_finish);
  }

  // Called after on_closed.
  void set_on_gone(std::function<void()> on_gone) { on_gone_ = std::move(on_gone); }

  bool finished() const { return finished_; }

  const std::shared_ptr<Loop>& loop() const { return loop_; }

 private:
  void Flush();
  void TakeOutbox();
  void BeginPacking();
  void Use(const transport::PackingChoice& choice);
  void ChoosePacking(const frames::Frame& next);
  void SetState(transport::PackingMeter::State state);
  void CountWritten(int64_t wire_bytes);
  void WriteSome();
  void WaitToWrite(bool to_write);
  void WriteInTheNextTurn();
  void ReadSome();
  absl::Status ReadAlready(std::string_view bytes);
  absl::Status Advance(int64_t bytes);
  void BeginTick();
  void Tick();
  void Drain();
  void EndNow(const absl::Status& why);
  void Finish(const absl::Status& why);
  absl::Status PeerEnded() const;

  const std::shared_ptr<Loop> loop_;
  const StreamOptions options_;
  std::atomic<int64_t> queued_ = 0;
  std::atomic<bool> closed_ = false;    // By this side: nothing is sent any more.
  std::atomic<bool> finished_ = false;  // on_closed was called, or is being called.

  mutable base::Mutex mutex_;
  transport::ChannelStats stats_ ABSL_GUARDED_BY(mutex_);
  std::vector<transport::Message> outbox_ ABSL_GUARDED_BY(mutex_);
  bool flush_posted_ ABSL_GUARDED_BY(mutex_) = false;

  // What follows is of the loop's thread.
  std::optional<transport::ChannelEvents> events_;
  std::optional<absl::Status> early_end_;  // Before there were events.
  std::function<void()> on_finish_;
  std::function<void()> on_gone_;
  std::optional<Socket> socket_;
  std::vector<transport::PayloadCodec> codecs_;  // Of the other side.
  transport::MessageWriter writer_;
  std::optional<transport::PackingMeter> meter_;  // Where packing is measured.
  std::optional<transport::MessageReader> reader_;
  boost::asio::steady_timer timer_;
  int64_t gather_bytes_ = 0;
  bool writing_ = false;   // WriteSome will be called.
  bool draining_ = false;  // Closed here; what is queued is still sent.
  bool drained_ = false;   // All is sent; the other side's end is awaited.
  bool heard_ = false;     // Since the last tick.
  bool sent_ = false;      // The same.
  absl::Duration silence_ = absl::ZeroDuration();
};

}  // namespace millrace::http
