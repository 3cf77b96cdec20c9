#include "millrace/ops/dataset_base.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/expr.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/ops/dataset.h"

namespace millrace::ops {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const Dataset& dataset) {
  EXPECT_THAT(dataset.pipeline().status(), base::IsOk());
  return ir::Print(*dataset.pipeline(), {.for_people = true}).text;
}

TEST(DatasetBaseTest, BuildsWhatTheTextFormSays) {
  const Dataset dataset =
      Range({.stop = 100})
          .Map([](Row row, Rng rng) {
            const Expr x = row["value"] * 2 + 1;
            return Fields{{"x", x}, {"noise", rng.Uniform(0.0, 1.0)}, {"again", x}};
          })
          .Filter([](Row row, Rng) { return row["x"] > 10 && !(row["noise"] < 0.5); })
          .Shuffle({.window = 10, .seed = 7})
          .Batch({.size = 4, .drop_remainder = true});
  EXPECT_EQ(TextOf(dataset),
            "%0 = range#0(stop=100)\n"
            "%1 = map(%0, function={$0 = .value * 2 + 1; x: $0, noise: "
            "uniform#1(0.0, 1.0), again: $0})\n"
            "%2 = filter(%1, predicate={.x > 10 and not .noise < 0.5})\n"
            "%3 = shuffle#2(%2, window=10, seed=7)\n"
            "%4 = batch(%3, size=4, drop_remainder=true)\n");
}

TEST(DatasetBaseTest, ADatasetCanBeContinuedInTwoWays) {
  const Dataset range = Range({.stop = 8});
  EXPECT_EQ(range.Batch({.size = 2}).pipeline()->cardinality().rows(), 4);
  EXPECT_EQ(range.Batch({.size = 4}).pipeline()->cardinality().rows(), 2);
}

TEST(DatasetBaseTest, RandomCallsAreNumberedThroughThePipeline) {
  const auto draw = [](Row row, Rng rng) {
    return Fields{{"value", row["value"]}, {"r", rng.Integers(0, 9)}};
  };
  EXPECT_THAT(
      TextOf(Range({.stop = 8}).Map(draw).Map(draw)),
      ::testing::AllOf(HasSubstr("integers#1(0, 9)"), HasSubstr("integers#2(0, 9)")));
}

TEST(DatasetBaseTest, InputsThatWereBuiltApartAreNumberedApart) {
  const auto drawn = [] {
    return Range({.stop = 3}).Map([](Row row, Rng rng) {
      return Fields{{"value", row["value"] + rng.Integers(0, 9)}};
    });
  };
  const ir::Pipeline one = *drawn().pipeline();
  const ir::Pipeline joined = *drawn().Concat({drawn(), drawn()}).pipeline();
  EXPECT_EQ(joined.NextCallNumber(), 3 * one.NextCallNumber());
  std::set<int64_t> numbers;
  for (const ir::Pipeline& node : joined.Nodes()) numbers.insert(node.call_number());
  EXPECT_EQ(numbers.size(), 4U);  // Three sources, and none for the others.
}

TEST(DatasetBaseTest, AMistakeInAnyInputIsReported) {
  const Dataset wrong = Range({.stop = 3}).Batch({.size = -1});
  EXPECT_THAT(Range({.stop = 3}).Concat({wrong}).pipeline().status().message(),
              HasSubstr("batch"));
}

TEST(DatasetBaseTest, TheFirstMistakeIsTheOneReported) {
  const Dataset wrong = Range({.stop = 8})
                            .Map([](Row row, Rng) {
                              const Expr bad = row["valeu"] + 1;
                              return Fields{{"x", bad}, {"y", row["nothing"]}};
                            })
                            .Batch({.size = 0});
  EXPECT_THAT(wrong.pipeline().status().message(),
              HasSubstr("map: there is no field valeu (did you mean value?)"));
}

TEST(DatasetBaseTest, OptionsThatMustBeGivenAreChecked) {
  EXPECT_THAT(Range({.stop = 8}).Batch({}).pipeline().status().message(),
              HasSubstr("batch: argument size must be at least 1, not 0"));
}

TEST(DatasetBaseTest, EveryOperatorOfExpressionsIsThere) {
  const Dataset dataset = Range({.stop = 8}).Map([](Row row, Rng rng) {
    const Expr v = row["value"];
    return Fields{{"a", -v - 1},
                  {"b", v / 2},
                  {"c", v % 3},
                  {"d", v == 1 || v != 2},
                  {"e", v <= 1 && v >= 0},
                  {"f", ir::Call("maximum", {v, 3})},
                  {"g", rng.Normal(0.0, 1.0)},
                  {"h", ir::Call("to_text", {v}) == "7"}};
  });
  EXPECT_EQ(TextOf(dataset),
            "%0 = range#0(stop=8)\n"
            "%1 = map(%0, function={a: -.value - 1, b: .value / 2, c: .value % 3, "
            "d: .value == 1 or .value != 2, e: .value <= 1 and .value >= 0, "
            "f: maximum(.value, 3), g: normal#1(0.0, 1.0), "
            "h: to_text(.value) == \"7\"})\n");
}

TEST(DatasetBaseTest, RowsCanBeIndexedAndSliced) {
  const Dataset dataset = Range({.stop = 8}).Batch({.size = 4}).Map([](Row row, Rng) {
    return Fields{{"first", row["value"][0]}, {"rest", row["value"].Slice(1, {})}};
  });
  EXPECT_THAT(TextOf(dataset), HasSubstr("first: .value[0], rest: .value[1:]"));
}

TEST(DatasetBaseTest, OptionsBecomePlainData) {
  EXPECT_EQ(ToValue(int64_t{3}), ir::Value(3));
  EXPECT_EQ(ToValue(std::optional<int64_t>()), ir::Value());
  EXPECT_EQ(ToValue(std::optional<int64_t>(4)), ir::Value(4));
  EXPECT_EQ(ToValue(std::vector<std::string>{"a", "b"}), ir::Value(ir::List{"a", "b"}));
}

}  // namespace
}  // namespace millrace::ops
