#include "millrace/transport/in_process.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/frames/frame.h"
#include "millrace/transport/channel.h"
#include "millrace/transport/payloads_test.h"
#include "millrace/transport/recorder_test.h"

namespace millrace::transport {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

TEST(InProcessTest, MessagesArriveInOrderBothWays) {
  Recorder near;
  Recorder far;
  InProcess carrier;
  const auto [first, second] = carrier.Connect(near.Events(), far.Events());
  const frames::Frame frame = RandomFrame(100'000, 1);
  for (int i = 0; i < 100; ++i) {
    first->Send({.head = base::StrCat(i), .payload = frame});
  }
  second->Send({.head = "back"});
  const std::vector<Received> received = far.Wait(100);
  ASSERT_EQ(received.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(received[i].head, base::StrCat(i));
  EXPECT_EQ(received[99].payload.text(), BytesOf(frame));
  EXPECT_EQ(near.Wait(1)[0].head, "back");
  EXPECT_EQ(first->queued().count(), 0);
}

TEST(InProcessTest, WhatWasSentBeforeClosingArrives) {
  Recorder near;
  Recorder far;
  InProcess carrier;
  const auto [first, second] = carrier.Connect(near.Events(), far.Events());
  first->Send({.head = "last"});
  first->Close();
  first->Close();
  first->Send({.head = "dropped"});
  EXPECT_THAT(near.WaitClosed(), IsOk());
  EXPECT_THAT(far.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("other side")));
  ASSERT_EQ(far.Wait(1).size(), 1);
  EXPECT_EQ(far.Wait(1)[0].head, "last");
}

TEST(InProcessTest, ADroppedPointerClosesNothing) {
  Recorder near;
  Recorder far;
  InProcess carrier;
  auto [first, second] = carrier.Connect(near.Events(), far.Events());
  second.reset();
  first->Send({.head = "there"});
  EXPECT_EQ(far.Wait(1)[0].head, "there");
}

TEST(InProcessTest, ARefusedAllocationClosesBothEnds) {
  Recorder near;
  Recorder far;
  InProcess carrier;
  ChannelEvents events = far.Events();
  events.allocate = [](std::string_view, base::Bytes) {
    return absl::StatusOr<core::Buffer>(absl::ResourceExhaustedError("no credits"));
  };
  const auto [first, second] = carrier.Connect(near.Events(), std::move(events));
  first->Send({.head = "large", .payload = RandomFrame(1000, 1)});
  EXPECT_THAT(far.WaitClosed(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(near.WaitClosed(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no credits")));
}

TEST(InProcessTest, EndingTheCarrierClosesItsChannels) {
  Recorder near;
  Recorder far;
  std::shared_ptr<Channel> kept;
  {
    InProcess carrier;
    kept = carrier.Connect(near.Events(), far.Events()).first;
  }
  EXPECT_THAT(near.WaitClosed(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(far.WaitClosed(), StatusIs(absl::StatusCode::kCancelled));
  kept->Send({.head = "dropped"});
  kept->Close();
}

// Many threads send and close at once; each end hears of its close once.
TEST(InProcessTest, IsUsedFromManyThreads) {
  InProcess carrier;
  for (int round = 0; round < 20; ++round) {
    Recorder near;
    Recorder far;
    const auto [first, second] = carrier.Connect(near.Events(), far.Events());
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
          for (int k = 0; k < 20; ++k) (i % 2 == 0 ? first : second)->Send({});
          if (i == 3) first->Close();
        });
      }
    }
    EXPECT_THAT(near.WaitClosed(), IsOk());
    EXPECT_THAT(far.WaitClosed(), StatusIs(absl::StatusCode::kUnavailable));
  }
}

}  // namespace
}  // namespace millrace::transport
