#include "millrace/ops/transform/grouping.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

// Counts the rows that it is asked to make uniform.
class Counting final : public Grouping {
 public:
  using Grouping::Grouping;

  int64_t rows() const { return rows_; }

 private:
  absl::StatusOr<core::Block> MakeUniform(const core::Block& rows) const override {
    rows_ += rows.rows();
    if (rows_ > 8) return absl::InvalidArgumentError("more than eight");
    return rows;
  }

  mutable int64_t rows_ = 0;
};

TEST(GroupingTest, OnlyFullGroupsAreMadeUniform) {
  Counting grouping({.size = 3}, SingleOperator::TestLane());
  Collector out;
  ASSERT_THAT(grouping.Push(Numbers(0, 2), out), base::IsOk());
  EXPECT_EQ(grouping.rows(), 0);
  ASSERT_THAT(grouping.Push(Numbers(2, 8), out), base::IsOk());
  EXPECT_EQ(grouping.rows(), 6);
  EXPECT_EQ(out.blocks.size(), 2U);
  ASSERT_THAT(grouping.Finish(out), base::IsOk());
  EXPECT_EQ(out.tail.rows(), 2);
  EXPECT_EQ(grouping.rows(), 6);
}

TEST(GroupingTest, WhatCannotBeMadeUniformIsAnError) {
  Counting grouping({.size = 9}, SingleOperator::TestLane());
  Collector out;
  EXPECT_THAT(grouping.Push(Numbers(0, 9), out),
              base::StatusIs(absl::StatusCode::kInvalidArgument, "more than eight"));
}

TEST(GroupingTest, CountsGroups) {
  const auto known = [](int64_t rows) { return ir::Cardinality::Known(rows); };
  EXPECT_EQ(CountGroups({.size = 4}, known(9)), known(3));
  EXPECT_EQ(CountGroups({.size = 4, .drop_remainder = true}, known(9)), known(2));
  EXPECT_EQ(CountGroups({.size = 4}, known(0)), known(0));
  EXPECT_EQ(CountGroups({.size = 4}, ir::Cardinality::Unknown()),
            ir::Cardinality::Unknown());
}

}  // namespace
}  // namespace millrace::ops
