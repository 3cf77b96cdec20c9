#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

TEST(IgnoreErrorsTest, PassesOnWhatComes) {
  SingleOperator ignore("ignore_errors(%0)");
  const core::Block rows = Numbers(0, 5);
  ASSERT_THAT(ignore.Push(rows), base::IsOk());
  ASSERT_EQ(ignore.out().blocks.size(), 1U);
  EXPECT_TRUE(core::SameRows(ignore.out().blocks[0], rows));
}

TEST(IgnoreErrorsTest, ItIsNotKnownHowManyRowsAreLeft) {
  const SingleOperator ignore("ignore_errors(%0, budget=3)");
  EXPECT_EQ(ignore.node().cardinality(), ir::Cardinality::Unknown());
  EXPECT_EQ(ignore.node().spec().ToString(), "{value: int64}");
  const SingleOperator of_nothing(
      "ignore_errors(%0)\n%2 = take(%1, count=0)\n"
      "%3 = ignore_errors(%2)");
  EXPECT_EQ(of_nothing.node().cardinality(), ir::Cardinality::Known(0));
}

TEST(IgnoreErrorsTest, RefusesABudgetThatIsNone) {
  EXPECT_THAT(ErrorOf("ignore_errors(%0, budget=-1)"), HasSubstr("budget"));
  EXPECT_THAT(ErrorOf("ignore_errors(%0, report=-1)"), HasSubstr("report"));
}

}  // namespace
}  // namespace millrace::ops
