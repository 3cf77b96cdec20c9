#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int64_t> Shuffled(int64_t rows, int64_t window,
                              LaneContext lane = SingleOperator::TestLane()) {
  SingleOperator shuffle(base::StrCat("shuffle(%0, window=", window, ")"), lane);
  EXPECT_THAT(shuffle.Push(Numbers(0, rows)), base::IsOk());
  EXPECT_THAT(shuffle.Finish(), base::IsOk());
  return shuffle.Values();
}

TEST(ShuffleTest, GivesEveryRowOnce) {
  for (const int64_t window : {1, 2, 10, 1000, 5000}) {
    std::vector<int64_t> values = Shuffled(3000, window);
    std::ranges::sort(values);
    std::vector<int64_t> all(3000);
    std::iota(all.begin(), all.end(), int64_t{0});
    EXPECT_EQ(values, all) << window;
  }
}

TEST(ShuffleTest, AWindowOfOneKeepsTheOrder) {
  EXPECT_TRUE(std::ranges::is_sorted(Shuffled(500, 1)));
}

TEST(ShuffleTest, HoldsBackAWindowUntilTheLaneEnds) {
  SingleOperator shuffle("shuffle(%0, window=100)");
  ASSERT_THAT(shuffle.Push(Numbers(0, 100)), base::IsOk());
  EXPECT_THAT(shuffle.out().blocks, IsEmpty());
  ASSERT_THAT(shuffle.Push(Numbers(100, 130)), base::IsOk());
  EXPECT_EQ(shuffle.Values().size(), 30U);
}

TEST(ShuffleTest, NoRowComesMoreThanAWindowEarly) {
  const std::vector<int64_t> values = Shuffled(5000, 50);
  for (int64_t place = 0; place < 5000; ++place) EXPECT_LT(values[place], place + 50);
}

// A window that holds everything gives every order with the same chance: over many
// lanes each number comes first about equally often. 4,000 lanes, 5 numbers: 800 each,
// standard deviation 25.
TEST(ShuffleTest, AWindowThatHoldsAllIsUniform) {
  std::vector<int64_t> first(5, 0);
  for (uint64_t lane = 0; lane < 4000; ++lane) {
    LaneContext context = SingleOperator::TestLane();
    context.lane = {lane, 1};
    ++first[Shuffled(5, 5, context)[0]];
  }
  for (const int64_t count : first) EXPECT_LT(std::abs(count - 800), 125);
}

TEST(ShuffleTest, DependsOnSeedEpochAndLaneAlone) {
  const std::vector<int64_t> usual = Shuffled(500, 50);
  EXPECT_EQ(usual, Shuffled(500, 50));
  LaneContext other_epoch = SingleOperator::TestLane();
  other_epoch.epoch = 1;
  EXPECT_NE(usual, Shuffled(500, 50, other_epoch));
  LaneContext other_lane = SingleOperator::TestLane();
  other_lane.lane = {3, 5};
  EXPECT_NE(usual, Shuffled(500, 50, other_lane));
  LaneContext other_seed = SingleOperator::TestLane();
  other_seed.seed = 2;
  EXPECT_NE(usual, Shuffled(500, 50, other_seed));
}

TEST(ShuffleTest, HoldsAboutTwiceItsWindow) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  LaneContext lane = {.pool = pool, .lane = {}};
  SingleOperator shuffle("shuffle(%0, window=1000)", lane);
  int64_t peak = 0;
  for (int64_t at = 0; at < 100'000; at += 100) {
    core::Buffer values = *pool.AllocateFor<int64_t>(100);
    std::ranges::fill(values.MutableAs<int64_t>(), at);
    const core::Block block(
        100, core::FieldNames{"value"},
        {core::Column::Dense(core::DType::kInt64, 100, {}, std::move(values))});
    ASSERT_THAT(shuffle.Push(block), base::IsOk());
    shuffle.out().blocks.clear();
    peak = std::max(peak, pool.stats().used_bytes);
  }
  EXPECT_LT(peak, 5 * 1000 * 8 + 1024 * 8);
}

TEST(ShuffleTest, RefusesWindowsThatMakeNoSense) {
  EXPECT_THAT(ErrorOf("shuffle(%0, window=0)"), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf("shuffle(%0, window=-5)"), HasSubstr("at least 1"));
  EXPECT_THAT(ErrorOf("shuffle(%0, window=10, seed=-1)"), HasSubstr("at least 0"));
  EXPECT_THAT(ErrorOf("shuffle(%0, window=10, sed=1)"),
              HasSubstr("did you mean seed?"));
}

}  // namespace
}  // namespace millrace::ops
