#include "millrace/exec/pass_plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

using ::testing::StartsWith;

lanes::CutFacts FactsOf(std::string_view text) {
  return CutFactsOf(MustParse(text).Nodes(), true);
}

TEST(PassPlanTest, KnowsRowsPerBatchThroughAllBatching) {
  const lanes::CutFacts facts =
      FactsOf("%0 = range(stop=9) %1 = batch(%0, size=4) %2 = batch(%1, size=8)");
  EXPECT_EQ(facts.batch_rows, 32);
  EXPECT_FALSE(facts.counts_change);
  EXPECT_FALSE(facts.shuffled);
}

TEST(PassPlanTest, CountsAShuffleWindowInRowsOfTheSource) {
  const lanes::CutFacts facts = FactsOf(
      "%0 = range(stop=9) %1 = shuffle(%0, window=100) %2 = batch(%1, size=8) "
      "%3 = shuffle(%2, window=20)");
  EXPECT_TRUE(facts.shuffled);
  EXPECT_EQ(facts.shuffle_window, 160);
}

TEST(PassPlanTest, KnowsThatAFilterChangesCounts) {
  EXPECT_TRUE(
      FactsOf("%0 = range(stop=9) %1 = filter(%0, predicate={true})").counts_change);
}

TEST(PassPlanTest, SaysWhichOperatorMakesItOneLane) {
  const std::string filtered =
      "%0 = range(stop=9) %1 = filter(%0, predicate={.value > 2}) ";
  EXPECT_EQ(FactsOf(filtered).one_lane_reason, "");
  EXPECT_THAT(FactsOf(filtered + "%2 = skip(%1, count=3)").one_lane_reason,
              StartsWith("skip (%2) goes by a row's place"));
  const std::string batched = "%0 = range(stop=9) %1 = batch(%0, size=2) ";
  EXPECT_EQ(FactsOf(batched).one_lane_reason, "");
  EXPECT_THAT(FactsOf(batched + "%2 = shuffle(%1, window=3)").one_lane_reason,
              StartsWith("shuffle (%2) looks at more than one batch"));
}

TEST(PassPlanTest, ASourceThatIsNotCountedHasNoPlaces) {
  const std::vector<ir::Pipeline> nodes =
      MustParse("%0 = range(stop=9) %1 = take(%0, count=3)").Nodes();
  EXPECT_EQ(CutFactsOf(nodes, true).one_lane_reason, "");
  EXPECT_THAT(CutFactsOf(nodes, false).one_lane_reason,
              StartsWith("take (%1) goes by a row's place in the pass, and range (%0) "
                         "does not know its rows"));
}

TEST(PassPlanTest, AnOperatorThatLooksAtAllRowsMakesItOneLane) {
  const ir::Catalog& known = ops::DefaultLibrary().catalog();
  ir::OperatorSchema scan = **known.FindOperator("map");
  scan.name = "scan";
  scan.traits = {.across_lanes = true};
  ir::Catalog catalog;
  catalog.Add(**known.FindOperator("range"));
  catalog.Add(std::move(scan));
  const ir::Pipeline pipeline =
      *ir::Parse("%0 = range(stop=9) %1 = scan(%0, function={x: 1})", {}, catalog);
  EXPECT_EQ(CutFactsOf(pipeline.Nodes(), true).one_lane_reason,
            "scan (%1) looks at the rows of all lanes");
}

TEST(PassPlanTest, AbsurdSizesAreAnErrorNotAWrap) {
  const std::string text =
      "%0 = range(stop=9) %1 = batch(%0, size=1099511627776) "
      "%2 = batch(%1, size=1099511627776)";
  const absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten(text), ops::DefaultLibrary(), {});
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PassPlanTest, LanesEndOnMultiplesOfTheBatchWhereCountsAreKnown) {
  const absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten("%0 = range(stop=100000) %1 = shuffle(%0, window=10) "
                         "%2 = batch(%1, size=48)"),
               ops::DefaultLibrary(), {});
  ASSERT_TRUE(plan.ok());
  ASSERT_GT(plan->lanes.size(), 10);
  int64_t rows = 0;
  for (int64_t lane = 0; lane < plan->lanes.size(); ++lane) {
    rows += plan->lanes.lane_rows()[lane];
    const bool is_last = lane + 1 == plan->lanes.size();
    EXPECT_TRUE(is_last || rows % 48 == 0) << lane;
  }
  EXPECT_EQ(rows, 100'000);
  EXPECT_EQ(plan->last_batching, 2);
}

TEST(PassPlanTest, ARewriteNeverMovesALane) {
  // Without its filter this pipeline would be cut otherwise, on multiples of the batch.
  const rewrite::Rewritten written = AsWritten(
      "%0 = range(stop=1000) %1 = filter(%0, predicate={true}) "
      "%2 = shuffle(%1, window=85) %3 = batch(%2, size=35)");
  const rewrite::Rewritten rewritten =
      *rewrite::Rewrite(written.before, ops::DefaultLibrary().catalog());
  ASSERT_EQ(rewritten.after.Nodes().size(), 3U);
  const PassPlan plain = *PlanPass(written, ops::DefaultLibrary(), {});
  const PassPlan plan = *PlanPass(rewritten, ops::DefaultLibrary(), {});
  const PassPlan otherwise =
      *PlanPass(rewrite::Unchanged(rewritten.after), ops::DefaultLibrary(), {});
  ASSERT_NE(otherwise.cut, plain.cut);
  EXPECT_EQ(plan.cut, plain.cut);
  ASSERT_EQ(plan.lanes.size(), plain.lanes.size());
  for (int64_t lane = 0; lane < plan.lanes.size(); ++lane) {
    EXPECT_EQ(plan.lanes.ContentHash(lane), plain.lanes.ContentHash(lane)) << lane;
  }
}

TEST(PassPlanTest, ChunksArePermutedWithTheFirstShufflesSeedAndNumber) {
  const auto nodes = MustParse(
                         "%0 = range(stop=9) %1 = shuffle#3(%0, window=10, seed=7) "
                         "%2 = shuffle#4(%1, window=10, seed=8)")
                         .Nodes();
  EXPECT_EQ(ChunkKeyOf(nodes, 1, 2), base::RandomKey(7, 2, 3));
}

TEST(PassPlanTest, WithoutABatchThereIsNoLastBatching) {
  const absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten("%0 = range(stop=10)"), ops::DefaultLibrary(), {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->last_batching, -1);
}

TEST(PassPlanTest, WhereRowsMayBeLeftOutCountsAreNotKnown) {
  const std::string fails =
      "%0 = range(stop=9000) %1 = map(%0, function={x: 1 // .value}) "
      "%2 = enumerate(%1)";
  EXPECT_FALSE(FactsOf(fails).counts_change);
  EXPECT_TRUE(FactsOf(fails).one_lane_reason.empty());
  const std::string ignored = base::StrCat(fails, " %3 = ignore_errors(%2)");
  EXPECT_TRUE(FactsOf(ignored).counts_change);
  EXPECT_FALSE(FactsOf(ignored).one_lane_reason.empty());
  // Nothing before the numbers can fail: they are known.
  EXPECT_EQ(FactsOf("%0 = range(stop=9000) %1 = enumerate(%0) "
                    "%2 = map(%1, function={x: 1 // .value}) %3 = ignore_errors(%2)")
                .one_lane_reason,
            "");
}

TEST(PassPlanTest, TheRowsOfALaneAreNotKnownWhereSomeMayBeLeftOut) {
  const auto joined_rows = [](const std::string& text) {
    return PlanPass(AsWritten(text), ops::DefaultLibrary(), {})->joined_rows;
  };
  const std::string fails =
      "%0 = range(stop=10) %1 = map(%0, function={x: 1 // .value}) "
      "%2 = batch(%1, size=100)";
  EXPECT_THAT(joined_rows(fails), testing::ElementsAre(10));
  EXPECT_THAT(joined_rows(base::StrCat(fails, " %3 = ignore_errors(%2)")),
              testing::ElementsAre(lanes::kRowsMax));
}

bool HasIds(const std::string& text) {
  return PlanPass(AsWritten(text), ops::DefaultLibrary(), {})->with_ids;
}

TEST(PassPlanTest, RowsHaveIdentitiesWhereAnErrorWouldNameThem) {
  EXPECT_TRUE(HasIds("%0 = range(stop=9) %1 = map(%0, function={x: 1 // .value})"));
  EXPECT_TRUE(
      HasIds("%0 = range(stop=9) %1 = filter(%0, predicate={1 // .value > 0})"));
  EXPECT_FALSE(
      HasIds("%0 = range(stop=9) %1 = map(%0, function={x: .value * 2 + 1}) "
             "%2 = filter(%1, predicate={.x % 3 != 0}) %3 = batch(%2, size=4)"));
}

// The map leaves two rows in a batch, of which there would be four identities.
TEST(PassPlanTest, RowsHaveNoIdentitiesForErrorsWhereBatchesAreTakenApart) {
  const std::string text =
      "%0 = range(stop=9) %1 = batch(%0, size=4) "
      "%2 = map(%1, function={value: .value[0:2]}) %3 = unbatch(%2)";
  EXPECT_FALSE(HasIds(text));
  EXPECT_EQ(Values<int64_t>(Joined(MustRun(text)), "value"),
            (std::vector<int64_t>{0, 1, 4, 5, 8}));
}

}  // namespace
}  // namespace millrace::exec
