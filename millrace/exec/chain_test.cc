#include "millrace/exec/chain.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kText[] = R"(
%0 = range(stop=1000)
%1 = map(%0, function={value: 100 // (.value - 50)})
%2 = filter(%1, predicate={.value != 0})
%3 = batch(%2, size=4)
)";

class ChainTest : public ::testing::Test {
 protected:
  std::unique_ptr<Chain> MakeChain(int first, int last) {
    return std::make_unique<Chain>(
        plan_, Stage{.kind = Stage::Kind::kInOrder, .first = first, .last = last},
        ops::DefaultLibrary(), ChainLane{ops::SingleOperator::TestLane(), 6}, meters_);
  }

  std::vector<int64_t> Values(const std::vector<Item>& items) {
    std::vector<int64_t> values;
    for (const Item& item : items) {
      const auto part = item.block.Find("value")->As<int64_t>();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  }

  // Numbers that have no identities.
  static core::Block Anonymous(int64_t begin, int64_t end) {
    const core::Block rows = ops::Numbers(begin, end);
    return {rows.rows(), rows.names(), rows.columns()};
  }

  PassPlan plan_ = *PlanPass(AsWritten(kText), ops::DefaultLibrary(), {});
  Meters meters_{4, base::RealClock()};
};

TEST_F(ChainTest, WhatOneOperatorGivesEntersTheNext) {
  const auto chain = MakeChain(1, 2);
  ASSERT_THAT(chain->Push(ops::Numbers(60, 62)), base::IsOk());
  EXPECT_THAT(Values(chain->TakeOutput()), ElementsAre(10, 9));
  EXPECT_TRUE(chain->TakeOutput().empty());
}

TEST_F(ChainTest, AnErrorNamesTheOperatorAndTheLaneOnce) {
  const auto chain = MakeChain(1, 3);
  const absl::Status status = chain->Push(Anonymous(49, 52));
  EXPECT_EQ(status.message(), "map (%1), lane 6: floor_divide: division by zero");
  // The next error is named anew.
  EXPECT_EQ(chain->Push(Anonymous(50, 51)), status);
}

TEST_F(ChainTest, AnErrorNamesTheRowWhereItIsKnown) {
  const auto chain = MakeChain(1, 3);
  EXPECT_EQ(chain->Push(ops::Numbers(49, 52)).message(),
            "map (%1): row 50: floor_divide: division by zero");
  EXPECT_EQ(chain->Push(ops::Numbers(50, 51)).message(),
            "map (%1): row 50: floor_divide: division by zero");
}

TEST_F(ChainTest, WhatIsLeftOutStandsBetweenTheRows) {
  plan_ = *PlanPass(AsWritten(base::StrCat(kText, "%4 = ignore_errors(%3)")),
                    ops::DefaultLibrary(), {});
  const auto chain = MakeChain(1, 2);
  ASSERT_THAT(chain->Push(ops::Numbers(48, 53)), base::IsOk());
  const std::vector<Item> out = chain->TakeOutput();
  ASSERT_EQ(out.size(), 3U);
  EXPECT_THAT(Values({out[0]}), ElementsAre(-50, -100));
  ASSERT_TRUE(out[1].left_out.has_value());
  EXPECT_EQ(out[1].left_out->number, 1);
  EXPECT_EQ(out[1].left_out->by, 4);
  EXPECT_EQ(out[1].left_out->why.message(),
            "map (%1): row 50: floor_divide: division by zero");
  EXPECT_THAT(Values({out[2]}), ElementsAre(100, 50));
}

// In row order: the filter's row comes before the map's, although the map is first.
TEST_F(ChainTest, TheFirstRowThatFailsIsReportedWhereverItFails) {
  plan_ =
      *PlanPass(AsWritten("%0 = range(stop=100)\n"
                          "%1 = map(%0, function={value: .value + 0 // (.value - 9)})\n"
                          "%2 = filter(%1, predicate={1 // (.value - 4) < 9})"),
                ops::DefaultLibrary(), {});
  const auto chain = MakeChain(1, 2);
  EXPECT_THAT(chain->Push(ops::Numbers(0, 12)).message(),
              HasSubstr("filter (%2): row 4: "));
}

TEST_F(ChainTest, EndsWithTheFirstOfItsOperatorsThatDoes) {
  plan_ = *PlanPass(AsWritten("%0 = range(stop=100)\n"
                              "%1 = take_while(%0, predicate={.value != 4})\n"
                              "%2 = shuffle(%1, window=9)"),
                    ops::DefaultLibrary(), {});
  const auto chain = MakeChain(1, 2);
  ASSERT_THAT(chain->Push(ops::Numbers(0, 4)), base::IsOk());
  EXPECT_FALSE(chain->ended());
  ASSERT_THAT(chain->Push(ops::Numbers(4, 6)), base::IsOk());
  EXPECT_TRUE(chain->ended());
  while (*chain->Finish(true) == ops::Held::kMore) {
  }
  EXPECT_EQ(Values(chain->TakeOutput()).size(), 4);  // What was held still comes.
}

// Whether an operator in front fails there or not depends on how rows are cut.
TEST_F(ChainTest, RowsThatNobodyWantsCannotBeWrong) {
  plan_ = *PlanPass(AsWritten("%0 = range(stop=100)\n"
                              "%1 = map(%0, function={value: 9 // (.value - 7)})\n"
                              "%2 = take_while(%1, predicate={.value == -2})"),
                    ops::DefaultLibrary(), {});
  const auto chain = MakeChain(1, 2);
  EXPECT_THAT(chain->Push(ops::Numbers(0, 12)), base::IsOk());
  EXPECT_THAT(Values(chain->TakeOutput()), ElementsAre(-2, -2, -2));
}

TEST_F(ChainTest, KeepsTheTailsOfTheJoiningOperator) {
  const auto chain = MakeChain(3, 3);
  ASSERT_THAT(chain->Push(ops::Numbers(0, 6)), base::IsOk());
  EXPECT_EQ(*chain->Finish(false), ops::Held::kNothing);
  EXPECT_THAT(Values(chain->TakeOutput()), ElementsAre(0, 1, 2, 3));
  const Tails tails = chain->TakeTails();
  ASSERT_EQ(tails.size(), 1U);
  EXPECT_EQ(tails.at(0).rows(), 2);

  const auto next = MakeChain(3, 3);
  ASSERT_THAT(next->PushCarry(tails), base::IsOk());
  ASSERT_THAT(next->Push(ops::Numbers(6, 7)), base::IsOk());
  EXPECT_EQ(*next->Finish(true), ops::Held::kNothing);
  EXPECT_THAT(Values(next->TakeOutput()), ElementsAre(4, 5, 6));
  EXPECT_TRUE(next->TakeTails().empty());
  EXPECT_EQ(meters_.Read()[3].rows_in, 7);  // What was carried counts once.
}

TEST_F(ChainTest, FinishesItsOperatorsOneAfterAnother) {
  const auto chain = MakeChain(2, 3);
  EXPECT_EQ(*chain->Finish(true), ops::Held::kMore);
  EXPECT_EQ(*chain->Finish(true), ops::Held::kNothing);
}

TEST_F(ChainTest, MetersEveryOperatorByItself) {
  const auto chain = MakeChain(1, 2);
  ASSERT_THAT(chain->Push(ops::Numbers(100, 400)), base::IsOk());
  const std::vector<MeterReading> readings = meters_.Read();
  EXPECT_EQ(readings[1].rows_in, 300);
  EXPECT_EQ(readings[2].rows_in, 300);
  EXPECT_EQ(readings[2].rows_out, 51);  // Up to 150 the quotient is not 0.
  EXPECT_GT(readings[1].busy, absl::ZeroDuration());
  EXPECT_GT(readings[2].busy, absl::ZeroDuration());
  EXPECT_EQ(readings[3].busy, absl::ZeroDuration());
}

}  // namespace
}  // namespace millrace::exec
