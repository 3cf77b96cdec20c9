// Kernels of plug-ins: what they compute, and what is not believed of it.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/exec/runs_test.h"
#include "millrace/plugin/plugged_test.h"

namespace millrace::plugin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::vector<core::Block>> RunExpression(const std::string& expression) {
  return RunText(
      base::StrCat("%0 = range(stop=5)\n%1 = map(%0, function={r: ", expression, "})"));
}

// The values of the result in each row, as text.
std::vector<std::string> Shown(const std::string& expression) {
  const auto blocks = RunExpression(expression);
  if (!blocks.ok()) return {std::string(blocks.status().message())};
  std::vector<std::string> rows;
  const core::Block all = exec::Joined(*blocks);
  rows.reserve(all.rows());
  for (int64_t row = 0; row < all.rows(); ++row) {
    rows.push_back(all.columns()[0].Row(row)->ToString());
  }
  return rows;
}

std::string ErrorOf(const std::string& rule) {
  const auto blocks =
      RunExpression(base::StrCat("break_rules(.value, rule=\"", rule, "\")"));
  return blocks.ok() ? "" : std::string(blocks.status().message());
}

TEST(PluggedKernelTest, ComputesRowsOfOneShape) {
  EXPECT_THAT(Shown("break_rules(.value)"),
              ElementsAre("int64 0", "int64 1", "int64 2", "int64 3", "int64 4"));
}

TEST(PluggedKernelTest, ComputesTextsAndRowsOfManyShapes) {
  EXPECT_THAT(Shown("break_rules(.value, rule=\"lists\")"),
              ElementsAre("int64[0] []", "int64[1] [0]", "int64[2] [0, 10]",
                          "int64[3] [0, 10, 20]", "int64[0] []"));
  EXPECT_THAT(
      Shown("break_rules(.value, rule=\"texts\")"),
      ElementsAre("string[0] []", "string[1] [\"aa\"]", "string[2] [\"aa\", \"aa\"]",
                  "string[3] [\"aa\", \"aa\", \"aa\"]", "string[0] []"));
}

TEST(PluggedKernelTest, TakesArgumentsOfAllTypesAndOperandsAgain) {
  EXPECT_THAT(Shown("sum_up(.value, .value, 10, by=2)"),
              ElementsAre("float64 6.0", "float64 7.0", "float64 8.0", "float64 9.0",
                          "float64 10.0"));
  EXPECT_THAT(Shown("sum_up(1, by=2, scale=2.0, negate=true)"),
              testing::Each("float64 -6.0"));
  EXPECT_THAT(Shown("sum_up(1)")[0], HasSubstr("argument by"));
}

TEST(PluggedKernelTest, TheExampleKnowsWhatSoundsAlike) {
  EXPECT_THAT(Shown("soundex(split(\"Robert Rupert Ashcraft Tymczak pfister "
                    "Honeyman Lee\", separator=\" \"))")[0],
              "string[7] [\"R163\", \"R163\", \"A261\", \"T522\", \"P236\", \"H555\", "
              "\"L000\"]");
  EXPECT_THAT(Shown("soundex(.value)")[0], HasSubstr("soundex: needs texts"));
}

TEST(PluggedKernelTest, ARowThatIsWrongIsToldOrLeftOut) {
  const std::string rows =
      "%0 = range(stop=5)\n"
      "%1 = map(%0, function={r: soundex(where(.value == 3, \"7\", \"x\"))})\n";
  EXPECT_THAT(RunText(rows),
              base::StatusIs(absl::StatusCode::kDataLoss,
                             AllOf(HasSubstr("soundex"), HasSubstr("no letter"))));
  const auto rest = RunText(rows + "%2 = ignore_errors(%1)");
  ASSERT_THAT(rest, base::IsOk());
  EXPECT_EQ(exec::Joined(*rest).rows(), 4);
}

TEST(PluggedKernelTest, BelievesNoType) {
  EXPECT_THAT(ErrorOf("dtype"), HasSubstr("gives the dtype 99, which is none"));
  EXPECT_THAT(ErrorOf("rank"), HasSubstr("gives a value of 40 axes"));
  EXPECT_THAT(ErrorOf("size"), HasSubstr("gives a negative size in [-7]"));
  EXPECT_THAT(ErrorOf("infer"), HasSubstr("break_rules: no type pleases it"));
  EXPECT_THAT(ErrorOf("silent"), HasSubstr("it fails and does not say why"));
}

TEST(PluggedKernelTest, BelievesNoRow) {
  EXPECT_THAT(ErrorOf("shape"), HasSubstr("of shape [3], which is not the type that it "
                                          "promised, int64[2]"));
  EXPECT_THAT(ErrorOf("few"), HasSubstr("gives values for 0 of 1 rows"));
  EXPECT_THAT(ErrorOf("many"), HasSubstr("asks for room for more than 1 rows"));
  EXPECT_THAT(ErrorOf("deaf"), HasSubstr("asks for room for more than 1 rows"));
  EXPECT_THAT(ErrorOf("offsets"), HasSubstr("do not rise from 0 to the 2 bytes"));
  EXPECT_THAT(ErrorOf("utf8"), HasSubstr("gives a string that is not UTF-8"));
  EXPECT_THAT(ErrorOf("bool"), HasSubstr("gives a bool that is neither 0 nor 1"));
  EXPECT_THAT(ErrorOf("no room"), HasSubstr("asks for room for -1 bytes"));
  EXPECT_THAT(ErrorOf("no sizes"), HasSubstr("no sizes of it"));
  EXPECT_THAT(ErrorOf("too huge"), HasSubstr("shape is too large"));
}

TEST(PluggedKernelTest, ErrorsNameThePluginAndTheKernel) {
  for (const std::string rule : {"all", "row", "few", "dtype"}) {
    EXPECT_THAT(ErrorOf(rule),
                HasSubstr(base::StrCat("break_rules: plug-in ",
                                       ModulePath("rule_breaker.so"), ": ")));
  }
  EXPECT_THAT(ErrorOf("all"), HasSubstr("all is wrong"));
  EXPECT_THAT(ErrorOf("row"), HasSubstr("although it says that it cannot fail"));
}

TEST(PluggedKernelTest, MoreMemoryThanThereIsIsNoFaultOfThePlugin) {
  EXPECT_THAT(RunExpression("break_rules(.value, rule=\"huge\")"),
              base::StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace::plugin
