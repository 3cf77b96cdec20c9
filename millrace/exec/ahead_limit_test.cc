#include "millrace/exec/ahead_limit.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace millrace::exec {
namespace {

// So many blocks of 16 megabytes or of a kilobyte.
ReadyAmount Large(int64_t blocks) { return {blocks, blocks << 24}; }

ReadyAmount Small(int64_t blocks) { return {blocks, blocks << 10}; }

TEST(AheadLimitTest, TwoBlocksAreEnoughForWhoIsSlow) {
  AheadLimit limit;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(limit.IsEnough(Large(1)));
    EXPECT_TRUE(limit.IsEnough(Large(2)));
    limit.Found(Large(2));
  }
}

TEST(AheadLimitTest, OfSmallBlocksThereAreMore) {
  const AheadLimit limit;
  EXPECT_FALSE(limit.IsEnough(Small(4095)));
  EXPECT_TRUE(limit.IsEnough(Small(4096)));
}

TEST(AheadLimitTest, WhoFindsNothingAfterThereWasEnoughGetsTwiceAsMuch) {
  AheadLimit limit;
  limit.Found(Large(2));
  limit.Found(Large(0));
  EXPECT_FALSE(limit.IsEnough(Large(3)));
  EXPECT_TRUE(limit.IsEnough(Large(4)));
  limit.Found(Large(0));  // It was not enough since.
  EXPECT_TRUE(limit.IsEnough(Large(4)));
}

TEST(AheadLimitTest, WhoAlwaysWaitsGetsNoMoreForThat) {
  AheadLimit limit;
  for (int i = 0; i < 10; ++i) limit.Found(Large(i % 2));
  EXPECT_TRUE(limit.IsEnough(Large(2)));
}

}  // namespace
}  // namespace millrace::exec
