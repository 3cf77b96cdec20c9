#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EnumerateTest, NumbersTheRows) {
  SingleOperator enumerate("enumerate(%0)");
  ASSERT_THAT(enumerate.Push(Numbers(50, 52)), base::IsOk());
  ASSERT_THAT(enumerate.Push(Numbers(60, 62)), base::IsOk());
  EXPECT_THAT(enumerate.Values("index"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(enumerate.Values("value"), ElementsAre(50, 51, 60, 61));
}

TEST(EnumerateTest, ALaneCountsFromItsPlaceInThePass) {
  LaneContext lane = SingleOperator::TestLane();
  lane.first_row = 700;
  SingleOperator enumerate("enumerate(%0, field=\"n\", start=10)", lane);
  ASSERT_THAT(enumerate.Push(Numbers(0, 2)), base::IsOk());
  EXPECT_THAT(enumerate.Values("n"), ElementsAre(710, 711));
}

TEST(EnumerateTest, AddsAField) {
  EXPECT_EQ(SingleOperator("enumerate(%0)").node().spec().ToString(),
            "{value: int64, index: int64}");
  EXPECT_THAT(ErrorOf("enumerate(%0, field=\"value\")"),
              HasSubstr("there is a field value already"));
}

}  // namespace
}  // namespace millrace::ops
