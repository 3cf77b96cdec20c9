#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ops/single_merger_test.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ChooseTest, RowsComeInTheOrderThatTheFirstInputTells) {
  SingleMerger chosen("choose(%3, %0, %1)");
  ASSERT_THAT(chosen.RunAll({{NumberBlock({0, 1, 1}), NumberBlock({0, 1})},
                             {Numbers(10, 11), Numbers(11, 15)},
                             {Numbers(20, 25)}}),
              IsOk());
  EXPECT_THAT(chosen.Values(), ElementsAre(10, 20, 21, 11, 22));
}

TEST(ChooseTest, EndsWithTheFirstChoiceOfAnInputThatHasEnded) {
  SingleMerger chosen("choose(%3, %0, %1)");
  ASSERT_THAT(
      chosen.RunAll(
          {{NumberBlock({0, 1, 0, 1, 1})}, {Numbers(10, 11)}, {Numbers(20, 25)}}),
      IsOk());
  EXPECT_THAT(chosen.Values(), ElementsAre(10, 20));
}

TEST(ChooseTest, OrPassesOverSuchChoices) {
  SingleMerger chosen("choose(%3, %0, %1, stop=\"all\")");
  ASSERT_THAT(chosen.RunAll({{NumberBlock({0, 1, 0, 1, 0, 1, 1, 0})},
                             {Numbers(10, 11)},
                             {Numbers(20, 23)}}),
              IsOk());
  EXPECT_THAT(chosen.Values(), ElementsAre(10, 20, 21, 22));
}

TEST(ChooseTest, AChoiceOfNoInputIsAnError) {
  SingleMerger chosen("choose(%3, %0, %1)");
  EXPECT_THAT(chosen.RunAll({{NumberBlock({1, 2})}, {}, {Numbers(20, 25)}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "a choice is 2; there are the inputs 0 to 1"));
  EXPECT_THAT(chosen.Values(), ElementsAre(20));
}

TEST(ChooseTest, TheFirstInputMustGiveNumbersAlone) {
  const auto error = [](const char* text) {
    return std::string(BehindInputs(text).status().message());
  };
  EXPECT_THAT(BehindInputs("choose(%0, %1, %2)"), IsOk());
  EXPECT_THAT(error("zip(%0, %3) %5 = choose(%4, %0)"),
              HasSubstr("one int64 per row and nothing else, not {value: int64, x: "));
  EXPECT_THAT(error("choose(%0, %1, %3)"), HasSubstr("x"));
}

}  // namespace
}  // namespace millrace::ops
