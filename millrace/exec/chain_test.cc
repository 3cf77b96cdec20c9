#include "millrace/exec/chain.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
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

  std::vector<int64_t> Values(const std::vector<core::Block>& blocks) {
    std::vector<int64_t> values;
    for (const core::Block& block : blocks) {
      const auto part = block.Find("value")->As<int64_t>();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
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
  const absl::Status status = chain->Push(ops::Numbers(49, 52));
  EXPECT_EQ(status.message().find("map (%1), lane 6: "), 0U);
  EXPECT_EQ(std::string(status.message()).find("batch"), std::string::npos);
  // The next error is named anew.
  EXPECT_THAT(chain->Push(ops::Numbers(50, 51)).message(), HasSubstr("map (%1)"));
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
