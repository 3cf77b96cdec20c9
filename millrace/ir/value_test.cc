#include "millrace/ir/value.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"

namespace millrace::ir {
namespace {

using testing::HasSubstr;

Function MakeFunction(std::string_view text) {
  auto expression = ParseExpression(text, TestRow(), TestCatalog());
  CHECK(expression.ok()) << expression.status();
  return std::make_shared<const Expression>(*std::move(expression));
}

// One of each kind.
std::vector<Value> OneOfEach() {
  return {Value(),
          Value(true),
          Value(1),
          Value(1.0),
          Value("1"),
          Value(List{1}),
          Value(Attachment("1")),
          Value(MakeFunction("{.a}"))};
}

TEST(ValueTest, HoldsWhatItWasMadeFrom) {
  EXPECT_TRUE(Value().is_none());
  EXPECT_EQ(Value(false).As<bool>(), false);
  EXPECT_EQ(Value(7).As<int64_t>(), 7);
  EXPECT_EQ(Value(int64_t{1} << 40).As<int64_t>(), int64_t{1} << 40);
  EXPECT_EQ(Value(0.5).As<double>(), 0.5);
  EXPECT_EQ(Value("abc").As<std::string>(), "abc");
  EXPECT_EQ(Value(List{1, "a"}).As<List>().size(), 2);
  EXPECT_EQ(Value(Attachment("x")).As<Attachment>().content(), "x");
}

TEST(ValueTest, ATextIsNotABool) {
  EXPECT_NE(Value("x").If<std::string>(), nullptr);
  EXPECT_EQ(Value("x").If<bool>(), nullptr);
}

TEST(ValueTest, GivesNothingOfAnotherKind) {
  const std::vector<Value> values = OneOfEach();
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i].If<None>() != nullptr, i == 0);
    EXPECT_EQ(values[i].If<bool>() != nullptr, i == 1);
    EXPECT_EQ(values[i].If<int64_t>() != nullptr, i == 2);
    EXPECT_EQ(values[i].If<double>() != nullptr, i == 3);
    EXPECT_EQ(values[i].If<std::string>() != nullptr, i == 4);
    EXPECT_EQ(values[i].If<List>() != nullptr, i == 5);
    EXPECT_EQ(values[i].If<Attachment>() != nullptr, i == 6);
    EXPECT_EQ(values[i].If<Function>() != nullptr, i == 7);
  }
}

TEST(ValueTest, NamesItsKind) {
  std::vector<std::string> names;
  for (const Value& value : OneOfEach()) names.emplace_back(value.KindName());
  EXPECT_THAT(names,
              testing::ElementsAre("none", "a bool", "an integer", "a float", "a text",
                                   "a list", "an attachment", "an expression"));
}

TEST(ValueTest, TakingAnotherKindIsAProgrammersError) {
  EXPECT_DEATH(Value(1).As<bool>(), HasSubstr("an integer"));
}

TEST(ValueTest, KindsNeverEqualOneAnother) {
  const std::vector<Value> values = OneOfEach();
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) {
      EXPECT_EQ(values[i] == values[j], i == j) << i << " and " << j;
    }
  }
}

TEST(ValueTest, ComparesByContent) {
  EXPECT_EQ(Value("ab"), Value(std::string("ab")));
  EXPECT_FALSE(Value(1) == Value(2));
  EXPECT_EQ(Value(List{1, List{"a"}}), Value(List{1, List{"a"}}));
  EXPECT_FALSE(Value(List{1, List{"a"}}) == Value(List{1, List{"b"}}));
  EXPECT_FALSE(Value(List{1}) == Value(List{1, 1}));
  EXPECT_EQ(Value(Attachment("x")), Value(Attachment("x")));
}

TEST(ValueTest, FloatsCompareBitForBit) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Value(nan), Value(nan));
  EXPECT_EQ(Value(List{nan}), Value(List{nan}));
  EXPECT_FALSE(Value(0.0) == Value(-0.0));
  EXPECT_EQ(Value(0.1), Value(0.1));
}

TEST(ValueTest, FunctionsCompareByWhatTheyCompute) {
  EXPECT_EQ(Value(MakeFunction("{.a + 1}")), Value(MakeFunction("{ .a+1 }")));
  EXPECT_FALSE(Value(MakeFunction("{.a + 1}")) == Value(MakeFunction("{.a + 2}")));
  EXPECT_FALSE(Value(MakeFunction("{.a + 1}")) == Value(1));
}

TEST(ValueTest, ArgumentsAreFoundByName) {
  const Arguments arguments = {{"size", 3}, {"mode", "fast"}};
  EXPECT_EQ(arguments["size"], Value(3));
  EXPECT_EQ(*arguments.Find("mode"), Value("fast"));
  EXPECT_EQ(arguments.Find("sized"), nullptr);
  EXPECT_EQ(Arguments().Find("size"), nullptr);
}

TEST(ValueTest, ArgumentsKeepTheirOrder) {
  Arguments arguments = {{"b", 1}, {"a", 2}};
  arguments.Set("c", 3);
  arguments.Set("b", "new");
  ASSERT_EQ(arguments.all().size(), 3);
  EXPECT_EQ(arguments.all()[0], (Argument{"b", "new"}));
  EXPECT_EQ(arguments.all()[1], (Argument{"a", 2}));
  EXPECT_EQ(arguments.all()[2], (Argument{"c", 3}));
  EXPECT_FALSE(arguments == (Arguments{{"a", 2}, {"b", "new"}, {"c", 3}}));
}

TEST(ValueTest, AMissingArgumentIsAProgrammersError) {
  const Arguments arguments = {{"size", 3}};
  EXPECT_DEATH(arguments["seed"], HasSubstr("no argument seed"));
}

}  // namespace
}  // namespace millrace::ir
