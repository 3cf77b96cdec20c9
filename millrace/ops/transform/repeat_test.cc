#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/single_merger_test.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

ir::Cardinality CountOf(const std::string& text) {
  return BehindInputs(text)->cardinality();
}

TEST(RepeatTest, CountsTheRowsOfAllTurns) {
  EXPECT_EQ(CountOf("repeat(%0, count=7)").rows(), 70);
  EXPECT_EQ(CountOf("repeat(%0, count=0)").rows(), 0);
  EXPECT_TRUE(CountOf("repeat(%0)").infinite());
}

TEST(RepeatTest, NothingStaysNothing) {
  const std::string nothing = "take(%0, count=0) ";
  EXPECT_EQ(CountOf(nothing + "%5 = repeat(%4)").rows(), 0);
  EXPECT_EQ(CountOf("repeat(%0) %5 = repeat(%4, count=0)").rows(), 0);
}

TEST(RepeatTest, WhatIsEndlessOrUnknownStaysSo) {
  EXPECT_TRUE(CountOf("repeat(%0) %5 = repeat(%4, count=3)").infinite());
  const ir::Cardinality filtered =
      CountOf("filter(%0, predicate={.value > 2}) %5 = repeat(%4, count=3)");
  EXPECT_FALSE(filtered.known() || filtered.infinite());
}

TEST(RepeatTest, AnAbsurdNumberOfRowsIsUnknown) {
  const std::string most = "repeat(%0, count=1152921504606846976)";  // 2^60.
  EXPECT_FALSE(CountOf(most).known());
}

TEST(RepeatTest, KeepsTheFields) {
  EXPECT_EQ(BehindInputs("repeat(%3)")->spec().Names(), "x");
}

TEST(RepeatTest, RefusesCountsThatMeanNothing) {
  EXPECT_THAT(ErrorOf("repeat(%0, count=-1)"), HasSubstr("count"));
  EXPECT_THAT(ErrorOf("repeat(%0, count=1152921504606846977)"), HasSubstr("count"));
}

}  // namespace
}  // namespace millrace::ops
