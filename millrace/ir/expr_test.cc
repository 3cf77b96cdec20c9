#include "millrace/ir/expr.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

absl::StatusOr<Expression> Traced(const RowFunction& function) {
  return TraceRow(TestCatalog(), TestRow(), 0, function);
}

// What a lambda of one value did, as text.
std::string Text(const ValueFunction& function) {
  const auto expression = TraceValue(TestCatalog(), TestRow(), 0, function);
  if (!expression.ok()) return std::string(expression.status().message());
  return PrintExpression(*expression);
}

TEST(ExprTest, ALambdaBecomesAnExpression) {
  const auto expression = Traced([](Row row, Rng rng) {
    const Expr x = row["a"] * 2 + 1;
    return Fields{{"x", x}, {"noise", rng.Uniform(0.0, 1.0)}};
  });
  ASSERT_THAT(expression, IsOk());
  EXPECT_EQ(PrintExpression(*expression),
            "{x: .a * 2 + 1, noise: uniform#0(0.0, 1.0)}");
}

TEST(ExprTest, EveryOperatorIsTheKernelOfTheTextForm) {
  const auto traced = [](Expr (*make)(const Expr&, const Expr&)) {
    return Text([&](Row row, Rng) { return make(row["a"], row["b"]); });
  };
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a + b; }), "{.a + .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a - b; }), "{.a - .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a * b; }), "{.a * .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a / b; }), "{.a / .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a % b; }), "{.a % .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a == b; }), "{.a == .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a != b; }), "{.a != .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a < b; }), "{.a < .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a <= b; }), "{.a <= .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a > b; }), "{.a > .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a >= b; }), "{.a >= .b}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a < b && b < a; }),
            "{.a < .b and .b < .a}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return a < b || b < a; }),
            "{.a < .b or .b < .a}");
  EXPECT_EQ(traced([](const Expr& a, const Expr& b) { return !(a < -b); }),
            "{not .a < -.b}");
}

TEST(ExprTest, ConstantsAreWrittenPlainly) {
  EXPECT_EQ(Text([](Row row, Rng) { return row["u"] + 1; }), "{.u + 1}");
  EXPECT_EQ(Text([](Row row, Rng) { return 1.5 * row["x"]; }), "{1.5 * .x}");
  EXPECT_EQ(Text([](Row row, Rng) { return row["flag"] == true; }), "{.flag == true}");
  EXPECT_EQ(Text([](Row row, Rng) { return row["name"] == "b"; }), "{.name == \"b\"}");
  EXPECT_EQ(Text([](Row row, Rng) { return row["x"] + core::Tensor::Scalar(2.0F); }),
            "{.x + 2.0f32}");
  EXPECT_EQ(Text([](Row, Rng) { return Expr(7); }), "{7}");
}

TEST(ExprTest, ValuesAreIndexedAndSliced) {
  EXPECT_EQ(Text([](Row row, Rng) { return row["image"][0][-1]; }), "{.image[0][-1]}");
  EXPECT_EQ(Text([](Row row, Rng) { return row["image"][row["a"]]; }), "{.image[.a]}");
  EXPECT_EQ(Text([](Row row, Rng) { return row["image"].Slice(1, Value()); }),
            "{.image[1:]}");
}

TEST(ExprTest, AnyKernelCanBeCalled) {
  EXPECT_EQ(Text([](Row row, Rng) {
              return Call("cast", {row["a"]}, {{"dtype", "float32"}});
            }),
            "{cast(.a, dtype=\"float32\")}");
  EXPECT_EQ(Text([](Row row, Rng) { return Call("where", {row["flag"], 1, 2.5}); }),
            "{where(.flag, 1, 2.5)}");
}

TEST(ExprTest, EveryDrawIsANewOne) {
  EXPECT_EQ(
      Text([](Row, Rng rng) {
        return rng.Uniform(0.0, 1.0) + rng.Uniform(0.0, 1.0) * rng.Normal(0, 1) +
               rng.Integers(0, 9);
      }),
      "{uniform#0(0.0, 1.0) + uniform#1(0.0, 1.0) * normal#2(0, 1) + integers#3(0, "
      "9)}");
}

// GCC evaluates the operands of a + b from the right, Clang from the left.
TEST(ExprTest, TheOrderOfEvaluationDoesNotShow) {
  const auto drawn = [](bool forth) {
    return Text([&](Row, Rng rng) {
      std::vector<Expr> draws;
      draws.reserve(3);
      for (int i = 0; i < 3; ++i) draws.push_back(rng.Uniform(0, forth ? i : 2 - i));
      if (!forth) std::swap(draws[0], draws[2]);
      return draws[0] - draws[1] * draws[2];
    });
  };
  EXPECT_EQ(drawn(true), "{uniform#0(0, 0) - uniform#1(0, 1) * uniform#2(0, 2)}");
  EXPECT_EQ(drawn(false), drawn(true));
}

TEST(ExprTest, ADrawUsedTwiceIsOne) {
  EXPECT_EQ(Text([](Row, Rng rng) {
              (void)rng.Uniform(0, 1);
              const Expr kept = rng.Uniform(0, 1);
              return kept * kept + rng.Uniform(0, 1);
            }),
            "{$0 = uniform#0(0, 1); $0 * $0 + uniform#1(0, 1)}");
}

TEST(ExprTest, NumbersGoOnFromTheGivenOne) {
  const auto expression = TraceValue(TestCatalog(), TestRow(), 5,
                                     [](Row, Rng rng) { return rng.Uniform(0, 1); });
  ASSERT_THAT(expression, IsOk());
  EXPECT_EQ(PrintExpression(*expression), "{uniform#5(0, 1)}");
}

TEST(ExprTest, TheFirstMistakeComesOut) {
  EXPECT_THAT(Text([](Row row, Rng) {
                const Expr first = row["nothing"];
                return first + row["neither"] * 2;
              }),
              HasSubstr("there is no field nothing"));
  EXPECT_THAT(Text([](Row row, Rng) { return -(row["a"] + row["name"]); }),
              "add: types do not go together: int64 and string");
  EXPECT_THAT(Text([](Row row, Rng) { return Call("squrt", {row["x"]}); }),
              HasSubstr("did you mean sqrt?"));
  EXPECT_THAT(Text([](Row row, Rng) { return row["u"] + 300; }),
              HasSubstr("the number 300 does not fit uint8"));
}

TEST(ExprTest, AMistakeInOneResultSpoilsAll) {
  EXPECT_THAT(Traced([](Row row, Rng) {
                return Fields{{"x", row["a"]}, {"y", row["nothing"]}};
              }),
              StatusIs(kWrong, HasSubstr("nothing")));
  EXPECT_THAT(
      Traced([](Row row, Rng) { return Fields{{"x", row["a"]}, {"x", row["b"]}}; }),
      StatusIs(kWrong, "result x is given twice"));
}

TEST(ExprTest, WhatIsNotUsedIsNotThere) {
  EXPECT_EQ(Text([](Row row, Rng rng) {
              (void)(row["b"] * rng.Uniform(0, 1));
              return row["a"];
            }),
            "{.a}");
}

TEST(ExprTest, ArithmeticOfConstantsAloneIsAProgrammersError) {
  EXPECT_DEATH((void)(Expr(1) + Expr(2)), "only constants");
}

TEST(ExprTest, ValuesOfAnotherLambdaAreAProgrammersError) {
  EXPECT_DEATH(
      {
        std::vector<Expr> kept;
        (void)Text([&](Row row, Rng) {
          kept.push_back(row["a"]);
          (void)Text([&](Row inner, Rng) { return inner["a"] + kept[0]; });
          return row["a"];
        });
      },
      "another row function");
}

}  // namespace
}  // namespace millrace::ir
