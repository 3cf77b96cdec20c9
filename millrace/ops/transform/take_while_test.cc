#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TakeWhileTest, EndsWithTheFirstRowThatDoesNotHold) {
  SingleOperator taken("take_while(%0, predicate={.value != 3})");
  ASSERT_THAT(taken.Push(Numbers(0, 2)), IsOk());
  EXPECT_FALSE((*taken).ended());
  ASSERT_THAT(taken.Push(Numbers(2, 5)), IsOk());
  EXPECT_TRUE((*taken).ended());
  ASSERT_THAT(taken.Push(Numbers(5, 9)), IsOk());
  EXPECT_THAT(taken.Values(), ElementsAre(0, 1, 2));
}

TEST(TakeWhileTest, MayGiveNothing) {
  SingleOperator taken("take_while(%0, predicate={.value > 0})");
  ASSERT_THAT(taken.Push(Numbers(0, 5)), IsOk());
  EXPECT_THAT(taken.Values(), IsEmpty());
}

// A row that is wrong behind the end is nobody's.
TEST(TakeWhileTest, OnlyRowsBeforeTheEndCanBeWrong) {
  LeavesOut left_out;
  SingleOperator taken("take_while(%0, predicate={12 // (.value - 1) != 4})",
                       SingleOperator::TestLane(left_out));
  ASSERT_THAT(taken.Push(NumberBlock({0, 1, 2, 4, 1})), IsOk());
  EXPECT_THAT(taken.Values(), ElementsAre(0, 2));
  EXPECT_EQ(left_out.reasons.size(), 1);
}

TEST(TakeWhileTest, TheConditionMustBeABool) {
  EXPECT_THAT(ErrorOf("take_while(%0, predicate={.value})"),
              HasSubstr("must give one bool per row, not int64"));
}

}  // namespace
}  // namespace millrace::ops
