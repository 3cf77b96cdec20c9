#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::HasSubstr;

// What comes of lists, and at the end.
std::string Bucketed(const std::string& arguments, const Lists& lists) {
  const ir::Pipeline node =
      *BehindLists("bucket(%0, length={length(.x)}, " + arguments + ")");
  const auto runs = DefaultLibrary().Make(node, SingleOperator::TestLane());
  Collector out;
  EXPECT_THAT(runs->Push(ListBlock(lists), out), IsOk());
  const std::string before = ShownRows(out.blocks);
  out.blocks.clear();
  while (*runs->Finish(out) == Held::kMore) {
    EXPECT_THAT(runs->FinishPass(std::exchange(out.tail, {}), out), IsOk());
  }
  return before + " | " + ShownRows(out.blocks);
}

TEST(BucketTest, RowsOfLikeLengthBecomeABatch) {
  EXPECT_EQ(Bucketed("up_to=[1, 3], sizes=[2]", {{1}, {2, 2}, {3}, {4, 4, 4}}),
            "int64[2, 1] [1, 3]; int64[2, 3] [2, 2, 0, 4, 4, 4] | ");
}

TEST(BucketTest, EveryBucketCanHaveItsSize) {
  EXPECT_EQ(Bucketed("up_to=[1], sizes=[3, 1], pad_value=-1", {{1}, {2, 2}, {3}, {}}),
            "int64[1, 2] [2, 2]; int64[3, 1] [1, 3, -1] | ");
}

TEST(BucketTest, WhatIsLeftComesAtTheEndTheShortestFirst) {
  const Lists lists = {{7, 7, 7}, {1}, {2}, {3}};
  EXPECT_EQ(Bucketed("up_to=[2], sizes=[2]", lists),
            "int64[2, 1] [1, 2] | int64[1, 1] [3]; int64[1, 3] [7, 7, 7]");
  EXPECT_EQ(Bucketed("up_to=[2], sizes=[2], drop_remainder=true", lists),
            "int64[2, 1] [1, 2] | ");
}

TEST(BucketTest, BatchesCanBePaddedToTheirBucket) {
  EXPECT_EQ(Bucketed("up_to=[2, 4], sizes=[1], pad_to_bucket=true",
                     {{1}, {2, 2, 2}, {3, 3, 3, 3, 3}}),
            "int64[1, 2] [1, 0]; int64[1, 4] [2, 2, 2, 0]; "
            "int64[1, 5] [3, 3, 3, 3, 3] | ");
}

TEST(BucketTest, RowsCanKeepTheirLengths) {
  EXPECT_EQ(Bucketed("up_to=[2], sizes=[2], ragged=true", {{1}, {2, 2}}),
            "(int64[1] [1], int64[2] [2, 2]) | ");
}

// For as many consumers of one round.
TEST(BucketTest, BatchesOfOneBucketComeTogether) {
  EXPECT_EQ(Bucketed("up_to=[1], sizes=[1], group=2", {{1}, {2, 2}, {3}, {4, 4}, {5}}),
            "int64[1, 1] [1]; int64[1, 1] [3]; int64[1, 2] [2, 2]; "
            "int64[1, 2] [4, 4] | int64[1, 1] [5]");
}

TEST(BucketTest, SaysHowManyRowsItHolds) {
  const ir::Pipeline node = *BehindLists(
      "bucket(%0, length={length(.x)}, up_to=[8], sizes=[30, 4], group=2)");
  EXPECT_EQ(node.schema().rows_held(node.arguments()), 68);
  EXPECT_TRUE(node.schema().looks_across_lanes(node.arguments()));
}

TEST(BucketTest, BadArgumentsAreRefused) {
  const auto error = [](const std::string& arguments) {
    return ErrorOf("bucket(%0, " + arguments + ")");
  };
  EXPECT_THAT(error("length={.value}, up_to=[], sizes=[1]"), HasSubstr("no bucket"));
  EXPECT_THAT(error("length={.value}, up_to=[4, 4], sizes=[1]"),
              HasSubstr("must rise"));
  EXPECT_THAT(error("length={.value}, up_to=[4, 5], sizes=[1, 2]"),
              HasSubstr("2 sizes for 3 buckets"));
  EXPECT_THAT(error("length={.value < 3}, up_to=[4], sizes=[1]"),
              HasSubstr("must give one int64 per row, not bool"));
  EXPECT_THAT(error("length={.value}, up_to=[4], sizes=[0]"), HasSubstr("sizes"));
}

}  // namespace
}  // namespace millrace::ops
