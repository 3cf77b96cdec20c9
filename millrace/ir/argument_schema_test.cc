#include "millrace/ir/argument_schema.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

ArgumentSchema Of(ArgumentType type) {
  return {.name = "it", .type = type, .doc = "What it is."};
}

// What is made of one argument called `it`.
absl::StatusOr<Value> Checked(const ArgumentSchema& schema, Value value) {
  const auto checked = CheckArguments({&schema, 1}, {{"it", std::move(value)}});
  if (!checked.ok()) return checked.status();
  return (*checked)["it"];
}

Function MakeFunction(std::string_view text) {
  auto expression = ParseExpression(text, TestRow(), TestCatalog());
  CHECK(expression.ok()) << expression.status();
  return std::make_shared<const Expression>(*std::move(expression));
}

// A value that suits each type.
std::vector<std::pair<ArgumentType, Value>> Suiting() {
  return {{ArgumentType::kBool, true},
          {ArgumentType::kInt, 3},
          {ArgumentType::kFloat, 0.5},
          {ArgumentType::kText, "a"},
          {ArgumentType::kInts, List{1, 2}},
          {ArgumentType::kFloats, List{0.5, 1.5}},
          {ArgumentType::kTexts, List{"a", "b"}},
          {ArgumentType::kRowFunction, MakeFunction("{x: .a}")},
          {ArgumentType::kValueFunction, MakeFunction("{.a}")},
          {ArgumentType::kAttachment, Attachment("a")},
          {ArgumentType::kAttachments, List{Attachment("a"), Attachment("b")}}};
}

TEST(ArgumentSchemaTest, TakesAValueOfItsTypeAndNoOther) {
  for (const auto& [type, own] : Suiting()) {
    EXPECT_THAT(Checked(Of(type), own), IsOkAndHolds(own)) << Describe(type);
    for (const auto& [other_type, other] : Suiting()) {
      const bool number = type == ArgumentType::kFloat || type == ArgumentType::kFloats;
      if (type == other_type || number) continue;
      EXPECT_THAT(Checked(Of(type), other), Not(IsOk()))
          << Describe(type) << " from " << Describe(other_type);
    }
  }
}

TEST(ArgumentSchemaTest, SaysWhatTypeWasWantedAndGiven) {
  EXPECT_THAT(Checked(Of(ArgumentType::kInt), "3"),
              StatusIs(kWrong, "argument it must be an integer, not a text"));
  EXPECT_THAT(Checked(Of(ArgumentType::kBool), 1),
              StatusIs(kWrong, "argument it must be a bool, not an integer"));
  EXPECT_THAT(Checked(Of(ArgumentType::kInt), Value()),
              StatusIs(kWrong, "argument it must be an integer, not none"));
  EXPECT_THAT(
      Checked(Of(ArgumentType::kInts), 3),
      StatusIs(kWrong, "argument it must be a list of integers, not an integer"));
  EXPECT_THAT(
      Checked(Of(ArgumentType::kInts), List{1, "a"}),
      StatusIs(kWrong, "argument it must be a list of integers; it holds a text"));
  EXPECT_THAT(Checked(Of(ArgumentType::kTexts), List{"a", List{"a"}}),
              StatusIs(kWrong, "argument it must be a list of texts; it holds a list"));
  EXPECT_THAT(Checked(Of(ArgumentType::kFloats), List{Value()}),
              StatusIs(kWrong, "argument it must be a list of floats; it holds none"));
}

TEST(ArgumentSchemaTest, EveryTypeHasAName) {
  std::vector<std::string_view> names;
  for (const auto& [type, own] : Suiting()) names.push_back(Describe(type));
  for (const std::string_view name : names) {
    EXPECT_TRUE(name.starts_with("a")) << name;
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  }
}

TEST(ArgumentSchemaTest, AnIntegerWillDoForAFloat) {
  EXPECT_THAT(Checked(Of(ArgumentType::kFloat), 3), IsOkAndHolds(Value(3.0)));
  EXPECT_THAT(Checked(Of(ArgumentType::kFloats), List{1, 0.5}),
              IsOkAndHolds(Value(List{1.0, 0.5})));
}

TEST(ArgumentSchemaTest, AllNansBecomeOne) {
  const auto odd = std::bit_cast<double>(uint64_t{0xFFF8000000000123});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(Checked(Of(ArgumentType::kFloat), odd), IsOkAndHolds(Value(nan)));
  EXPECT_THAT(Checked(Of(ArgumentType::kFloats), List{odd}),
              IsOkAndHolds(Value(List{nan})));
}

TEST(ArgumentSchemaTest, NoneIsTakenOnlyWhereItIsAllowed) {
  ArgumentSchema schema = Of(ArgumentType::kInt);
  EXPECT_THAT(Checked(schema, Value()), Not(IsOk()));
  schema.none_allowed = true;
  EXPECT_THAT(Checked(schema, Value()), IsOkAndHolds(Value()));
}

TEST(ArgumentSchemaTest, IntegersStayInTheirRange) {
  ArgumentSchema schema = Of(ArgumentType::kInt);
  schema.least = 1;
  schema.most = 10;
  EXPECT_THAT(Checked(schema, 1), IsOk());
  EXPECT_THAT(Checked(schema, 10), IsOk());
  EXPECT_THAT(Checked(schema, 0),
              StatusIs(kWrong, "argument it must be at least 1, not 0"));
  EXPECT_THAT(Checked(schema, 11),
              StatusIs(kWrong, "argument it must be at most 10, not 11"));
  EXPECT_THAT(Checked(schema, std::numeric_limits<int64_t>::min()), Not(IsOk()));
}

TEST(ArgumentSchemaTest, EveryIntegerOfAListStaysInTheRange) {
  ArgumentSchema schema = Of(ArgumentType::kInts);
  schema.least = 0;
  EXPECT_THAT(Checked(schema, List{}), IsOk());
  EXPECT_THAT(Checked(schema, List{0, 5}), IsOk());
  EXPECT_THAT(Checked(schema, List{0, -5}),
              StatusIs(kWrong, "argument it must be at least 0, not -5"));
}

TEST(ArgumentSchemaTest, TextsAreOfTheChoicesWhereThereAreAny) {
  ArgumentSchema schema = Of(ArgumentType::kText);
  EXPECT_THAT(Checked(schema, "anything"), IsOk());
  schema.choices = {"near", "far"};
  EXPECT_THAT(Checked(schema, "far"), IsOk());
  EXPECT_THAT(Checked(schema, "fur\n"),
              StatusIs(kWrong, "argument it must be one of near, far, not fur\\n"));
}

TEST(ArgumentSchemaTest, FunctionsGiveARowOrAValueAsAsked) {
  EXPECT_THAT(Checked(Of(ArgumentType::kRowFunction), MakeFunction("{.a}")),
              StatusIs(kWrong, HasSubstr("must name its results")));
  EXPECT_THAT(Checked(Of(ArgumentType::kValueFunction), MakeFunction("{x: .a}")),
              StatusIs(kWrong, HasSubstr("must give one value")));
  EXPECT_THAT(Checked(Of(ArgumentType::kValueFunction), MakeFunction("{}")),
              Not(IsOk()));
  EXPECT_THAT(Checked(Of(ArgumentType::kRowFunction), Function()),
              StatusIs(kWrong, HasSubstr("must be an expression")));
}

TEST(ArgumentSchemaTest, FillsInDefaultsInTheOrderOfTheSchema) {
  const std::vector<ArgumentSchema> schema = {
      {.name = "a", .doc = "", .default_value = 1},
      {.name = "b", .doc = ""},
      {.name = "c", .type = ArgumentType::kFloat, .doc = "", .default_value = 2}};
  EXPECT_THAT(CheckArguments(schema, {{"b", 5}}),
              IsOkAndHolds(Arguments{{"a", 1}, {"b", 5}, {"c", 2.0}}));
  EXPECT_THAT(CheckArguments(schema, {{"c", 0.5}, {"b", 5}, {"a", 7}}),
              IsOkAndHolds(Arguments{{"a", 7}, {"b", 5}, {"c", 0.5}}));
}

TEST(ArgumentSchemaTest, WhatIsMissingIsNamedWithItsMeaning) {
  EXPECT_THAT(CheckArguments(std::vector{Of(ArgumentType::kInt)}, {}),
              StatusIs(kWrong, "argument it is missing: What it is."));
}

TEST(ArgumentSchemaTest, NothingIsGivenTwice) {
  EXPECT_THAT(
      CheckArguments(std::vector{Of(ArgumentType::kInt)}, {{"it", 1}, {"it", 1}}),
      StatusIs(kWrong, "argument it is given twice"));
}

TEST(ArgumentSchemaTest, UnknownArgumentsAreNamedWithTheNearestAndAll) {
  const std::vector<ArgumentSchema> schema = {
      {.name = "size", .doc = "", .default_value = 1},
      {.name = "drop_remainder", .doc = "", .default_value = 1}};
  EXPECT_THAT(CheckArguments(schema, {{"sise", 1}}),
              StatusIs(kWrong,
                       "there is no argument sise (did you mean size?); arguments are: "
                       "size, drop_remainder"));
  EXPECT_THAT(CheckArguments({}, {{"size", 1}}),
              StatusIs(kWrong, "there is no argument size; arguments are: none"));
  EXPECT_THAT(CheckArguments({}, {{std::string(100'000, 'x'), 1}}),
              StatusIs(kWrong, testing::SizeIs(testing::Lt(200))));
}

TEST(ArgumentSchemaTest, SuggestsTheNearestName) {
  const std::vector<std::string> names = {"batch", "map", "filter", "shuffle"};
  EXPECT_EQ(Suggestion("bacth", names), " (did you mean batch?)");
  EXPECT_EQ(Suggestion("filtre", names), " (did you mean filter?)");
  EXPECT_EQ(Suggestion("mapp", names), " (did you mean map?)");
  EXPECT_EQ(Suggestion("shufle", names), " (did you mean shuffle?)");
}

TEST(ArgumentSchemaTest, SuggestsNothingThatIsFar) {
  const std::vector<std::string> names = {"batch", "map", "x", "yz"};
  EXPECT_EQ(Suggestion("interleave", names), "");
  EXPECT_EQ(Suggestion("q", names), "");  // Every short name is one change away.
  EXPECT_EQ(Suggestion("ab", names), "");
  EXPECT_EQ(Suggestion("", names), "");
  EXPECT_EQ(Suggestion("batch", {}), "");
  EXPECT_EQ(Suggestion(std::string(100'000, 'b'), names), "");
}

}  // namespace
}  // namespace millrace::ir
