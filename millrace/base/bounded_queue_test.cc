#include "millrace/base/bounded_queue.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::Eq;
using testing::HasSubstr;
using testing::Optional;
using testing::Pointee;

constexpr absl::StatusCode kCancelled = absl::StatusCode::kCancelled;
constexpr absl::StatusCode kDeadlineExceeded = absl::StatusCode::kDeadlineExceeded;

// A deadline that a working queue never reaches.
absl::Time Later() { return RealClock().Now() + absl::Minutes(1); }

absl::Time Soon() { return RealClock().Now() + absl::Milliseconds(3); }

// Gives other threads time to start waiting. A test is right without it, too.
void LetOthersWait() { RealClock().WaitFor(absl::Milliseconds(2), {}); }

TEST(BoundedQueueTest, HandsItemsOutInOrder) {
  BoundedQueue<int> queue(3);
  EXPECT_THAT(queue.Push(1, Later()), IsOk());
  EXPECT_THAT(queue.Push(2, Later()), IsOk());
  EXPECT_EQ(queue.size(), 2);
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(1));
  EXPECT_THAT(queue.Push(3, Later()), IsOk());
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(2));
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(3));
  EXPECT_EQ(queue.size(), 0);
}

TEST(BoundedQueueTest, TriesWithoutWaiting) {
  BoundedQueue<int> queue(1);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_THAT(queue.TryPop(), Optional(1));
  EXPECT_EQ(queue.TryPop(), std::nullopt);
}

TEST(BoundedQueueTest, NeedsACapacity) {
  EXPECT_EQ(BoundedQueue<int>(7).capacity(), 7);
  EXPECT_DEATH(BoundedQueue<int>(0), "capacity > 0");
}

TEST(BoundedQueueTest, WaitsEndAtTheirDeadline) {
  BoundedQueue<int> queue(1);
  EXPECT_THAT(queue.Pop(Soon()), StatusIs(kDeadlineExceeded));
  EXPECT_THAT(queue.Pop(absl::InfinitePast()), StatusIs(kDeadlineExceeded));
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_THAT(queue.Push(2, Soon()), StatusIs(kDeadlineExceeded));
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(1));
}

TEST(BoundedQueueTest, WhatIsReadyNeedsNoTime) {
  BoundedQueue<int> queue(1);
  EXPECT_THAT(queue.Push(1, absl::InfinitePast()), IsOk());
  EXPECT_THAT(queue.Pop(absl::InfinitePast()), IsOkAndHolds(1));
}

TEST(BoundedQueueTest, AnItemThatWasRefusedStaysWithItsOwner) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto item = std::make_unique<int>(2);
  // NOLINTBEGIN(bugprone-use-after-move): that it is not moved from is what we test.
  EXPECT_FALSE(queue.TryPush(std::move(item)));
  EXPECT_THAT(queue.Push(std::move(item), Soon()), StatusIs(kDeadlineExceeded));
  queue.Close();
  EXPECT_THAT(queue.Push(std::move(item), Later()), StatusIs(kCancelled));
  EXPECT_THAT(item, Pointee(2));
  // NOLINTEND(bugprone-use-after-move)
}

TEST(BoundedQueueTest, AClosedQueueIsEmptiedAndTakesNoMore) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.closed());
  queue.Close();
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_THAT(queue.Push(3, Later()), StatusIs(kCancelled, HasSubstr("closed")));
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(1));
  EXPECT_THAT(queue.TryPop(), Optional(2));
  EXPECT_THAT(queue.Pop(Later()), StatusIs(kCancelled, HasSubstr("closed")));
}

TEST(BoundedQueueTest, ACancelledQueueDropsWhatItHolds) {
  const auto item = std::make_shared<int>(1);
  BoundedQueue<std::shared_ptr<int>> queue(2);
  EXPECT_TRUE(queue.TryPush(std::shared_ptr<int>(item)));
  queue.Cancel();
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_THAT(queue.Pop(Later()), StatusIs(kCancelled));
  EXPECT_TRUE(queue.closed());
}

TEST(BoundedQueueTest, APushWaitsForRoom) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.TryPush(1));
  const std::jthread pusher([&] { EXPECT_THAT(queue.Push(2, Later()), IsOk()); });
  LetOthersWait();
  EXPECT_EQ(queue.size(), 1);
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(1));
  EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(2));
}

TEST(BoundedQueueTest, APopWaitsForAnItem) {
  BoundedQueue<int> queue(1);
  const std::jthread popper([&] { EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(7)); });
  LetOthersWait();
  EXPECT_THAT(queue.Push(7, Later()), IsOk());
}

TEST(BoundedQueueTest, ClosingWakesEverybody) {
  BoundedQueue<int> empty(1);
  BoundedQueue<int> full(1);
  EXPECT_TRUE(full.TryPush(1));
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back(
        [&] { EXPECT_THAT(empty.Pop(absl::InfiniteFuture()), StatusIs(kCancelled)); });
    waiters.emplace_back([&] {
      EXPECT_THAT(full.Push(2, absl::InfiniteFuture()), StatusIs(kCancelled));
    });
  }
  LetOthersWait();
  empty.Close();
  full.Close();
}

TEST(BoundedQueueTest, AStopWakesOnlyWhoItConcerns) {
  BoundedQueue<int> queue(1);
  const std::jthread other([&] { EXPECT_THAT(queue.Pop(Later()), IsOkAndHolds(5)); });
  {
    std::jthread stopped([&](const std::stop_token& stop) {
      EXPECT_THAT(queue.Pop(absl::InfiniteFuture(), stop),
                  StatusIs(kCancelled, HasSubstr("stop")));
    });
    LetOthersWait();
  }
  EXPECT_THAT(queue.Push(5, Later()), IsOk());
}

TEST(BoundedQueueTest, AStopEndsAPush) {
  BoundedQueue<int> queue(1);
  EXPECT_TRUE(queue.TryPush(1));
  std::jthread stopped([&](const std::stop_token& stop) {
    EXPECT_THAT(queue.Push(2, absl::InfiniteFuture(), stop), StatusIs(kCancelled));
  });
  LetOthersWait();
}

// So that a loop over a queue that never runs dry ends, too.
TEST(BoundedQueueTest, WhoIsToStopGetsNothingMore) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  std::stop_source source;
  EXPECT_THAT(queue.Push(2, Later(), source.get_token()), IsOk());
  EXPECT_THAT(queue.Pop(Later(), source.get_token()), IsOkAndHolds(1));
  source.request_stop();
  EXPECT_THAT(queue.Pop(Later(), source.get_token()), StatusIs(kCancelled));
  EXPECT_THAT(queue.Push(3, Later(), source.get_token()), StatusIs(kCancelled));
  EXPECT_EQ(queue.size(), 1);
}

// Four threads push 1..n each, three pop until the queue is closed and empty: every
// number arrives four times, and never more items wait than fit.
void CheckEveryItemArrivesOnce(size_t capacity) {
  constexpr int kPushers = 4;
  constexpr int kItems = 3000;
  BoundedQueue<int> queue(capacity);
  std::vector<std::atomic<int>> arrived(kItems);
  std::vector<std::jthread> poppers;
  poppers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    poppers.emplace_back([&] {
      for (;;) {
        const absl::StatusOr<int> item = queue.Pop(Later());
        if (!item.ok()) break;
        ++arrived[*item];
        EXPECT_LE(queue.size(), capacity);
      }
    });
  }
  {
    std::vector<std::jthread> pushers;
    pushers.reserve(kPushers);
    for (int i = 0; i < kPushers; ++i) {
      pushers.emplace_back([&] {
        for (int item = 0; item < kItems; ++item) {
          EXPECT_THAT(queue.Push(int{item}, Later()), IsOk());
        }
      });
    }
  }
  queue.Close();
  poppers.clear();
  for (const std::atomic<int>& times : arrived) EXPECT_EQ(times, kPushers);
}

TEST(BoundedQueueTest, EveryItemArrivesOnceThroughANarrowQueue) {
  CheckEveryItemArrivesOnce(1);
}

TEST(BoundedQueueTest, EveryItemArrivesOnceThroughAWideQueue) {
  CheckEveryItemArrivesOnce(64);
}

// Stops arrive while the threads push and pop; nothing hangs, and what was pushed is
// either popped or still there.
TEST(BoundedQueueTest, StopsAtAnyMomentLoseNothing) {
  for (int round = 0; round < 50; ++round) {
    BoundedQueue<int> queue(2);
    int pushed = 0;
    int popped = 0;
    {
      std::jthread pusher([&](const std::stop_token& stop) {
        while (queue.Push(1, absl::InfiniteFuture(), stop).ok()) ++pushed;
      });
      std::jthread popper([&](const std::stop_token& stop) {
        while (queue.Pop(absl::InfiniteFuture(), stop).ok()) ++popped;
      });
      std::this_thread::yield();
    }
    EXPECT_THAT(queue.size(), Eq(static_cast<size_t>(pushed - popped)));
  }
}

// Against a plain list, one step after another.
TEST(BoundedQueueTest, BehavesAsABoundedList) {
  Generator generator(RandomKey(1, 0, 0), {});
  BoundedQueue<int> queue(3);
  std::deque<int> list;
  for (int step = 0; step < 5000; ++step) {
    if (generator.Uniform() < 0.5) {
      EXPECT_EQ(queue.TryPush(int{step}), list.size() < 3);
      if (list.size() < 3) list.push_back(step);
    } else {
      EXPECT_EQ(queue.TryPop(),
                list.empty() ? std::nullopt : std::optional(list.front()));
      if (!list.empty()) list.pop_front();
    }
    EXPECT_EQ(queue.size(), list.size());
  }
}

// Each pusher's items arrive in the order in which it pushed them.
TEST(BoundedQueueTest, KeepsTheOrderOfEachPusher) {
  constexpr int kItems = 2000;
  BoundedQueue<std::pair<int, int>> queue(4);
  std::vector<std::jthread> pushers;
  pushers.reserve(3);
  for (int pusher = 0; pusher < 3; ++pusher) {
    pushers.emplace_back([&queue, pusher] {
      for (int i = 0; i < kItems; ++i) {
        EXPECT_THAT(queue.Push({pusher, i}, Later()), IsOk());
      }
    });
  }
  std::vector<int> next(3);
  for (int i = 0; i < 3 * kItems; ++i) {
    const auto item = queue.Pop(Later());
    ASSERT_THAT(item, IsOk());
    EXPECT_EQ(item->second, next[item->first]++);
  }
}

}  // namespace
}  // namespace millrace::base
