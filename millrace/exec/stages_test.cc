#include "millrace/exec/stages.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;
using Kind = Stage::Kind;

std::vector<ir::Pipeline> Nodes() {
  return MustParse(R"(
%0 = range(stop=100)
%1 = map(%0, function={x: .value})
%2 = filter(%1, predicate={.x > 3})
%3 = map(%2, function={x: .x + 1})
%4 = shuffle(%3, window=10)
%5 = batch(%4, size=5)
%6 = map(%5, function={x: .x + 1})
)")
      .Nodes();
}

PassPlan Joining(std::vector<ir::Pipeline> nodes, int join = 0) {
  return {.pipeline = {},
          .nodes = std::move(nodes),
          .numbers = {},
          .source = nullptr,
          .manifest = {},
          .cut = {},
          .lanes = lanes::LaneList::Cut({}, {}, base::RandomKey(0, 0, 0)).value(),
          .join = join};
}

TEST(StagesTest, NeighboursOfOneKindAreOneStage) {
  EXPECT_THAT(CutIntoStages(Nodes(), {}),
              ElementsAre(Stage{Kind::kRead, 0, 0}, Stage{Kind::kRowWise, 1, 3},
                          Stage{Kind::kInOrder, 4, 5}, Stage{Kind::kRowWise, 6, 6}));
}

TEST(StagesTest, WhatWritesIsAStageOfItsOwn) {
  const ir::Pipeline written = MustParse(R"(
%0 = range(stop=100)
%1 = shuffle(%0, window=10)
%2 = write_rows(%1, path="saved", name="x")
)");
  EXPECT_THAT(CutIntoStages(written.Nodes(), {}),
              ElementsAre(Stage{Kind::kRead, 0, 0}, Stage{Kind::kInOrder, 1, 1},
                          Stage{Kind::kWrite, 2, 2}));
}

TEST(StagesTest, AStageBeginsAtACut) {
  EXPECT_THAT(CutIntoStages(Nodes(), {5, 3}),
              ElementsAre(Stage{Kind::kRead, 0, 0}, Stage{Kind::kRowWise, 1, 2},
                          Stage{Kind::kRowWise, 3, 3}, Stage{Kind::kInOrder, 4, 4},
                          Stage{Kind::kInOrder, 5, 5}, Stage{Kind::kRowWise, 6, 6}));
}

TEST(StagesTest, RowsCanBeLeftOutBeforeOperatorsThatKeepTheCount) {
  EXPECT_EQ(SkipPlace(Joining(Nodes(), 5)), 5);  // Never before the shuffle.
  EXPECT_EQ(SkipPlace(Joining(Nodes(), 4)), 3);  // Nor before the filter.
  EXPECT_EQ(SkipPlace(Joining(Nodes(), 2)),
            0);  // Before the map there is only the source.
  EXPECT_EQ(SkipPlace(Joining(Nodes(), 1)), 0);
}

TEST(StagesTest, RowsThatMayBeLeftOutAreNotCounted) {
  const std::vector<ir::Pipeline> nodes = MustParse(R"(
%0 = range(stop=100)
%1 = map(%0, function={x: .value})
%2 = map(%1, function={x: 1 // .x})
%3 = batch(%2, size=10)
%4 = ignore_errors(%3)
%5 = map(%4, function={x: 1 // .x})
)")
                                              .Nodes();
  EXPECT_TRUE(GivesOneRowPerRow(Joining(nodes), 1));
  EXPECT_FALSE(GivesOneRowPerRow(Joining(nodes), 2));
  EXPECT_FALSE(GivesOneRowPerRow(Joining(nodes), 4));
  EXPECT_TRUE(GivesOneRowPerRow(Joining(nodes), 5));  // Nobody ignores its errors.
  EXPECT_EQ(SkipPlace(Joining(nodes, 3)), 3);
  EXPECT_EQ(SkipPlace(Joining(nodes, 2)), 0);
}

TEST(StagesTest, NothingIsLeftOutAtASourceThatMayLeaveOutRowsItself) {
  const std::vector<ir::Pipeline> nodes =
      MustParse("%0 = read_text(paths=[\"a\"])\n%1 = ignore_errors(%0)").Nodes();
  EXPECT_EQ(SkipPlace(Joining(nodes, 1)), 1);
}

TEST(StagesTest, RowsMayBeLeftOutBehindAllOperatorsToo) {
  PassPlan plan = Joining(MustParse("%0 = range(stop=100)\n"
                                    "%1 = map(%0, function={x: 1 // .value})")
                              .Nodes(),
                          2);
  EXPECT_EQ(SkipPlace(plan), 0);
  plan.ignored_behind = true;
  EXPECT_EQ(SkipPlace(plan), 2);
}

}  // namespace
}  // namespace millrace::exec
