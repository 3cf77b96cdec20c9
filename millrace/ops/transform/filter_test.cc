#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FilterTest, KeepsTheRowsForWhichTheConditionHolds) {
  SingleOperator filter("filter(%0, predicate={.value % 3 == 0})");
  ASSERT_THAT(filter.Push(Numbers(0, 10)), base::IsOk());
  EXPECT_THAT(filter.Values(), ElementsAre(0, 3, 6, 9));
}

TEST(FilterTest, KeepsIdentities) {
  SingleOperator filter("filter(%0, predicate={.value == 7})");
  ASSERT_THAT(filter.Push(Numbers(0, 10)), base::IsOk());
  EXPECT_EQ(filter.out().blocks[0].IdAt(0), SourceRowId(0, 0, 7));
}

TEST(FilterTest, PassesABlockOnUntouchedWhenAllRowsStay) {
  SingleOperator filter("filter(%0, predicate={.value >= 0})");
  const core::Block rows = Numbers(0, 10);
  ASSERT_THAT(filter.Push(rows), base::IsOk());
  EXPECT_EQ(filter.out().blocks[0].Find("value")->values().data(),
            rows.Find("value")->values().data());
}

TEST(FilterTest, GivesNoBlockWithoutRows) {
  SingleOperator filter("filter(%0, predicate={.value < 0})");
  ASSERT_THAT(filter.Push(Numbers(0, 10)), base::IsOk());
  EXPECT_THAT(filter.out().blocks, IsEmpty());
}

TEST(FilterTest, AConstantConditionWorks) {
  SingleOperator all("filter(%0, predicate={true})");
  ASSERT_THAT(all.Push(Numbers(0, 3)), base::IsOk());
  EXPECT_THAT(all.Values(), ElementsAre(0, 1, 2));
  SingleOperator none("filter(%0, predicate={false})");
  ASSERT_THAT(none.Push(Numbers(0, 3)), base::IsOk());
  EXPECT_THAT(none.Values(), IsEmpty());
}

TEST(FilterTest, DrawsWithItsOwnSeedOrTheJobs) {
  const auto kept = [](const char* text, uint64_t job_seed) {
    LaneContext lane = SingleOperator::TestLane();
    lane.seed = job_seed;
    SingleOperator filter(text, lane);
    EXPECT_THAT(filter.Push(Numbers(0, 200)), base::IsOk());
    return filter.Values();
  };
  const char* plain = "filter(%0, predicate={uniform(0.0, 1.0) < 0.5})";
  const char* seeded = "filter(%0, predicate={uniform(0.0, 1.0) < 0.5}, seed=9)";
  EXPECT_NE(kept(plain, 1), kept(plain, 2));
  EXPECT_EQ(kept(seeded, 1), kept(seeded, 2));
  EXPECT_EQ(kept(plain, 9), kept(seeded, 1));
}

TEST(FilterTest, ItsSpecIsItsInputsAndItsCountUnknown) {
  const SingleOperator filter("filter(%0, predicate={.value > 3})");
  EXPECT_EQ(filter.node().spec(), filter.node().inputs()[0].spec());
  EXPECT_EQ(filter.node().cardinality(), ir::Cardinality::Unknown());
}

TEST(FilterTest, RefusesWhatIsNotOneBoolPerRow) {
  EXPECT_THAT(ErrorOf("filter(%0, predicate={.value})"),
              HasSubstr("must give one bool per row, not int64"));
  EXPECT_THAT(ErrorOf("filter(%0, predicate={bool[true, false]})"),
              HasSubstr("not bool[2]"));
  EXPECT_THAT(ErrorOf("filter(%0, predicate={a: true})"),
              HasSubstr("must give one value without a name"));
  EXPECT_THAT(ErrorOf("filter(%0, predicate=true)"),
              HasSubstr("must be an expression, not a bool"));
}

TEST(FilterTest, GoesOnWithoutTheRowsItFailsOn) {
  LeavesOut left_out;
  const LaneContext lane = SingleOperator::TestLane(left_out);
  SingleOperator filter("filter(%0, predicate={10 // (.value - 3) > 0})", lane);
  ASSERT_THAT(filter.Push(Numbers(0, 7)), base::IsOk());
  EXPECT_THAT(filter.Values(), ElementsAre(4, 5, 6));
  EXPECT_THAT(left_out.reasons, ElementsAre("floor_divide: division by zero"));
}

}  // namespace
}  // namespace millrace::ops
