#include "millrace/control/taking_rate.h"

#include <cstdint>

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace millrace::control {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

absl::Time At(double seconds) { return kStart + absl::Seconds(seconds); }

TEST(TakingRateTest, IsZeroUntilThereAreTwoCounts) {
  TakingRate rate;
  EXPECT_EQ(rate.PerSecond(kStart), 0);
  rate.Hear(100, kStart);
  EXPECT_EQ(rate.PerSecond(kStart), 0) << "what was taken before is not counted";
  EXPECT_EQ(rate.PerSecond(At(1)), 0);
}

TEST(TakingRateTest, IsWhatWasTakenInTheTimeHeardOf) {
  TakingRate rate;
  rate.Hear(100, At(0));
  rate.Hear(130, At(1));
  EXPECT_DOUBLE_EQ(rate.PerSecond(At(1)), 30);
  EXPECT_DOUBLE_EQ(rate.PerSecond(At(2)), 15) << "nothing was heard since";
}

TEST(TakingRateTest, ForgetsWhatIsLongAgo) {
  TakingRate rate;
  for (int64_t second = 0; second <= 60; ++second) {
    rate.Hear(second <= 30 ? second * 1000 : 30'000 + (second - 30) * 10, At(second));
  }
  EXPECT_DOUBLE_EQ(rate.PerSecond(At(60)), 10);
}

TEST(TakingRateTest, BeginsAnewWithTheCount) {
  TakingRate rate;
  rate.Hear(1000, At(0));
  rate.Hear(0, At(1));
  EXPECT_EQ(rate.PerSecond(At(2)), 0);
  rate.Hear(20, At(2));
  EXPECT_DOUBLE_EQ(rate.PerSecond(At(2)), 20);
}

}  // namespace
}  // namespace millrace::control
