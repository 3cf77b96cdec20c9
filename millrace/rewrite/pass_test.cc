#include "millrace/rewrite/pass.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::rewrite {
namespace {

using ::testing::ElementsAre;

ir::Pipeline Parsed(const std::string& text) {
  return *ir::Parse(text, {}, ops::DefaultLibrary().catalog());
}

TEST(PassTest, RebuildVisitsInputsFirst) {
  std::vector<std::string> visited;
  const ir::Pipeline pipeline =
      Parsed("%0 = range(stop=4) %1 = shuffle(%0, window=2) %2 = batch(%1, size=2)");
  const ir::Pipeline rebuilt = *RebuildAll(
      pipeline,
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
        visited.push_back(node.name());
        return WithInputs(node, inputs, ops::DefaultLibrary().catalog());
      });
  EXPECT_THAT(visited, ElementsAre("range", "shuffle", "batch"));
  EXPECT_EQ(rebuilt, pipeline);
}

TEST(PassTest, ANodeIsMadeAnewOnlyBehindOtherInputs) {
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const ir::Pipeline node = Parsed("%0 = range(stop=4) %1 = shuffle#5(%0, window=2)");
  EXPECT_EQ(*WithInputs(node, {node.inputs()[0]}, catalog), node);
  const ir::Pipeline other = *WithInputs(node, {Parsed("%0 = range(stop=9)")}, catalog);
  EXPECT_NE(other, node);
  EXPECT_EQ(other.call_number(), 5);
  EXPECT_EQ(other.cardinality().rows(), 9);
}

TEST(PassTest, AnErrorOfTheRebuilderComesOut) {
  const auto fail = [](const ir::Pipeline&, const std::vector<ir::Pipeline>&)
      -> absl::StatusOr<ir::Pipeline> { return absl::InternalError("no"); };
  EXPECT_THAT(RebuildAll(Parsed("%0 = range(stop=4)"), fail).status(),
              base::StatusIs(absl::StatusCode::kInternal, "no"));
}

TEST(PassTest, FindsTheFunctionOfAMap) {
  const ir::Pipeline map = Parsed("%0 = range(stop=4) %1 = map(%0, function={x: 1})");
  EXPECT_EQ(MapFunction(map).results()[0].name, "x");
}

TEST(PassTest, FindsTheConditionOfAFilter) {
  const ir::Pipeline filter =
      Parsed("%0 = range(stop=4) %1 = filter(%0, predicate={.value > 3})");
  EXPECT_THAT(FilterCondition(filter).FieldsRead(), ElementsAre("value"));
}

TEST(PassTest, FindsTheFunctionOfAnyOperatorThatHasOne) {
  const ir::Pipeline filter =
      Parsed("%0 = range(stop=4) %1 = filter(%0, predicate={.value > 3})");
  EXPECT_EQ(FunctionOf(filter)->name, "predicate");
  EXPECT_EQ(*FunctionOf(filter)->function, FilterCondition(filter));
  EXPECT_FALSE(FunctionOf(filter.inputs()[0]).has_value());
}

TEST(PassTest, AnOperatorWithAnotherFunctionIsElseTheSame) {
  const ir::Pipeline before =
      Parsed("%0 = range(stop=4) %1 = filter(%0, predicate={.value > 3}, seed=7)");
  const ir::Pipeline other =
      Parsed("%0 = range(stop=4) %1 = filter(%0, predicate={.value < 3})");
  const ir::Pipeline after =
      *WithFunction(before, FilterCondition(other), ops::DefaultLibrary().catalog());
  EXPECT_EQ(FilterCondition(after), FilterCondition(other));
  EXPECT_EQ(after.arguments()["seed"], ir::Value(7));
  EXPECT_EQ(after.inputs()[0], before.inputs()[0]);
}

}  // namespace
}  // namespace millrace::rewrite
