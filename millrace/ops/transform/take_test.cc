#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LaneContext From(int64_t first_row) {
  LaneContext lane = SingleOperator::TestLane();
  lane.first_row = first_row;
  return lane;
}

TEST(TakeTest, TakesTheFirstRows) {
  SingleOperator take("take(%0, count=5)");
  ASSERT_THAT(take.Push(Numbers(0, 3)), base::IsOk());
  ASSERT_THAT(take.Push(Numbers(3, 9)), base::IsOk());
  ASSERT_THAT(take.Push(Numbers(9, 12)), base::IsOk());
  EXPECT_THAT(take.Values(), ElementsAre(0, 1, 2, 3, 4));
}

TEST(TakeTest, SkipLeavesThemOut) {
  SingleOperator skip("skip(%0, count=5)");
  ASSERT_THAT(skip.Push(Numbers(0, 3)), base::IsOk());
  EXPECT_THAT(skip.out().blocks, IsEmpty());
  ASSERT_THAT(skip.Push(Numbers(3, 9)), base::IsOk());
  EXPECT_THAT(skip.Values(), ElementsAre(5, 6, 7, 8));
}

TEST(TakeTest, ALaneCountsFromItsPlaceInThePass) {
  SingleOperator take("take(%0, count=5)", From(3));
  ASSERT_THAT(take.Push(Numbers(3, 9)), base::IsOk());
  EXPECT_THAT(take.Values(), ElementsAre(3, 4));
  SingleOperator beyond("take(%0, count=5)", From(100));
  ASSERT_THAT(beyond.Push(Numbers(100, 109)), base::IsOk());
  EXPECT_THAT(beyond.out().blocks, IsEmpty());
}

TEST(TakeTest, KnowsHowManyRowsALaneGives) {
  const SingleOperator take("take(%0, count=5)");
  const auto count = [&](int64_t first, int64_t rows) {
    const auto& node = take.node();
    return node.schema().count_of_run(node.arguments(), first, rows);
  };
  EXPECT_EQ(count(0, 3), 3);
  EXPECT_EQ(count(3, 3), 2);
  EXPECT_EQ(count(5, 3), 0);
  EXPECT_EQ(take.node().cardinality(), ir::Cardinality::Known(5));
}

TEST(TakeTest, MoreThanThereIsIsAll) {
  EXPECT_EQ(SingleOperator("take(%0, count=5000)").node().cardinality(),
            ir::Cardinality::Known(1000));
  EXPECT_EQ(SingleOperator("skip(%0, count=5000)").node().cardinality(),
            ir::Cardinality::Known(0));
  EXPECT_THAT(ErrorOf("take(%0, count=-1)"), HasSubstr("at least 0"));
}

}  // namespace
}  // namespace millrace::ops
