// What every channel promises, whichever way its messages travel.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/certificates_test.h"
#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/result_test.h"
#include "millrace/adapters/http/router.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/service_test.h"
#include "millrace/base/bytes.h"
#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/in_process.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/recorder_test.h"
#include "millrace/transport/shared_host.h"
#include "millrace/transport/shared_pair_test.h"

namespace millrace::http {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using transport::Channel;
using transport::ChannelEvents;
using transport::Received;
using transport::Recorder;

using Ends = std::pair<std::shared_ptr<Channel>, std::shared_ptr<Channel>>;

class Carrier {
 public:
  virtual ~Carrier() = default;
  virtual Ends Connect(ChannelEvents near, ChannelEvents far) = 0;
};

class InProcessCarrier final : public Carrier {
 public:
  Ends Connect(ChannelEvents near, ChannelEvents far) override {
    return carrier_.Connect(std::move(near), std::move(far));
  }

 private:
  transport::InProcess carrier_;
};

class SocketCarrier final : public Carrier {
 public:
  explicit SocketCarrier(bool secured) {
    if (secured) certificates_ = std::make_unique<Certificates>("carriers");
  }

  Ends Connect(ChannelEvents near, ChannelEvents far) override {
    Router router;
    router.Channel("/stream",
                   [this, far = std::move(far)](const Request&, const auto& channel) {
                     other_.Set(channel);
                     return far;
                   });
    ServerOptions server_options;
    ClientOptions client_options;
    if (certificates_ != nullptr) {
      server_options.tls = certificates_->Own();
      client_options.tls = certificates_->Authority();
    }
    server_ = Server::Start(server_options, std::move(router)).value();
    client_ = MakeClient(client_options);
    const auto channel = client_->OpenChannel(
        {.address = AddressOf(*server_), .path = "/stream"}, std::move(near));
    return {channel, other_.Wait()};
  }

 private:
  std::unique_ptr<Certificates> certificates_;
  Result<std::shared_ptr<Channel>> other_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
};

// Shared memory beside any other. Who connects is the reader.
class SharedCarrier final : public Carrier {
 public:
  explicit SharedCarrier(std::unique_ptr<Carrier> below) : below_(std::move(below)) {}

  Ends Connect(ChannelEvents near, ChannelEvents far) override {
    pair_ = std::make_unique<transport::SharedPair>(
        transport::SharedHostOptions{.piece_least = 1},
        [this](ChannelEvents reader, ChannelEvents writer) {
          return below_->Connect(std::move(reader), std::move(writer));
        });
    pair_->Connect(std::move(near), std::move(far));
    EXPECT_TRUE(pair_->WaitSharing());
    return {pair_->reader(), pair_->writer()};
  }

 private:
  std::unique_ptr<transport::SharedPair> pair_;
  std::unique_ptr<Carrier> below_;  // Ends first.
};

// By name: "in_process", "plain" or "secured"; "shared" beside the first, or
// "shared_secured" beside the last.
class CarriersTest : public testing::TestWithParam<const char*> {
 protected:
  CarriersTest() {
    const std::string_view name = GetParam();
    if (name.starts_with("shared")) {
      carrier_ = std::make_unique<SharedCarrier>(
          Plain(name == "shared" ? "in_process" : "secured"));
    } else {
      carrier_ = Plain(name);
    }
  }

  static std::unique_ptr<Carrier> Plain(std::string_view name) {
    if (name == "in_process") return std::make_unique<InProcessCarrier>();
    return std::make_unique<SocketCarrier>(name == "secured");
  }

  Ends Connect() { return carrier_->Connect(near_.Events(), far_.Events()); }

  Recorder near_;
  Recorder far_;
  std::unique_ptr<Carrier> carrier_;  // Ends before what its events use.
};

TEST_P(CarriersTest, KeepsTheOrderOfEachSender) {
  const auto [near, far] = Connect();
  {
    std::vector<std::jthread> threads;
    for (const auto& end : {near, far}) {
      threads.emplace_back([end] {
        for (int i = 0; i < 200; ++i) {
          end->Send({.head = base::StrCat(i),
                     .payload = transport::RandomFrame(20'000 * (i % 3), i)});
        }
      });
    }
  }
  for (Recorder* const recorder : {&near_, &far_}) {
    const std::vector<Received> received = recorder->Wait(200);
    ASSERT_EQ(received.size(), 200);
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(received[i].head, base::StrCat(i));
      EXPECT_EQ(transport::BytesOf(received[i]),
                transport::BytesOf(transport::RandomFrame(20'000 * (i % 3), i)));
    }
  }
}

TEST_P(CarriersTest, PayloadsAreAligned) {
  const auto [near, far] = Connect();
  near->Send({.head = "x", .payload = transport::RandomFrame(100'000, 1)});
  const std::vector<Received> received = far_.Wait(1);
  ASSERT_EQ(received.size(), 1);
  std::vector<core::Buffer> buffers = received[0].parts;
  buffers.push_back(received[0].payload);
  for (const core::Buffer& buffer : buffers) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % core::kAlignment, 0);
  }
}

TEST_P(CarriersTest, TheLargestHeadArrives) {
  const auto [near, far] = Connect();
  const std::string head(transport::kHeadBytesMax, 'h');
  near->Send({.head = head});
  EXPECT_TRUE(far_.Wait(1)[0].head == head);
}

TEST_P(CarriersTest, WhoClosesIsToldApartFromWhoIsLeft) {
  const auto [near, far] = Connect();
  for (int i = 0; i < 10; ++i) near->Send({.head = "before"});
  near->Close();
  near->Send({.head = "after"});
  EXPECT_THAT(near_.WaitClosed(), IsOk());
  EXPECT_THAT(far_.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(far_.Wait(10).size(), 10);
  far->Send({.head = "to nobody"});
  far->Close();
  EXPECT_EQ(near->queued().count(), 0);
}

TEST_P(CarriersTest, BothMayCloseAtOnce) {
  const auto [near, far] = Connect();
  near->Send({.head = "one"});
  far->Send({.head = "two"});
  {
    const std::jthread first([&near = near] { near->Close(); });
    const std::jthread second([&far = far] { far->Close(); });
  }
  const absl::Status one = near_.WaitClosed();
  const absl::Status two = far_.WaitClosed();
  EXPECT_TRUE(one.ok() || absl::IsUnavailable(one)) << one;
  EXPECT_TRUE(two.ok() || absl::IsUnavailable(two)) << two;
}

// An event may use its channel, also to close it.
TEST_P(CarriersTest, EventsMaySendAndClose) {
  Result<std::shared_ptr<Channel>> own;
  ChannelEvents events = far_.Events();
  events.on_message = [&own, keep = events.on_message](Received message) {
    const std::shared_ptr<Channel> channel = own.Wait();
    channel->Send({.head = "back"});
    if (message.head == "close") channel->Close();
    keep(std::move(message));
  };
  const auto [near, far] = carrier_->Connect(near_.Events(), std::move(events));
  own.Set(far);
  near->Send({.head = "go on"});
  near->Send({.head = "close"});
  near->Send({.head = "dropped"});
  EXPECT_THAT(far_.WaitClosed(), IsOk());
  EXPECT_THAT(near_.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(near_.Wait(2).size(), 2);
  EXPECT_EQ(far_.Wait(2).size(), 2);
}

TEST_P(CarriersTest, MemoryThatIsRefusedEndsTheChannel) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 100'000});
  ChannelEvents events = far_.Events();
  events.allocate = [&](std::string_view, base::Bytes bytes) {
    return pool.Allocate(bytes.count());
  };
  const auto [near, far] = carrier_->Connect(near_.Events(), std::move(events));
  near->Send({.head = "fits", .payload = transport::RandomFrame(10'000, 1)});
  near->Send({.head = "does not", .payload = transport::RandomFrame(200'000, 1)});
  EXPECT_THAT(far_.WaitClosed(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(near_.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(far_.Wait(1).size(), 1);
}

TEST_P(CarriersTest, WhatIsQueuedIsCounted) {
  const auto [near, far] = Connect();
  const frames::Frame frame = transport::RandomFrame(1'000'000, 1);
  for (int i = 0; i < 20; ++i) near->Send({.head = "x", .payload = frame});
  EXPECT_LE(near->queued(), base::Bytes(20 * (frame.bytes() + 1)));
  EXPECT_EQ(far_.Wait(20).size(), 20);
  // The last may arrive before its sender has counted it.
  const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
  while (near->queued().count() > 0 && base::RealClock().Now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(near->queued().count(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, CarriersTest,
                         testing::Values("in_process", "plain", "secured", "shared",
                                         "shared_secured"),
                         [](const auto& carrier) {
                           return std::string(carrier.param);
                         });

}  // namespace
}  // namespace millrace::http
