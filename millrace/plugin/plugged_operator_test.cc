// Operators of plug-ins: what they give, and what is not believed of it.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/plugin/plugged_test.h"

namespace millrace::plugin {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Call(const std::string& name, const std::string& rule) {
  return base::StrCat(name, "(%0, rule=\"", rule, "\")");
}

// What one of the plug-in's operators makes of the numbers 0 to 5, in blocks of a size.
absl::StatusOr<std::vector<core::Block>> RunCall(const std::string& call,
                                                 int64_t size = 6,
                                                 ops::BadRows& bad = ops::NoBadRows()) {
  ops::SingleOperator one(call, ops::SingleOperator::TestLane(bad));
  for (int64_t at = 0; at < 6; at += size) {
    TRY(one.Push(ops::Numbers(at, std::min<int64_t>(at + size, 6))));
  }
  TRY(one.Finish());
  return one.out().blocks;
}

std::vector<int64_t> ValuesOf(const std::string& call, int64_t size = 6,
                              ops::BadRows& bad = ops::NoBadRows()) {
  const auto blocks = RunCall(call, size, bad);
  EXPECT_THAT(blocks, base::IsOk());
  if (!blocks.ok()) return {};
  return exec::Values<int64_t>(exec::Joined(*blocks), "value");
}

std::string ErrorOf(const std::string& name, const std::string& rule) {
  return std::string(RunCall(Call(name, rule)).status().message());
}

TEST(PluggedOperatorTest, PassesRowsOnDropsThemAndRepeatsThem) {
  for (const int64_t size : {1, 4, 6}) {
    EXPECT_THAT(ValuesOf(Call("keep", "none"), size), ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(ValuesOf(Call("row_wise", "none"), size),
                ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_THAT(ValuesOf(Call("fewer", "drop"), size), ElementsAre(0, 2, 4));
    EXPECT_THAT(ValuesOf(Call("more", "twice"), size),
                ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
  }
  EXPECT_THAT(ValuesOf(Call("keep", "reverse")), ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST(PluggedOperatorTest, GivesRowsThatItHeld) {
  for (const int64_t size : {1, 2, 4, 6}) {
    EXPECT_THAT(ValuesOf(Call("keep", "lag"), size), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

TEST(PluggedOperatorTest, RowsKeepTheirIdentityAndRepeatedOnesHaveTheirOwn) {
  const core::Block rows = ops::Numbers(0, 6);
  const core::Block lagged = exec::Joined(*RunCall(Call("keep", "lag"), 4));
  EXPECT_TRUE(SameRows(lagged, rows));
  const core::Block some = exec::Joined(*RunCall(Call("fewer", "drop"), 4));
  EXPECT_EQ(some.IdAt(1), rows.IdAt(2));
  const core::Block twice = exec::Joined(*RunCall(Call("more", "twice"), 4));
  EXPECT_NE(twice.IdAt(0), twice.IdAt(1));
  EXPECT_TRUE(SameRows(twice, exec::Joined(*RunCall(Call("more", "twice"), 1))));
}

TEST(PluggedOperatorTest, TellsHowManyRowsThereWillBe) {
  const std::string rows = "%0 = range(stop=6)\n%1 = ";
  EXPECT_EQ(exec::MustParse(rows + "keep(%0)").cardinality(),
            ir::Cardinality::Known(6));
  EXPECT_EQ(exec::MustParse(rows + "fewer(%0)").cardinality(),
            ir::Cardinality::Unknown());
}

TEST(PluggedOperatorTest, RowsThatAreWrongAreToldOrLeftOut) {
  for (const std::string name : {"fewer", "row_wise"}) {
    EXPECT_THAT(RunCall(Call(name, "bad")),
                base::StatusIs(absl::StatusCode::kDataLoss, "threes are wrong"));
    ops::LeavesOut bad;
    EXPECT_THAT(ValuesOf(Call(name, "bad"), 4, bad), ElementsAre(1, 2, 4, 5));
    EXPECT_THAT(bad.reasons, ElementsAre("threes are wrong", "threes are wrong"));
  }
  EXPECT_THAT(ErrorOf("keep", "bad"), HasSubstr("is not kMillraceCanFail"));
  EXPECT_THAT(ErrorOf("fewer", "bad after"),
              HasSubstr("says that row 0 is wrong, but gave a row from it before"));
}

TEST(PluggedOperatorTest, RowsOfAnotherLaneAreNoneTheWorse) {
  ops::SingleOperator one(Call("row_wise", "bad"));
  EXPECT_FALSE(one.Push(ops::NumberBlock({1, 3, 4})).ok());
  EXPECT_THAT(one.Push(ops::NumberBlock({7, 8})), base::IsOk());
  EXPECT_THAT(one.Values(), ElementsAre(1, 7, 8));
}

TEST(PluggedOperatorTest, ErrorsNameThePluginAndTheOperator) {
  const std::string plugin = base::StrCat("plug-in ", ModulePath("rule_breaker.so"));
  EXPECT_EQ(ErrorOf("fewer", "make"), plugin + ": cannot be made");
  EXPECT_EQ(ErrorOf("fewer", "push"), plugin + ": takes no rows");
  EXPECT_EQ(ErrorOf("fewer", "finish"), plugin + ": has no end");
  const std::string rows = "%0 = range(stop=6)\n%1 = ";
  EXPECT_THAT(RunText(rows + Call("fewer", "push")),
              base::StatusIs(
                  absl::StatusCode::kFailedPrecondition,
                  testing::StartsWith(base::StrCat("fewer (%1), lane 0: ", plugin))));
  EXPECT_THAT(ops::ErrorOf(Call("fewer", "infer")),
              HasSubstr("fewer: no rows please it"));
}

TEST(PluggedOperatorTest, HoldsItToItsTraits) {
  EXPECT_THAT(ErrorOf("keep", "drop"),
              HasSubstr("gives 3 rows of 6, although it is not kMillraceFewerRows"));
  EXPECT_THAT(ErrorOf("row_wise", "drop"),
              HasSubstr("although it is not kMillraceFewerRows"));
  EXPECT_THAT(ErrorOf("keep", "twice"),
              HasSubstr("gives two rows from number 0, although it is not "
                        "kMillraceMoreRows"));
  EXPECT_THAT(ErrorOf("row_wise", "reverse"), HasSubstr("changes the order of rows"));
}

TEST(PluggedOperatorTest, BelievesNoRowNumberAndNoField) {
  EXPECT_THAT(ErrorOf("keep", "far"),
              HasSubstr("from number -5, but only 0 up to 6 are in reach"));
  EXPECT_THAT(ErrorOf("fewer", "late"),
              HasSubstr("begins to give 1 rows from 0 in reach"));
  EXPECT_THAT(ErrorOf("keep", "field"), HasSubstr("room for field 99 of 1"));
  EXPECT_THAT(ErrorOf("keep", "no begin"), HasSubstr("begin first"));
  EXPECT_THAT(ErrorOf("keep", "column"), HasSubstr("asks for field 99 of 1"));
  EXPECT_THAT(ErrorOf("keep", "unmade"), HasSubstr("gives no values for field extra"));
}

TEST(PluggedOperatorTest, BelievesNoSpec) {
  EXPECT_THAT(ErrorOf("keep", "retype"), HasSubstr("float32"));
  const auto refusal = [](const std::string& rule) {
    return ops::ErrorOf(Call("keep", rule));
  };
  EXPECT_THAT(refusal("same name"), HasSubstr("adds the field value twice"));
  EXPECT_THAT(refusal("bad name"), HasSubstr("a..b"));
  EXPECT_THAT(refusal("no name"), HasSubstr("adds a field without a name"));
  EXPECT_THAT(refusal("hold"), HasSubstr("holds -1 rows"));
}

TEST(PluggedOperatorTest, TheExampleMakesOneRowOfEachRun) {
  const std::string runs =
      "%0 = range(stop=10)\n"
      "%1 = map(%0, function={value: .value, word: where(.value < 4, \"a\", \"bc\")})\n"
      "%2 = run_lengths(%1, field=\"word\", into=\"rows\")\n";
  const core::Block all = exec::Joined(exec::MustRun(runs));
  EXPECT_THAT(exec::Values<int64_t>(all, "value"), ElementsAre(3, 9));
  EXPECT_THAT(exec::Values<int64_t>(all, "rows"), ElementsAre(4, 6));
  EXPECT_THAT(ops::ErrorOf("run_lengths(%0, field=\"x\")"),
              HasSubstr("must name a field of single values, not x"));
  EXPECT_THAT(ops::ErrorOf("run_lengths(%0, field=\"value\", into=\"value\")"),
              HasSubstr("there is a field value already"));
}

}  // namespace
}  // namespace millrace::plugin
