#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ShardTest, GivesEveryNthRow) {
  SingleOperator shard("shard(%0, shards=3, index=1)");
  ASSERT_THAT(shard.Push(Numbers(0, 5)), base::IsOk());
  ASSERT_THAT(shard.Push(Numbers(5, 12)), base::IsOk());
  EXPECT_THAT(shard.Values(), ElementsAre(1, 4, 7, 10));
}

// Wherever a lane begins, the shards together have each row once.
TEST(ShardTest, TheShardsTogetherAreAllRows) {
  for (int64_t first = 0; first < 9; ++first) {
    std::vector<int64_t> times(40);
    for (int64_t index = 0; index < 4; ++index) {
      LaneContext lane = SingleOperator::TestLane();
      lane.first_row = first;
      SingleOperator shard(base::StrCat("shard(%0, shards=4, index=", index, ")"),
                           lane);
      ASSERT_THAT(shard.Push(Numbers(first, 40)), base::IsOk());
      const std::vector<int64_t> values = shard.Values();
      for (const int64_t value : values) {
        EXPECT_EQ(value % 4, index);
        ++times[value];
      }
      const auto& node = shard.node();
      EXPECT_EQ(node.schema().count_of_run(node.arguments(), first, 40 - first),
                static_cast<int64_t>(values.size()));
    }
    for (int64_t row = first; row < 40; ++row) EXPECT_EQ(times[row], 1);
  }
}

TEST(ShardTest, GivesRunsOfRows) {
  SingleOperator shard("shard(%0, shards=2, index=1, run=3)");
  ASSERT_THAT(shard.Push(Numbers(0, 4)), base::IsOk());
  ASSERT_THAT(shard.Push(Numbers(4, 16)), base::IsOk());
  EXPECT_THAT(shard.Values(), ElementsAre(3, 4, 5, 9, 10, 11, 15));
  const auto& node = shard.node();
  for (int64_t first = 0; first < 13; ++first) {
    for (int64_t rows = 0; rows < 13; ++rows) {
      int64_t expected = 0;
      for (int64_t place = first; place < first + rows; ++place) {
        expected += place / 3 % 2;
      }
      EXPECT_EQ(node.schema().count_of_run(node.arguments(), first, rows), expected);
    }
  }
}

TEST(ShardTest, WholeRoundsAreGivenWhenTheyAreOver) {
  for (const int64_t cut : {1, 3, 5, 6, 7, 12}) {
    SingleOperator shard("shard(%0, shards=2, index=0, run=3, whole_rounds=true)");
    for (int64_t begin = 0; begin < 17; begin += cut) {
      const int64_t end = std::min<int64_t>(17, begin + cut);
      ASSERT_THAT(shard.Push(Numbers(begin, end)), base::IsOk());
      EXPECT_EQ(std::ssize(shard.Values()), end / 6 * 3) << cut;
    }
    EXPECT_THAT(shard.Values(), ElementsAre(0, 1, 2, 6, 7, 8));
  }
  const SingleOperator all("shard(%0, shards=7, index=0, run=10, whole_rounds=true)");
  EXPECT_EQ(all.node().cardinality(), ir::Cardinality::Known(140));
}

TEST(ShardTest, CountsItsRows) {
  EXPECT_EQ(SingleOperator("shard(%0, shards=3, index=0)").node().cardinality(),
            ir::Cardinality::Known(334));
  EXPECT_EQ(SingleOperator("shard(%0, shards=3, index=2)").node().cardinality(),
            ir::Cardinality::Known(333));
}

TEST(ShardTest, RefusesAShardThatIsNotThere) {
  EXPECT_THAT(ErrorOf("shard(%0, shards=3, index=3)"),
              HasSubstr("index must be below shards, 3, not 3"));
  EXPECT_THAT(ErrorOf("shard(%0, shards=0, index=0)"), HasSubstr("at least 1"));
}

}  // namespace
}  // namespace millrace::ops
