#include "millrace/adapters/http/stream.h"

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/raw_socket_test.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/message_writer.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/prefix.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using base::literals::operator""_MiB;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using transport::BytesOf;
using transport::RandomFrame;
using transport::Received;
using transport::Recorder;

std::shared_ptr<transport::Channel> Open(Client& client, const Server& server,
                                         transport::ChannelEvents events) {
  return client.OpenChannel({.address = AddressOf(server), .path = "/stream"},
                            std::move(events));
}

// A socket that has asked for a channel, and was given it.
RawSocket UpgradedSocket(const Server& server) {
  RawSocket socket(server.port());
  socket.Send(
      "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
      "Upgrade: millrace-stream/9, millrace-stream/1\r\n\r\n");
  EXPECT_THAT(socket.ReadUntil("\r\n\r\n"),
              AllOf(HasSubstr("101"), HasSubstr("Upgrade: millrace-stream/1")));
  return socket;
}

TEST(StreamTest, MessagesComeBackBitForBit) {
  for (const PayloadSums sums : {PayloadSums::kNever, PayloadSums::kAlways}) {
    const auto server = StartServer({.stream = {.sums = sums}});
    const auto client = MakeClient({.stream = {.sums = sums}});
    Recorder recorder;
    const auto channel = Open(*client, *server, recorder.Events());
    std::vector<frames::Frame> frames;
    for (const int64_t bytes : {64, 64 << 10, 1 << 20, 40 << 20, 1000}) {
      frames.push_back(RandomFrame(bytes, static_cast<uint64_t>(bytes)));
      channel->Send({.head = base::StrCat(bytes), .payload = frames.back()});
      channel->Send({.head = "no payload"});
    }
    const std::vector<Received> received = recorder.Wait(2 * frames.size());
    ASSERT_EQ(received.size(), 2 * frames.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      EXPECT_TRUE(received[2 * i].payload.text() == BytesOf(frames[i])) << i;
      EXPECT_EQ(received[2 * i + 1].head, "no payload");
    }
    channel->Close();
    EXPECT_THAT(recorder.WaitClosed(), IsOk());
  }
}

TEST(StreamTest, PackedMessagesComeBackBitForBit) {
  for (const PayloadPacking packing : {PayloadPacking::kLz4, PayloadPacking::kZstd}) {
    const auto server = StartServer({.stream = {.packing = packing}});
    const auto client = MakeClient({.stream = {.packing = packing}});
    Recorder recorder;
    const auto channel = Open(*client, *server, recorder.Events());
    const frames::Frame words = transport::WordyFrame(5 << 20);
    const frames::Frame noise = RandomFrame(1 << 20, 7);
    channel->Send({.head = "first"});
    ASSERT_EQ(recorder.Wait(1).size(), 1) << "it is open: what follows is packed";
    channel->Send({.head = "words", .payload = words});
    channel->Send({.head = "noise", .payload = noise});
    const std::vector<Received> received = recorder.Wait(3);
    ASSERT_EQ(received.size(), 3);
    EXPECT_TRUE(received[1].payload.text() == BytesOf(words));
    EXPECT_TRUE(received[2].payload.text() == BytesOf(noise));
    const transport::ChannelStats stats = channel->stats();
    EXPECT_EQ(stats.messages, 3);
    EXPECT_EQ(stats.packed_messages, 2);
    EXPECT_EQ(stats.codec, packing == PayloadPacking::kLz4 ? "lz4" : "zstd");
    EXPECT_EQ(stats.bytes, 15 + words.bytes() + noise.bytes());
    EXPECT_LT(stats.wire_bytes, 2 << 20);
    channel->Close();
    EXPECT_THAT(recorder.WaitClosed(), IsOk());
  }
}

TEST(StreamTest, NothingIsPackedOnOneHost) {
  const auto server = StartServer();
  const auto client = MakeClient();
  Recorder recorder;
  const auto channel = Open(*client, *server, recorder.Events());
  for (int i = 0; i < 3; ++i) {
    channel->Send({.head = "", .payload = transport::WordyFrame(1 << 20)});
    ASSERT_EQ(recorder.Wait(i + 1).size(), i + 1);
  }
  EXPECT_EQ(channel->stats().reason, "both ends are on one host");
  EXPECT_EQ(channel->stats().packed_messages, 0);
  EXPECT_GT(channel->stats().wire_bytes, 3 << 20);
  channel->Close();
  EXPECT_THAT(recorder.WaitClosed(), IsOk());
}

// It is of an older version, and says nothing.
TEST(StreamTest, WhoDoesNotSayThatItUnpacksIsSentNothingPacked) {
  const auto server = StartServer(
      {.stream = {.sums = PayloadSums::kNever, .packing = PayloadPacking::kZstd}});
  RawSocket socket = UpgradedSocket(*server);
  transport::MessageWriter writer;
  writer.set_sums(false);
  writer.Add({.head = "words", .payload = transport::WordyFrame(200'000)});
  writer.Add({.head = "the end"});
  std::string bytes;
  for (const iovec& piece : writer.Gather(1 << 30)) {
    bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  socket.Send(bytes);
  EXPECT_TRUE(socket.ReadUntil("the end") == bytes) << "the echo, as it was sent";
}

TEST(StreamTest, SeveralChannelsAtOnce) {
  const auto server = StartServer({.stream_threads = 2});
  const auto client = MakeClient({.stream_threads = 2});
  std::vector<std::unique_ptr<Recorder>> recorders;
  std::vector<std::shared_ptr<transport::Channel>> channels;
  for (int i = 0; i < 8; ++i) {
    recorders.push_back(std::make_unique<Recorder>());
    channels.push_back(Open(*client, *server, recorders.back()->Events()));
  }
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&, i] {
        const frames::Frame frame = RandomFrame(200'000, i);
        for (int k = 0; k < 20; ++k) {
          channels[i]->Send({.head = base::StrCat(i, ".", k), .payload = frame});
        }
      });
    }
  }
  for (int i = 0; i < 8; ++i) {
    const std::vector<Received> received = recorders[i]->Wait(20);
    ASSERT_EQ(received.size(), 20);
    EXPECT_EQ(received[19].head, base::StrCat(i, ".19"));
    EXPECT_TRUE(received[19].payload.text() == BytesOf(RandomFrame(200'000, i)));
    channels[i]->Close();
  }
  for (const auto& recorder : recorders) EXPECT_THAT(recorder->WaitClosed(), IsOk());
}

TEST(StreamTest, PayloadsComeFromTheOwnersPool) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = int64_t{1} << 20});
  const auto server = StartServer();
  const auto client = MakeClient();
  Recorder recorder;
  transport::ChannelEvents events = recorder.Events();
  events.allocate = [&](std::string_view, base::Bytes bytes) {
    return pool.Allocate(bytes.count());
  };
  const auto channel = Open(*client, *server, std::move(events));
  channel->Send({.head = "fits", .payload = RandomFrame(100'000, 1)});
  ASSERT_EQ(recorder.Wait(1).size(), 1);
  EXPECT_GT(pool.stats().used_bytes, 100'000);
  channel->Send({.head = "too large", .payload = RandomFrame(2'000'000, 1)});
  EXPECT_THAT(recorder.WaitClosed(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("127.0.0.1")));
}

TEST(StreamTest, WhatWasSentBeforeClosingArrives) {
  Recorder far;
  const auto server = StartServer({}, &far);
  const auto client = MakeClient();
  Recorder near;
  const auto channel = Open(*client, *server, near.Events());
  const frames::Frame frame = RandomFrame(10'000'000, 1);
  channel->Send({.head = "last", .payload = frame});
  channel->Close();
  channel->Close();
  EXPECT_THAT(far.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable,
                                         HasSubstr("closed the channel")));
  EXPECT_THAT(near.WaitClosed(), IsOk());
  ASSERT_EQ(far.Wait(1).size(), 1);
  EXPECT_TRUE(far.Wait(1)[0].payload.text() == BytesOf(frame));
}

TEST(StreamTest, TheServersStopClosesChannels) {
  Recorder far;
  auto server = StartServer({}, &far);
  const auto client = MakeClient();
  Recorder near;
  const auto channel = Open(*client, *server, near.Events());
  channel->Send({.head = "open"});
  ASSERT_EQ(near.Wait(1).size(), 1);
  server.reset();
  EXPECT_THAT(far.WaitClosed(), IsOk());
  EXPECT_THAT(near.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
}

TEST(StreamTest, GarbageEndsTheChannelAndSaysFromWhom) {
  Recorder far;
  const auto server = StartServer({}, &far);
  const RawSocket socket = UpgradedSocket(*server);
  socket.Send(std::string(100, 'g'));
  EXPECT_EQ(socket.ReadAll(), "");
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("127.0.0.1:"), HasSubstr("no message"))));
}

TEST(StreamTest, AnOversizedPayloadTakesNoMemory) {
  Recorder far;
  const auto server = StartServer({.stream = {.payload_max = 1_MiB}}, &far);
  const RawSocket socket = UpgradedSocket(*server);
  socket.Send(transport::WritePrefix({.payload_bytes = int64_t{1} << 40}));
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("payload")));
}

TEST(StreamTest, AnEndInsideAMessageIsTold) {
  Recorder far;
  const auto server = StartServer({}, &far);
  {
    const RawSocket socket = UpgradedSocket(*server);
    socket.Send(transport::WritePrefix({.payload_bytes = 1000}) + "only this");
  }
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("9 of 1000 bytes")));
}

// A side that says nothing at all is given up; one that is only idle is not.
TEST(StreamTest, HalfOpenConnectionsAreNoticed) {
  const StreamOptions quick = {.ping_after = absl::Milliseconds(50),
                               .lost_after = absl::Milliseconds(400)};
  Recorder far;
  const auto server = StartServer({.stream = quick}, &far);
  const RawSocket silent = UpgradedSocket(*server);
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no sign of life")));
  EXPECT_THAT(silent.ReadAll(), HasSubstr("mrst"));  // It was pinged.
}

TEST(StreamTest, PingsKeepAnIdleChannelOpen) {
  const StreamOptions quick = {.ping_after = absl::Milliseconds(20),
                               .lost_after = absl::Milliseconds(300)};
  Recorder recorder;
  const auto server = StartServer({.stream = quick});
  const auto client = MakeClient({.stream = quick});
  const auto channel = Open(*client, *server, recorder.Events());
  base::RealClock().WaitFor(absl::Milliseconds(900), {});
  channel->Send({.head = "still there"});
  EXPECT_EQ(recorder.Wait(1).size(), 1);
}

// A channel that one thread is given and another uses.
class Handed {
 public:
  void Set(std::shared_ptr<transport::Channel> channel) {
    const base::MutexLock lock(&mutex_);
    channel_ = std::move(channel);
  }

  std::shared_ptr<transport::Channel> Get() {
    const base::MutexLock lock(&mutex_);
    return channel_;
  }

 private:
  base::Mutex mutex_;
  std::shared_ptr<transport::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

// A peer that reads nothing holds up nobody else.
TEST(StreamTest, ASlowReaderStallsNobody) {
  Handed slow;
  Recorder recorder;
  Router router = TestRouter();
  Recorder slow_end;
  router.Channel("/slow", [&](const Request&, const auto& channel) {
    slow.Set(channel);
    const frames::Frame frame = RandomFrame(1'000'000, 1);
    for (int i = 0; i < 50; ++i) channel->Send({.head = "", .payload = frame});
    return slow_end.Events();
  });
  const auto server =
      Server::Start({.stream = {.close_within = absl::Milliseconds(50)}},
                    std::move(router))
          .value();
  const RawSocket socket(server->port());
  socket.Send(
      "GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: millrace-stream/1\r\n\r\n");
  EXPECT_THAT(socket.ReadUntil("\r\n\r\n"), HasSubstr("101"));
  const auto client = MakeClient();
  const auto channel = Open(*client, *server, recorder.Events());
  const frames::Frame frame = RandomFrame(1'000'000, 2);
  for (int i = 0; i < 20; ++i) channel->Send({.head = "", .payload = frame});
  EXPECT_EQ(recorder.Wait(20).size(), 20);
  EXPECT_GT(slow.Get()->queued().count(), 0);
  slow.Get()->Close();
  EXPECT_THAT(slow_end.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("did not take")));
}

TEST(StreamTest, AQueueBeyondBoundsClosesTheChannel) {
  const auto server = StartServer();
  const auto client = MakeClient({.stream = {.queued_max = 1_MiB}});
  Recorder recorder;
  const auto channel = Open(*client, *server, recorder.Events());
  const frames::Frame frame = RandomFrame(400'000, 1);
  for (int i = 0; i < 100; ++i) channel->Send({.head = "", .payload = frame});
  EXPECT_THAT(recorder.WaitClosed(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("credits")));
}

TEST(StreamTest, ChannelsHaveALimit) {
  const auto server = StartServer({.channels_max = 1});
  const auto client = MakeClient();
  Recorder first;
  Recorder second;
  const auto channel = Open(*client, *server, first.Events());
  channel->Send({.head = "open"});
  ASSERT_EQ(first.Wait(1).size(), 1);
  (void)Open(*client, *server, second.Events());
  EXPECT_THAT(second.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no channel left")));
  channel->Close();
  EXPECT_THAT(first.WaitClosed(), IsOk());
}

// The handler, or whoever it gave the channel to, may be done with it at once.
TEST(StreamTest, AHandlerMaySendAndClose) {
  for (const bool sends : {true, false}) {
    Recorder far;
    Recorder near;
    Router router;
    router.Channel("/stream", [&](const Request&, const auto& channel) {
      if (sends) channel->Send({.head = "refused", .payload = RandomFrame(100'000, 1)});
      channel->Close();
      return far.Events();
    });
    const auto server = Server::Start({}, std::move(router)).value();
    const auto client = MakeClient();
    (void)Open(*client, *server, near.Events());
    EXPECT_THAT(near.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
    EXPECT_THAT(far.WaitClosed(), IsOk());
    EXPECT_EQ(near.Wait(1).size(), sends ? 1 : 0);
  }
}

TEST(StreamTest, AnotherVersionIsToldWhichThereIs) {
  const auto server = StartServer();
  const RawSocket socket(server->port());
  socket.Send(
      "GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: millrace-stream/9\r\n\r\n");
  EXPECT_THAT(socket.ReadAll(),
              AllOf(HasSubstr("426"), HasSubstr("Upgrade: millrace-stream/1")));
}

// Runs in a process of its own: sends for ever, until it is killed.
[[noreturn]] void SendForEver(int port) {
  const auto client = MakeClient();
  Recorder recorder;
  const auto channel = client->OpenChannel(
      {.address = {"127.0.0.1", port}, .path = "/stream"}, recorder.Events());
  const frames::Frame frame = RandomFrame(8'000'000, 1);
  while (true) {
    if (channel->queued() < base::Bytes(32'000'000)) {
      channel->Send({.head = "more", .payload = frame});
    }
    std::this_thread::yield();
  }
}

TEST(StreamTest, APeerThatIsKilledInAMessageIsNoticed) {
  Recorder far;
  Router router;
  router.Channel("/stream", [&](const Request&, const auto&) { return far.Events(); });
  int ports[2] = {};
  ASSERT_EQ(pipe(ports), 0);
  const pid_t child = fork();  // Before this process has threads.
  ASSERT_GE(child, 0);
  if (child == 0) {
    int port = 0;
    if (read(ports[0], &port, sizeof(port)) != sizeof(port)) _exit(1);
    SendForEver(port);
  }
  const auto server = Server::Start({}, std::move(router)).value();
  const int port = server->port();
  ASSERT_EQ(write(ports[1], &port, sizeof(port)), sizeof(port));
  EXPECT_GE(far.Wait(3).size(), 3);
  kill(child, SIGKILL);
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("127.0.0.1:")));
  waitpid(child, nullptr, 0);
  close(ports[0]);
  close(ports[1]);
}

}  // namespace
}  // namespace millrace::http
