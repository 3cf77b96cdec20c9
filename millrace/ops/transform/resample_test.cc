#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;

// Of classes 0, 0, 0, 1, again and again: how many of each are kept of 40,000 rows.
std::array<double, 2> Kept(const std::string& arguments) {
  SingleOperator kept("resample(%0, label={(.value % 4) // 3}, " + arguments + ")");
  for (int64_t at = 0; at < 40'000; at += 1000) {
    EXPECT_THAT(kept.Push(Numbers(at, at + 1000)), IsOk());
  }
  std::array<double, 2> counts = {};
  for (const int64_t value : kept.Values()) ++counts[value % 4 / 3];
  return counts;
}

TEST(ResampleTest, ClassesComeAsOftenAsIsWanted) {
  const std::array<double, 2> kept = Kept("target=[1.0, 1.0], initial=[0.75, 0.25]");
  EXPECT_EQ(kept[1], 10'000);  // The rarest is kept whole.
  EXPECT_NEAR(kept[0], 10'000, 400);
}

TEST(ResampleTest, HowOftenTheyComeIsCountedWhereItIsNotKnown) {
  const std::array<double, 2> kept = Kept("target=[1.0, 3.0]");
  EXPECT_GT(kept[1], 9'900);
  EXPECT_NEAR(kept[0], 3'333, 300);
}

TEST(ResampleTest, AClassCanBeLeftOut) {
  EXPECT_THAT(Kept("target=[0.0, 2.0], initial=[3.0, 1.0]"), ElementsAre(0, 10'000));
}

TEST(ResampleTest, ItsOwnSeedDecides) {
  const auto values = [](const std::string& seed) {
    SingleOperator kept(
        "resample(%0, label={.value % 2}, target=[1.0, 2.0], initial=[1.0, 1.0]" +
        seed + ")");
    EXPECT_THAT(kept.Push(Numbers(0, 200)), IsOk());
    return kept.Values();
  };
  EXPECT_EQ(values(", seed=3"), values(", seed=3"));
  EXPECT_NE(values(", seed=3"), values(", seed=4"));
}

TEST(ResampleTest, AClassThatNobodyNamedIsAnErrorOfTheRow) {
  LeavesOut left_out;
  SingleOperator kept(
      "resample(%0, label={.value}, target=[1.0, 1.0], initial=[1.0, "
      "1.0])",
      SingleOperator::TestLane(left_out));
  ASSERT_THAT(kept.Push(NumberBlock({0, 2, 1, -1})), IsOk());
  EXPECT_THAT(kept.Values(), ElementsAre(0, 1));
  EXPECT_THAT(left_out.reasons, ElementsAre(HasSubstr("class 2 is none of the 2"),
                                            HasSubstr("class -1")));
}

TEST(ResampleTest, ManyLanesNeedWhatIsKnownBeforehand) {
  const auto across = [](const std::string& more) {
    const SingleOperator kept("resample(%0, label={.value}, target=[1.0]" + more + ")");
    return kept.node().schema().looks_across_lanes(kept.node().arguments());
  };
  EXPECT_TRUE(across(""));
  EXPECT_FALSE(across(", initial=[1.0]"));
}

TEST(ResampleTest, BadArgumentsAreRefused) {
  const auto error = [](const std::string& arguments) {
    return ErrorOf("resample(%0, label={.value}, " + arguments + ")");
  };
  EXPECT_THAT(error("target=[]"), HasSubstr("at least one class"));
  EXPECT_THAT(error("target=[-1.0]"), HasSubstr("from 0 on, one is -1"));
  EXPECT_THAT(error("target=[1.0], initial=[0.0]"), HasSubstr("above 0, one is 0"));
  EXPECT_THAT(error("target=[1.0], initial=[1.0, 2.0]"),
              HasSubstr("initial has 2 classes, target 1"));
  EXPECT_THAT(ErrorOf("resample(%0, label={.value < 3}, target=[1.0])"),
              HasSubstr("one int64 per row, not bool"));
}

}  // namespace
}  // namespace millrace::ops
