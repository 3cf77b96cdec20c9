#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Shown(SingleOperator& groups) {
  return ShownRows(groups.out().blocks, "value");
}

TEST(GroupByTest, AGroupIsGivenWhenItIsFull) {
  SingleOperator groups("group_by(%0, key={.value % 3}, size=2)");
  ASSERT_THAT(groups.Push(Numbers(0, 4)), IsOk());
  EXPECT_EQ(Shown(groups), "int64[2] [0, 3]");
  ASSERT_THAT(groups.Push(Numbers(4, 7)), IsOk());
  EXPECT_EQ(Shown(groups), "int64[2] [0, 3]; int64[2] [1, 4]; int64[2] [2, 5]");
  ASSERT_THAT(groups.Finish(), IsOk());
  EXPECT_THAT(Shown(groups), testing::EndsWith("; int64[1] [6]"));
}

TEST(GroupByTest, WhatIsNotFullComesInTheOrderInWhichItBegan) {
  SingleOperator groups("group_by(%0, key={to_text(9 - .value % 4)})");
  ASSERT_THAT(groups.Push(Numbers(0, 10)), IsOk());
  EXPECT_EQ(Shown(groups), "");
  ASSERT_THAT(groups.Finish(), IsOk());
  EXPECT_EQ(Shown(groups),
            "int64[3] [0, 4, 8]; int64[3] [1, 5, 9]; int64[2] [2, 6]; int64[2] [3, 7]");
}

TEST(GroupByTest, ARemainderCanBeDropped) {
  SingleOperator groups("group_by(%0, key={.value < 5}, size=4, drop_remainder=true)");
  EXPECT_EQ(groups.node().spec().ToString(), "{value: int64[4]}");
  ASSERT_THAT(groups.Push(Numbers(0, 10)), IsOk());
  ASSERT_THAT(groups.Finish(), IsOk());
  EXPECT_EQ(Shown(groups), "int64[4] [0, 1, 2, 3]; int64[4] [5, 6, 7, 8]");
}

// Rows of finished groups are let go; those that wait stay what they are.
TEST(GroupByTest, ManyRowsMayComeWhileFewWait) {
  SingleOperator groups(
      "group_by(%0, key={where(.value == 7, -1, .value // 2)}, "
      "size=2)");
  for (int64_t at = 0; at < 20'000; at += 100) {
    ASSERT_THAT(groups.Push(Numbers(at, at + 100)), IsOk());
  }
  ASSERT_THAT(groups.Finish(), IsOk());
  int64_t rows = 0;
  for (const core::Block& block : groups.out().blocks) rows += block.rows();
  EXPECT_EQ(rows, 9'999 + 2);
  EXPECT_THAT(Shown(groups), testing::EndsWith("; int64[1] [6]; int64[1] [7]"));
}

TEST(GroupByTest, ARowWhoseKeyFailsIsLeftOut) {
  LeavesOut left_out;
  SingleOperator groups("group_by(%0, key={6 // (.value - 2)}, size=9)",
                        SingleOperator::TestLane(left_out));
  ASSERT_THAT(groups.Push(Numbers(0, 5)), IsOk());
  ASSERT_THAT(groups.Finish(), IsOk());
  EXPECT_EQ(Shown(groups), "int64[1] [0]; int64[1] [1]; int64[1] [3]; int64[1] [4]");
  EXPECT_THAT(left_out.reasons, ElementsAre(HasSubstr("zero")));
}

TEST(GroupByTest, AKeyMustBeOneValueThatCanBeCompared) {
  EXPECT_THAT(ErrorOf("group_by(%0, key={.value / 2})"),
              HasSubstr("argument key must give one integer, bool or text per row, not "
                        "float64"));
}

}  // namespace
}  // namespace millrace::ops
