// Drives both ends of shared memory: what they say to each other is changed on its way,
// or said by nobody. Nothing crashes; what was received can be read; where nothing was
// changed, it is what was sent; once all is let go, nothing is lent.

#include "millrace/transport/shared_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/drawn_test.h"
#include "millrace/api/json.h"
#include "millrace/api/shared_memory.h"
#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/log.h"
#include "millrace/core/buffer.h"
#include "millrace/core/large_shared_allocator.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/machine_identity.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_writer.h"

namespace millrace::transport {
namespace {

constexpr int kStepsMax = 64;
constexpr int64_t kRegion = 4096;

// One direction: messages wait until somebody takes them out.
class Wire final : public Channel {
 public:
  void Send(Message message) override {
    if (!closed) messages.push_back(std::move(message));
  }

  base::Bytes queued() const override { return base::Bytes(0); }

  ChannelStats stats() const override { return {}; }

  void Close() override { closed = true; }

  std::deque<Message> messages;
  bool closed = false;
};

core::Pool& Memory() {
  static core::Pool& pool = *new core::Pool(  // Never destroyed.
      core::MakeLargeSharedAllocator({.bytes_least = kRegion}), {});
  return pool;
}

std::string BytesOf(const frames::Frame& frame) {
  std::string bytes(frame.bytes(), '\0');
  frame.CopyTo(reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

std::string BytesOf(const Received& received) {
  std::string bytes(received.payload.text());
  for (const core::Buffer& part : received.parts) {
    bytes += part.text();  // Reads all of it.
    bytes.resize(frames::PaddedBytes(std::ssize(bytes)));
  }
  return bytes;
}

class World {
 public:
  explicit World(api::Drawn& drawn) : drawn_(drawn) {
    to_reader_ = reader_->Wrap(
        {.on_message = [this](Received received) { Take(std::move(received)); },
         .on_closed = [](const absl::Status&) {}});
    to_writer_ = writer_->Wrap({.on_message = [](const Received&) {},
                                .on_closed = [](const absl::Status&) {}});
    reader_->Begin(from_reader_);
    reader_->Offer();
    if (drawn_.Half()) Settle();
  }

  void Step() {
    constexpr auto kSteps = std::to_array<void (World::*)()>(
        {&World::ToReader, &World::ToReader, &World::ToWriter, &World::ToWriter,
         &World::Send, &World::Send, &World::LetGo, &World::SayToReader,
         &World::SayToWriter, &World::Settle});
    (this->*kSteps[drawn_.Below(kSteps.size())])();
  }

  void End() {
    do {  // Letting go is told, and what comes meanwhile is let go of, too.
      received_.clear();
      Settle();
    } while (!received_.empty());
    if (honest_) CHECK_EQ(writer_->shared_stats().lent_bytes, 0);
    CHECK(!honest_ || (!from_reader_->closed && !from_writer_->closed));
    to_reader_.on_closed(absl::OkStatus());
    to_writer_.on_closed(absl::OkStatus());
    CHECK_EQ(writer_->shared_stats().lent_bytes, 0);
  }

 private:
  // Everything arrives as it was sent.
  void Settle() {
    while (!from_reader_->messages.empty() || !from_writer_->messages.empty()) {
      Deliver(*from_writer_, to_reader_, false);
      Deliver(*from_reader_, to_writer_, false);
    }
  }

  void ToReader() { Deliver(*from_writer_, to_reader_, drawn_.Below(4) == 0); }

  void ToWriter() { Deliver(*from_reader_, to_writer_, drawn_.Below(4) == 0); }

  void Deliver(Wire& from, const ChannelEvents& to, bool change) {
    if (from.messages.empty()) return;
    Message message = std::move(from.messages.front());
    from.messages.pop_front();
    if (from_reader_->closed || from_writer_->closed) return;
    if (change) message = Changed(std::move(message));
    Received received{std::move(message.head), {}};
    if (message.payload.bytes() > 0) {
      received.payload = core::HeapPool().Allocate(message.payload.bytes()).value();
      message.payload.CopyTo(received.payload.mutable_data());
    }
    to.on_message(std::move(received));
  }

  Message Changed(Message message) {
    honest_ = false;
    const int64_t kind = drawn_.Below(8);
    if (kind == 0) message.payload = frames::Frame(std::string(64, 'x'), {}, 0);
    if (kind == 1 && !message.head.empty()) message.head.pop_back();
    absl::StatusOr<api::ShareHead> head = api::FromJson<api::ShareHead>(message.head);
    if (!head.ok() || !message.head.starts_with(kShareMark)) return message;
    drawn_.Change(head->shared_memory);
    message.head = api::ToJson(*head);
    return message;
  }

  void SayToReader() { Say(to_reader_); }

  void SayToWriter() { Say(to_writer_); }

  void Say(const ChannelEvents& to) {
    if (from_reader_->closed || from_writer_->closed) return;
    honest_ = false;
    api::ShareHead head;
    drawn_.Change(head.shared_memory);
    if (drawn_.Half()) head.shared_memory.lending.emplace();
    if (head.shared_memory.lending) drawn_.Change(*head.shared_memory.lending);
    to.on_message({api::ToJson(head), {}});
  }

  void Send() {
    std::vector<core::Buffer> body;
    core::Buffer region = Memory().Allocate(kRegion).value();
    std::memset(region.mutable_data(), static_cast<int>(drawn_.Below(256)), kRegion);
    for (int64_t i = drawn_.Below(4); i > 0; --i) {
      const int64_t begin = 64 * drawn_.Below(8);
      body.push_back(region.Slice(begin, 1 + drawn_.Below(256)));
    }
    region = {};
    if (drawn_.Half()) body.push_back(core::HeapPool().Allocate(100).value());
    frames::Frame frame(std::string(64, 'h'), std::move(body), 1);
    if (sent_.size() < 256) sent_.push_back(BytesOf(frame));
    writer_->Send({"{}", std::move(frame)});
  }

  void Take(Received received) {
    const std::string bytes = BytesOf(received);
    if (honest_ && !sent_.empty()) {
      CHECK(bytes == sent_.front());
      sent_.pop_front();
    }
    received_.push_back(std::move(received));
  }

  void LetGo() { received_.clear(); }

  api::Drawn& drawn_;
  bool honest_ = true;
  std::deque<std::string> sent_;
  std::vector<Received> received_;
  const std::shared_ptr<Wire> from_reader_ = std::make_shared<Wire>();
  const std::shared_ptr<Wire> from_writer_ = std::make_shared<Wire>();
  const std::shared_ptr<SharedReader> reader_ =
      std::make_shared<SharedReader>(SharedReaderOptions{});
  const std::shared_ptr<SharedWriter> writer_ =
      std::make_shared<SharedWriter>(std::make_shared<SharedHost>(SharedHostOptions{
                                         .lent_max = 4 * kRegion, .piece_least = 64}),
                                     from_writer_);
  ChannelEvents to_reader_;
  ChannelEvents to_writer_;
};

}  // namespace
}  // namespace millrace::transport

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using millrace::transport::World;
  millrace::base::SetLogSettings({.level = millrace::base::LogLevel::kOff});
  millrace::api::Drawn drawn(data, size,
                             {millrace::transport::MachineIdentity(), "", "word"});
  World world(drawn);
  for (int i = 0; i < millrace::transport::kStepsMax && !drawn.empty(); ++i) {
    world.Step();
  }
  world.End();
  return 0;
}
