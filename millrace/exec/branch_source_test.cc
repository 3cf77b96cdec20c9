#include "millrace/exec/branch_source.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_log_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using absl::StatusCode::kUnavailable;
using absl::StatusCode::kUnimplemented;
using base::IsOk;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Turns that each are this pipeline, in lanes of two rows.
std::unique_ptr<BranchSource> Turns(const std::string& text, BranchOptions options) {
  const auto plan_turn = [text](int64_t /*turn*/) -> absl::StatusOr<PassPlan> {
    return *PlanInLanes(text, 2, {.with_ids = true});
  };
  return std::make_unique<BranchSource>(std::move(options), plan_turn);
}

BranchOptions Repeats(std::optional<int64_t> turns) {
  return {.name = "repeat", .turns = turns, .repeats = true};
}

// What is read of each split.
std::vector<Events> SplitsOf(const BranchSource& source) {
  std::vector<Events> splits;
  for (int64_t split = 0; split < std::ssize(source.manifest().splits); ++split) {
    splits.push_back(LogOf(source, split).events);
  }
  return splits;
}

TEST(BranchSourceTest, TheLanesOfItsTurnsAreItsSplits) {
  const auto source = Turns("%0 = range(stop=3)", Repeats(2));
  const lanes::Manifest manifest = *source->List();
  EXPECT_TRUE(manifest.counted());
  EXPECT_EQ(manifest.total_rows(), 6);
  EXPECT_THAT(SplitsOf(*source), ElementsAre(ElementsAre("0", "1"), ElementsAre("2"),
                                             ElementsAre("0", "1"), ElementsAre("2")));
  EXPECT_EQ(source->manifest(), manifest);
}

TEST(BranchSourceTest, SplitsAreNamedByTurnAndLane) {
  const lanes::Manifest manifest = *Turns("%0 = range(stop=3)", Repeats(2))->List();
  EXPECT_THAT(manifest.splits[2].name, HasSubstr("repeat, turn 1, lane 0, "));
  EXPECT_NE(manifest.splits[0].name, manifest.splits[2].name);
  EXPECT_THAT(lanes::Check(manifest), IsOk());
}

// Batches cross lanes, so a turn cannot be cut between them.
TEST(BranchSourceTest, ATurnOfBatchesIsOneSplit) {
  const auto source = Turns("%0 = range(stop=5) %1 = batch(%0, size=3)", Repeats(2));
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_FALSE(source->manifest().counted());
  EXPECT_THAT(SplitsOf(*source),
              ElementsAre(ElementsAre("0,1,2", "3,4"), ElementsAre("0,1,2", "3,4")));
}

TEST(BranchSourceTest, ASplitIsReadFromAnyRowOn) {
  const auto source = Turns("%0 = range(stop=5) %1 = batch(%0, size=2)", Repeats(2));
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_THAT(LogOf(*source, 1, 2).events, ElementsAre("4"));
}

TEST(BranchSourceTest, OnlyTurnsOfARepeatAreOtherRows) {
  for (const bool repeats : {true, false}) {
    const auto source =
        Turns("%0 = range(stop=2)", {.name = "it", .turns = 2, .repeats = repeats});
    ASSERT_THAT(source->List(), IsOk());
    const ReadLog first = LogOf(*source, 0);
    const ReadLog second = LogOf(*source, 1);
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.ids == second.ids, !repeats);
  }
}

TEST(BranchSourceTest, AnEndlessRepeatIsPlannedAsItIsNeeded) {
  const auto source = Turns("%0 = range(stop=3)", Repeats(std::nullopt));
  const lanes::Manifest first = *source->List();
  EXPECT_GE(first.splits.size(), 64U);
  EXPECT_LT(first.splits.size(), 80U);
  ASSERT_THAT(source->Grow(), IsOk());
  const lanes::Manifest grown = source->manifest();
  EXPECT_GE(grown.splits.size(), 2 * first.splits.size());
  for (size_t i = 0; i < first.splits.size(); ++i) {  // What was there stays.
    ASSERT_EQ(grown.splits[i], first.splits[i]);
  }
  EXPECT_THAT(source->GrowToEnd(),
              StatusIs(kUnimplemented, AllOf(HasSubstr("repeat without an end"),
                                             HasSubstr("give it a count"))));
}

TEST(BranchSourceTest, GrowsNoFurtherThanItsTurns) {
  const auto source = Turns("%0 = range(stop=3)", Repeats(50));
  ASSERT_THAT(source->List(), IsOk());
  EXPECT_LT(source->manifest().splits.size(), 100U);
  ASSERT_THAT(source->Grow(), IsOk());
  EXPECT_EQ(source->manifest().splits.size(), 100U);
  ASSERT_THAT(source->Grow(), IsOk());
  ASSERT_THAT(source->GrowToEnd(), IsOk());
  EXPECT_EQ(source->manifest().splits.size(), 100U);
}

TEST(BranchSourceTest, GrowsToItsLastTurn) {
  const auto source = Turns("%0 = range(stop=3)", Repeats(500));
  ASSERT_THAT(source->List(), IsOk());
  ASSERT_THAT(source->GrowToEnd(), IsOk());
  EXPECT_EQ(source->manifest().total_rows(), 1'500);
}

TEST(BranchSourceTest, AllInputsOfAConcatAreLookedAt) {
  const auto source =
      Turns("%0 = range(stop=100)", {.name = "concat", .turns = 3, .repeats = false});
  EXPECT_EQ(source->List()->splits.size(), 150U);
}

TEST(BranchSourceTest, NoTurnsAreNoRows) {
  const auto source = Turns("%0 = range(stop=3)", Repeats(0));
  EXPECT_THAT(source->List()->splits, IsEmpty());
  EXPECT_FALSE(source->waits());
}

// Else a pass would look for its next row for ever.
TEST(BranchSourceTest, AnEndlessRepeatOfNothingEnds) {
  for (const std::string more : {"", "%1 = batch(%0, size=4)",
                                 "%1 = batch(%0, size=4) %2 = shuffle(%1, window=2)"}) {
    const auto source = Turns("%0 = range(stop=0) " + more, Repeats(std::nullopt));
    ASSERT_THAT(source->List(), IsOk());
    const auto splits = source->manifest().splits.size();
    EXPECT_LE(splits, 1U) << more;
    ASSERT_THAT(source->Grow(), IsOk());
    EXPECT_EQ(source->manifest().splits.size(), splits) << more;
    for (const Events& rows : SplitsOf(*source)) EXPECT_THAT(rows, IsEmpty());
  }
}

TEST(BranchSourceTest, ATurnThatCannotBePlannedIsAnError) {
  const auto plan_turn = [](int64_t turn) -> absl::StatusOr<PassPlan> {
    if (turn == 1) return absl::UnavailableError("the bucket is gone");
    return *PlanInLanes("%0 = range(stop=3)", 2);
  };
  BranchSource source(Repeats(2), plan_turn);
  EXPECT_THAT(source.List(), StatusIs(kUnavailable, "the bucket is gone"));
}

TEST(BranchSourceTest, WaitsForFilesOnly) {
  const auto numbers = Turns("%0 = range(stop=3)", Repeats(2));
  ASSERT_THAT(numbers->List(), IsOk());
  EXPECT_FALSE(numbers->waits());
  const storage::TemporaryFolder folder;
  folder.Write("a.txt", "1\n2\n");
  const std::string text =
      base::StrCat("%0 = ", ops::Call("read_text", folder.path() + "/a.txt"),
                   " %1 = repeat(%0, count=2)");
  const auto plan = *PlanPass(AsWritten(text), ops::DefaultLibrary(), {});
  EXPECT_TRUE(plan.source->waits());
}

TEST(BranchSourceTest, TurnsAreToldFromThoseOfRepeatsBefore) {
  EXPECT_EQ(KeyOfTurn(0, 0), 0U);
  EXPECT_EQ(KeyOfTurn(0, 3), 0U);
  EXPECT_NE(KeyOfTurn(1, 0), KeyOfTurn(2, 0));
  EXPECT_NE(KeyOfTurn(1, 0), KeyOfTurn(1, 1));
  EXPECT_EQ(EpochOfTurn(7, 0), 7U);
  EXPECT_NE(EpochOfTurn(7, KeyOfTurn(1, 0)), EpochOfTurn(8, KeyOfTurn(1, 0)));
}

}  // namespace
}  // namespace millrace::exec
