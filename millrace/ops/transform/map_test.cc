#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MapTest, ReplacesTheRow) {
  SingleOperator map("map(%0, function={double: .value * 2, one: 1})");
  ASSERT_THAT(map.Push(Numbers(0, 4)), base::IsOk());
  EXPECT_THAT(map.out().blocks[0].names(), ElementsAre("double", "one"));
  EXPECT_THAT(map.Values("double"), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(map.Values("one"), ElementsAre(1, 1, 1, 1));
}

TEST(MapTest, KeepsIdentities) {
  SingleOperator map("map(%0, function={x: .value})");
  ASSERT_THAT(map.Push(Numbers(5, 8)), base::IsOk());
  EXPECT_EQ(map.out().blocks[0].IdAt(2), SourceRowId(0, 0, 7));
}

TEST(MapTest, ARowMayHaveNoFields) {
  SingleOperator map("map(%0, function={})");
  ASSERT_THAT(map.Push(Numbers(0, 4)), base::IsOk());
  EXPECT_EQ(map.out().blocks[0].rows(), 4);
  EXPECT_TRUE(map.out().blocks[0].names().empty());
}

TEST(MapTest, EveryRandomCallDrawsItsOwnNumbers) {
  SingleOperator map(
      "map(%0, function={a: integers(0, 1000000), b: integers(0, 1000000)})");
  ASSERT_THAT(map.Push(Numbers(0, 50)), base::IsOk());
  EXPECT_NE(map.Values("a"), map.Values("b"));
}

TEST(MapTest, DrawsChangeWithTheEpoch) {
  const auto drawn = [](uint64_t epoch) {
    LaneContext lane = SingleOperator::TestLane();
    lane.epoch = epoch;
    SingleOperator map("map(%0, function={a: integers(0, 1000000)})", lane);
    EXPECT_THAT(map.Push(Numbers(0, 50)), base::IsOk());
    return map.Values("a");
  };
  EXPECT_EQ(drawn(0), drawn(0));
  EXPECT_NE(drawn(0), drawn(1));
}

TEST(MapTest, AnErrorOfAKernelComesThrough) {
  SingleOperator map("map(%0, function={x: 1 // .value})");
  const absl::Status status = map.Push(Numbers(0, 3));
  EXPECT_EQ(status.message(), "floor_divide: division by zero");
}

TEST(MapTest, GoesOnWithoutTheRowsItFailsOn) {
  LeavesOut left_out;
  const LaneContext lane = SingleOperator::TestLane(left_out);
  SingleOperator map("map(%0, function={value: 12 // (.value % 4)})", lane);
  ASSERT_THAT(map.Push(Numbers(0, 9)), base::IsOk());
  EXPECT_THAT(map.Values(), ElementsAre(12, 6, 4, 12, 6, 4));
  EXPECT_EQ(left_out.reasons.size(), 3U);
  EXPECT_EQ(map.out().blocks[0].IdAt(0), SourceRowId(0, 0, 1));
}

TEST(MapTest, ReportsTheFirstRowInOrderWhateverKernelFails) {
  SingleOperator map("map(%0, function={a: 1 // (.value - 7), b: 1 % (.value - 3)})");
  EXPECT_EQ(map.Push(Numbers(0, 9)).message(), "modulo: division by zero");
  EXPECT_THAT(map.Values("a"), ElementsAre(-1, -1, -1));
}

// The places are for all rows; those that are left when some fail are not as many.
TEST(MapTest, WritesToNoPlacesWhenARowFails) {
  LeavesOut left_out;
  const LaneContext lane = SingleOperator::TestLane(left_out);
  SingleOperator map("map(%0, function={value: 12 // .value})", lane);
  (*map).WriteInto({*core::HeapPool().Allocate(4 * 8)});
  ASSERT_THAT(map.Push(Numbers(-1, 3)), base::IsOk());
  EXPECT_THAT(map.Values(), ElementsAre(-12, 12, 6));
}

TEST(MapTest, KnowsWhetherARowCanBeWrongForIt) {
  const auto can_fail = [](const std::string& text) {
    const SingleOperator map(text);
    return map.node().schema().can_fail(map.node().arguments());
  };
  EXPECT_TRUE(can_fail("map(%0, function={x: 1 // .value})"));
  EXPECT_FALSE(can_fail("map(%0, function={x: .value % 3 + 1})"));
}

TEST(MapTest, ItsSpecIsWhatTheFunctionGives) {
  const SingleOperator map(
      "map(%0, function={x: .value / 2, y: .value > 1, z: \"a\"})");
  EXPECT_EQ(map.node().spec().ToString(), "{x: float64, y: bool, z: string}");
  EXPECT_EQ(map.node().cardinality(), ir::Cardinality::Known(1000));
}

TEST(MapTest, RefusesAFunctionWithoutNames) {
  EXPECT_THAT(ErrorOf("map(%0, function={.value})"),
              HasSubstr("must name its results"));
  EXPECT_THAT(ErrorOf("map(%0)"), HasSubstr("argument function is missing"));
  EXPECT_THAT(ErrorOf("map(%0, function={x: .valu})"),
              HasSubstr("there is no field valu (did you mean value?)"));
}

}  // namespace
}  // namespace millrace::ops
