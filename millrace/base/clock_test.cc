#include "millrace/base/clock.h"

#include <atomic>
#include <stop_token>
#include <thread>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millrace::base {
namespace {

const absl::Time kNoon = absl::UnixEpoch() + absl::Hours(12);

// Lets other threads run until `clock` has that many waiters.
void AwaitWaiters(const ManualClock& clock, int waiters) {
  while (clock.waiters() != waiters) std::this_thread::yield();
}

TEST(ClockTest, RealTimePasses) {
  const absl::Time before = RealClock().Now();
  const absl::Duration monotonic = RealClock().Monotonic();
  EXPECT_TRUE(RealClock().WaitFor(absl::Milliseconds(5), {}));
  EXPECT_GE(RealClock().Now() - before, absl::Milliseconds(5));
  EXPECT_GE(RealClock().Monotonic() - monotonic, absl::Milliseconds(4));
}

// Both come from one moment, and pass together: setting the machine's clock moves
// neither, which the tests of the command show with one that jumps.
TEST(ClockTest, RealTimePassesAsEvenlyAsTheMonotonicTime) {
  const absl::Duration between =
      (RealClock().Now() - absl::UnixEpoch()) - RealClock().Monotonic();
  EXPECT_TRUE(RealClock().WaitFor(absl::Milliseconds(5), {}));
  const absl::Duration later =
      (RealClock().Now() - absl::UnixEpoch()) - RealClock().Monotonic();
  EXPECT_LT(absl::AbsDuration(later - between), absl::Seconds(5));
  EXPECT_LT(absl::AbsDuration(RealClock().TimeOfDay() - RealClock().Now()),
            absl::Hours(1));
}

TEST(ClockTest, RealWaitsForThePastEndAtOnce) {
  EXPECT_TRUE(RealClock().WaitUntil(absl::UnixEpoch(), {}));
  EXPECT_TRUE(RealClock().WaitFor(absl::Seconds(-1), {}));
}

TEST(ClockTest, RealWaitsEndWhenAskedToStop) {
  std::jthread waiter([](const std::stop_token& stop) {
    EXPECT_FALSE(RealClock().WaitUntil(absl::InfiniteFuture(), stop));
    EXPECT_FALSE(RealClock().WaitUntil(absl::UnixEpoch(), stop));  // Stopping wins.
  });
}

TEST(ClockTest, ManualTimeStandsStill) {
  const ManualClock clock(kNoon);
  EXPECT_EQ(clock.Now(), kNoon);
  EXPECT_EQ(clock.Now(), kNoon);
  EXPECT_EQ(clock.TimeOfDay(), kNoon);
  EXPECT_EQ(clock.Monotonic(), absl::ZeroDuration());
}

TEST(ClockTest, ManualTimeAdvances) {
  ManualClock clock(kNoon);
  clock.Advance(absl::Seconds(3));
  EXPECT_EQ(clock.Now(), kNoon + absl::Seconds(3));
  EXPECT_EQ(clock.Monotonic(), absl::Seconds(3));
  EXPECT_DEATH(clock.Advance(absl::Seconds(-1)), "\\(-1s vs. 0\\)");
}

TEST(ClockTest, ManualWaitsEndWhenTheTimeComes) {
  ManualClock clock(kNoon);
  std::atomic<bool> woken = false;
  {
    const std::jthread waiter([&] {
      EXPECT_TRUE(clock.WaitFor(absl::Seconds(10), {}));
      woken = true;
    });
    AwaitWaiters(clock, 1);
    clock.Advance(absl::Seconds(9));
    AwaitWaiters(clock, 1);
    EXPECT_FALSE(woken);
    clock.Advance(absl::Seconds(1));
  }
  EXPECT_TRUE(woken);
  EXPECT_EQ(clock.waiters(), 0);
}

TEST(ClockTest, ManualWaitsForThePastEndAtOnce) {
  ManualClock clock(kNoon);
  EXPECT_TRUE(clock.WaitUntil(kNoon, {}));
}

TEST(ClockTest, ManualWaitsEndWhenAskedToStop) {
  ManualClock clock;
  std::jthread waiter(
      [&](const std::stop_token& stop) { EXPECT_FALSE(clock.WaitUntil(kNoon, stop)); });
  AwaitWaiters(clock, 1);
  waiter.request_stop();
}

}  // namespace
}  // namespace millrace::base
