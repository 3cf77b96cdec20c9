#include "millrace/exec/pass_plan.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

TEST(PassPlanTest, WhatMakesOneStreamOfSeveralCannotBeIndexed) {
  const absl::StatusOr<PassPlan> plan =
      PlanPass(AsWritten("%0 = range(stop=9) %1 = filter(%0, predicate={.value > 2}) "
                         "%2 = concat(%1, %0) %3 = take(%2, count=5)"),
               ops::DefaultLibrary(), {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->one_lane_reason,
            "take (%3) goes by a row's place in the pass, and concat (%2) does not "
            "know how many rows it gives");
}

TEST(PassPlanTest, AnEndlessPlanGrowsForAsLongAsItIsAsked) {
  absl::StatusOr<PassPlan> plan = PlanPass(
      AsWritten("%0 = range(stop=9) %1 = repeat(%0)"), ops::DefaultLibrary(), {});
  ASSERT_TRUE(plan.ok());
  for (int i = 0; i < 5; ++i) {
    const int64_t lanes = plan->lanes.size();
    const std::vector<int64_t> rows = plan->joined_rows;
    ASSERT_TRUE(*plan->Grow());
    ASSERT_GT(plan->lanes.size(), lanes);
    ASSERT_EQ(std::ssize(plan->joined_rows), plan->lanes.size());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), plan->joined_rows.begin()));
  }
  EXPECT_EQ(plan->GrowToEnd().code(), absl::StatusCode::kUnimplemented);
}

TEST(PassPlanTest, APlanGrowsToWhatIsTaken) {
  absl::StatusOr<PassPlan> plan = PlanPass(
      AsWritten("%0 = range(stop=9) %1 = repeat(%0) %2 = take(%1, count=2000)"),
      ops::DefaultLibrary(), {});
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(plan->GrowToEnd().ok());
  EXPECT_EQ(std::accumulate(plan->joined_rows.begin(), plan->joined_rows.end(), 0),
            2000);
  EXPECT_FALSE(*plan->Grow());
  EXPECT_EQ(plan->growing, nullptr);
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

// The map leaves two rows in a batch, of which there are four identities.
TEST(PassPlanTest, RowsHaveIdentitiesForErrorsWhereBatchesAreTakenApart) {
  const std::string text =
      "%0 = range(stop=9) %1 = batch(%0, size=4) "
      "%2 = map(%1, function={value: .value[0:2]}) %3 = unbatch(%2)";
  EXPECT_TRUE(HasIds(text));
  EXPECT_EQ(Values<int64_t>(Joined(MustRun(text)), "value"),
            (std::vector<int64_t>{0, 1, 4, 5, 8}));
}

// The map leaves one batch in two, and of that nobody would know the rows.
TEST(PassPlanTest, NotWhereThoseAreBatchesOfBatches) {
  const std::string text =
      "%0 = range(stop=8) %1 = batch(%0, size=2) %2 = batch(%1, size=2) "
      "%3 = map(%2, function={value: .value[0:1]}) %4 = unbatch(%3) %5 = unbatch(%4)";
  EXPECT_FALSE(HasIds(text));
  EXPECT_EQ(Values<int64_t>(Joined(MustRun(text)), "value"),
            (std::vector<int64_t>{0, 1, 4, 5}));
  EXPECT_TRUE(
      HasIds("%0 = range(stop=8) %1 = batch(%0, size=2) %2 = unbatch(%1) "
             "%3 = batch(%2, size=3) %4 = unbatch(%3)"));
}

}  // namespace
}  // namespace millrace::exec
