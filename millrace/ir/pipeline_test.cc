#include "millrace/ir/pipeline.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/text.h"
#include "millrace/ir/toy_catalog_test.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using base::IsOk;
using base::StatusIs;
using core::DType;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kWrong = absl::StatusCode::kInvalidArgument;

absl::StatusOr<Pipeline> Made(std::string_view name, const Arguments& arguments = {},
                              std::vector<Pipeline> inputs = {},
                              int64_t call_number = kNoCallNumber) {
  return Pipeline::Make(TestCatalog(), name, arguments, std::move(inputs), call_number);
}

Pipeline Must(absl::StatusOr<Pipeline> made) {
  CHECK(made.ok()) << made.status();
  return *std::move(made);
}

Pipeline Range(int64_t stop = 10) { return Must(Made("range", {{"stop", stop}})); }

Value Over(const Pipeline& input, std::string_view text) {
  auto expression = ParseExpression(text, input.spec(), TestCatalog());
  CHECK(expression.ok()) << expression.status();
  return Value(std::make_shared<const Expression>(*std::move(expression)));
}

std::vector<std::string> NamesOf(const std::vector<Pipeline>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Pipeline& node : nodes) names.push_back(node.name());
  return names;
}

TEST(PipelineTest, KnowsItsOperatorArgumentsAndInputs) {
  const Pipeline range = Range(7);
  EXPECT_EQ(range.name(), "range");
  EXPECT_EQ(range.schema().name, "range");
  EXPECT_EQ(range.arguments(), (Arguments{{"start", 0}, {"stop", 7}, {"step", 1}}));
  EXPECT_TRUE(range.inputs().empty());
  const Pipeline batch = Must(Made("batch", {{"size", 2}}, {range}));
  ASSERT_EQ(batch.inputs().size(), 1);
  EXPECT_EQ(batch.inputs()[0], range);
}

TEST(PipelineTest, KnowsWhatItsRowsLookLikeAndHowManyThereAre) {
  const Pipeline range = Range(7);
  EXPECT_EQ(range.spec(), core::Spec({{"value", DType::kInt64, {}}}));
  EXPECT_EQ(range.cardinality(), Cardinality::Known(7));
  const Pipeline map =
      Must(Made("map", {{"function", Over(range, "{x: .value / 2}")}}, {range}));
  EXPECT_EQ(map.spec(), core::Spec({{"x", DType::kFloat64, {}}}));
  EXPECT_EQ(map.cardinality(), Cardinality::Known(7));
  const Pipeline batch = Must(Made("batch", {{"size", 2}}, {map}));
  EXPECT_EQ(batch.spec(), core::Spec({{"x", DType::kFloat64, {core::kUnknownSize}}}));
  EXPECT_EQ(batch.cardinality(), Cardinality::Unknown());
}

TEST(PipelineTest, HandlesAreTheSameNode) {
  const Pipeline a = Range();
  const Pipeline b = a;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == Range());
  EXPECT_EQ(a.fingerprint(), Range().fingerprint());
}

TEST(PipelineTest, ListsEachNodeOnceAfterItsInputs) {
  const Pipeline range = Range();
  const Pipeline shuffle = Must(Made("shuffle", {{"window", 2}}, {range}));
  const Pipeline zip = Must(Made("zip", {}, {range, shuffle}));
  const Pipeline top = Must(Made("zip", {}, {zip, range}));
  EXPECT_THAT(NamesOf(top.Nodes()), ElementsAre("range", "shuffle", "zip", "zip"));
  EXPECT_THAT(NamesOf(range.Nodes()), ElementsAre("range"));
}

TEST(PipelineTest, UnknownOperatorsAreNamedWithTheNearest) {
  EXPECT_THAT(Made("rang"),
              StatusIs(kWrong, "there is no operator rang (did you mean range?)"));
}

TEST(PipelineTest, InputsAreCounted) {
  EXPECT_THAT(Made("batch", {{"size", 1}}),
              StatusIs(kWrong, "batch: takes 1 input, not 0"));
  EXPECT_THAT(Made("zip", {}, {Range()}),
              StatusIs(kWrong, "zip: takes 2 inputs, not 1"));
  EXPECT_THAT(Made("range", {{"stop", 1}}, {Range()}),
              StatusIs(kWrong, "range: takes 0 inputs, not 1"));
}

TEST(PipelineTest, ArgumentsAreCheckedAndTheOperatorNamed) {
  EXPECT_THAT(Made("range"),
              StatusIs(kWrong, "range: argument stop is missing: Where to stop."));
  EXPECT_THAT(Made("batch", {{"size", 0}}, {Range()}),
              StatusIs(kWrong, "batch: argument size must be at least 1, not 0"));
  EXPECT_THAT(Made("batch", {{"size", "2"}}, {Range()}),
              StatusIs(kWrong, "batch: argument size must be an integer, not a text"));
  EXPECT_THAT(Made("shuffle", {{"window", 2}, {"sed", 1}}, {Range()}),
              StatusIs(kWrong, HasSubstr("shuffle: there is no argument sed (did you "
                                         "mean seed?)")));
  EXPECT_THAT(Made("range", {{"stop", 1}, {"step", 0}}),
              StatusIs(kWrong, "range: argument step must not be 0"));
}

TEST(PipelineTest, FunctionsMustFitTheirInput) {
  const Pipeline range = Range();
  const Pipeline rows = Must(Made("rows"));
  const Value of_rows = Over(rows, "{x: .a}");
  EXPECT_THAT(Made("map", {{"function", of_rows}}, {range}),
              StatusIs(kWrong, AllOf(HasSubstr("map: the function reads the field a as "
                                               "int64"),
                                     HasSubstr("{value: int64}"))));
  const Pipeline floats =
      Must(Made("map", {{"function", Over(rows, "{a: .x}")}}, {rows}));
  EXPECT_THAT(Made("map", {{"function", of_rows}}, {floats}), Not(IsOk()));
}

TEST(PipelineTest, AFunctionOfLooserTypesFitsStricterRows) {
  const core::Spec loose({{"image", DType::kUint8, core::Shape::Unranked()}});
  auto expression = ParseExpression("{x: .image}", loose, TestCatalog());
  ASSERT_THAT(expression, IsOk());
  const Value function(std::make_shared<const Expression>(*std::move(expression)));
  EXPECT_THAT(Made("map", {{"function", function}}, {Must(Made("rows"))}), IsOk());
}

TEST(PipelineTest, PredicatesGiveOneBool) {
  const Pipeline rows = Must(Made("rows"));
  EXPECT_THAT(Made("filter", {{"predicate", Over(rows, "{.flag}")}}, {rows}), IsOk());
  EXPECT_THAT(
      Made("filter", {{"predicate", Over(rows, "{.a}")}}, {rows}),
      StatusIs(kWrong, "filter: argument predicate must give one bool, not int64"));
  EXPECT_THAT(Made("filter", {{"predicate", Over(rows, "{x: .flag}")}}, {rows}),
              StatusIs(kWrong, HasSubstr("must give one value without a name")));
}

TEST(PipelineTest, SourcesAndShufflesAreNumberedInOrder) {
  const Pipeline range = Range();
  EXPECT_EQ(range.call_number(), 0);
  const Pipeline shuffle = Must(Made("shuffle", {{"window", 2}}, {range}));
  EXPECT_EQ(shuffle.call_number(), 1);
  const Pipeline batch = Must(Made("batch", {{"size", 2}}, {shuffle}));
  EXPECT_EQ(batch.call_number(), kNoCallNumber);
  EXPECT_EQ(batch.NextCallNumber(), 2);
  const Pipeline again = Must(Made("shuffle", {{"window", 2}}, {batch}));
  EXPECT_EQ(again.call_number(), 2);
}

TEST(PipelineTest, NumbersInFunctionsCount) {
  const Pipeline range = Range();
  const Pipeline map =
      Must(Made("map", {{"function", Over(range, "{x: uniform#41(0, 1)}")}}, {range}));
  EXPECT_EQ(map.NextCallNumber(), 42);
  EXPECT_EQ(Must(Made("shuffle", {{"window", 2}}, {map})).call_number(), 42);
}

TEST(PipelineTest, ANumberThatIsGivenIsKept) {
  const Pipeline range = Must(Made("range", {{"stop", 1}}, {}, 9));
  EXPECT_EQ(range.call_number(), 9);
  EXPECT_EQ(range.NextCallNumber(), 10);
  EXPECT_EQ(Must(Made("shuffle", {{"window", 2}}, {range}, 3)).call_number(), 3);
}

TEST(PipelineTest, NumbersAreBounded) {
  const int64_t last = kCallNumberMax - 1;
  const Pipeline range = Must(Made("range", {{"stop", 1}}, {}, last));
  for (const int64_t wrong : {kCallNumberMax, int64_t{-2}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(Made("range", {{"stop", 1}}, {}, wrong),
                StatusIs(kWrong, "range: call numbers go from 0 to 65535"));
  }
  // The next one, too.
  EXPECT_THAT(Made("shuffle", {{"window", 2}}, {range}),
              StatusIs(kWrong, "shuffle: call numbers go from 0 to 65535"));
  EXPECT_THAT(Made("batch", {{"size", 2}}, {range}), IsOk());
}

TEST(PipelineTest, OtherOperatorsHaveNoNumber) {
  EXPECT_THAT(
      Made("batch", {{"size", 2}}, {Range()}, 1),
      StatusIs(kWrong, "batch: only sources and random operators are numbered"));
}

TEST(PipelineTest, KnowsWhetherAnythingInItDraws) {
  const Pipeline range = Range();
  EXPECT_FALSE(range.IsRandom());
  EXPECT_FALSE(Must(Made("batch", {{"size", 2}}, {range})).IsRandom());
  const Pipeline shuffle = Must(Made("shuffle", {{"window", 2}}, {range}));
  EXPECT_TRUE(shuffle.IsRandom());
  EXPECT_TRUE(Must(Made("batch", {{"size", 2}}, {shuffle})).IsRandom());
  const Pipeline map =
      Must(Made("map", {{"function", Over(range, "{x: uniform(0, 1)}")}}, {range}));
  EXPECT_TRUE(map.IsRandom());
  EXPECT_TRUE(Must(Made("zip", {}, {range, map})).IsRandom());
}

// `count` operators in a row.
absl::StatusOr<Pipeline> Chain(int64_t count) {
  absl::StatusOr<Pipeline> pipeline = Made("range", {{"stop", 10}});
  for (int64_t i = 1; i < count && pipeline.ok(); ++i) {
    pipeline = Made("shuffle", {{"window", 2}}, {*std::move(pipeline)});
  }
  return pipeline;
}

TEST(PipelineTest, TheLongestPipelineIsMadeUsedAndDestroyed) {
  absl::StatusOr<Pipeline> longest = Chain(kNodesMax);
  ASSERT_THAT(longest, IsOk());
  EXPECT_EQ(longest->Nodes().size(), static_cast<size_t>(kNodesMax));
  EXPECT_EQ(RowFingerprint(*longest), longest->fingerprint());
  EXPECT_THAT(Made("batch", {{"size", 1}}, {*longest}),
              StatusIs(kWrong, "batch: pipeline has more than 2000 operators"));
  longest = absl::CancelledError();  // All two thousand nodes go, one inside the other.
}

TEST(PipelineTest, SharedNodesCountOnce) {
  Pipeline both = Range();
  for (int i = 0; i < 100; ++i) both = Must(Made("zip", {}, {both, both}));
  EXPECT_EQ(both.Nodes().size(), 101);
  EXPECT_THAT(Made("zip", {}, {Must(Chain(1000)), Must(Chain(1000))}),
              StatusIs(kWrong, HasSubstr("more than 2000 operators")));
  const Pipeline shared = Must(Chain(1500));
  EXPECT_THAT(Made("zip", {}, {Must(Made("batch", {{"size", 1}}, {shared})), shared}),
              IsOk());
}

TEST(PipelineTest, AxesAreCounted) {
  Pipeline batches = Range();
  for (int i = 0; i < kRankMax; ++i) {
    batches = Must(Made("batch", {{"size", 1}}, {batches}));
  }
  EXPECT_THAT(Made("batch", {{"size", 1}}, {batches}),
              StatusIs(kWrong, "batch: the field value has 33 axes, more than 32"));
}

TEST(PipelineTest, FieldsAreCounted) {
  Catalog catalog = MakeTestCatalog();
  catalog.Add(OperatorSchema{
      .name = "wide",
      .doc = "",
      .inputs = 0,
      .arguments = {{.name = "fields", .doc = ""}},
      .traits = {.source = true},
      .infer = [](const OperatorTypes& types) -> absl::StatusOr<core::Spec> {
        const auto count = static_cast<size_t>(types.arguments["fields"].As<int64_t>());
        return core::Spec(std::vector<core::FieldSpec>(count));
      },
      .cardinality =
          [](const Arguments&, absl::Span<const Cardinality>) {
            return Cardinality::Unknown();
          }});
  EXPECT_THAT(Pipeline::Make(catalog, "wide", {{"fields", 4096}}, {}), IsOk());
  EXPECT_THAT(Pipeline::Make(catalog, "wide", {{"fields", 4097}}, {}),
              StatusIs(kWrong, "wide: rows have 4097 fields, more than 4096"));
}

TEST(PipelineTest, ArgumentsThatTheDataTellsAreFilledInAndPrinted) {
  Catalog catalog = MakeTestCatalog();
  int asked = 0;
  catalog.Add(OperatorSchema{
      .name = "told",
      .doc = "",
      .inputs = 0,
      .arguments = {{.name = "fields",
                     .doc = "",
                     .default_value = Value(),
                     .none_allowed = true}},
      .traits = {.source = true},
      .complete = [&](Arguments arguments) -> absl::StatusOr<Arguments> {
        if (!arguments["fields"].is_none()) return arguments;
        if (++asked > 1) return absl::NotFoundError("the data is gone");
        arguments.Set("fields", 2);
        return arguments;
      },
      .infer = [](const OperatorTypes& types) -> absl::StatusOr<core::Spec> {
        const auto count = static_cast<size_t>(types.arguments["fields"].As<int64_t>());
        return core::Spec(std::vector<core::FieldSpec>(count));
      },
      .cardinality =
          [](const Arguments&, absl::Span<const Cardinality>) {
            return Cardinality::Unknown();
          }});
  const Pipeline made = Must(Pipeline::Make(catalog, "told", {}, {}));
  EXPECT_EQ(made.spec().fields().size(), 2);
  EXPECT_EQ(made.arguments()["fields"], Value(2));
  EXPECT_THAT(Pipeline::Make(catalog, "told", made.arguments(), {}), IsOk());
  EXPECT_THAT(Pipeline::Make(catalog, "told", {}, {}),
              StatusIs(absl::StatusCode::kNotFound, "told: the data is gone"));
}

}  // namespace
}  // namespace millrace::ir
