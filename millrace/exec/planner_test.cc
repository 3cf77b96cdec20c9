// What planning writes down of sources and caches, and goes on from.

#include <algorithm>
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

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/listing.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;
using testing::SizeIs;

absl::StatusOr<PassPlan> TryPlan(const std::string& text,
                                 const PassOptions& options = {}) {
  return PlanPass(AsWritten(text), ops::DefaultLibrary(), options);
}

PassPlan Planned(const std::string& text, const PassOptions& options = {}) {
  absl::StatusOr<PassPlan> plan = TryPlan(text, options);
  CHECK(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(PlannerTest, EachSourceAndCacheIsCutOnce) {
  const std::string range = "%0 = range(stop=5000)\n";
  EXPECT_THAT(Planned(range).cuts, SizeIs(1));
  EXPECT_THAT(Planned(range + "%1 = batch(%0, size=4)\n").cuts, SizeIs(1));
  EXPECT_THAT(Planned(range + "%1 = cache(%0)\n").cuts, SizeIs(2));
  EXPECT_THAT(Planned(range + "%1 = cache(%0)\n%2 = cache(%1)\n").cuts, SizeIs(3));
  EXPECT_THAT(Planned(range + "%1 = range(stop=7)\n%2 = concat(%0, %1)\n").cuts,
              SizeIs(2));
  // What stands behind two sources may do the same.
  EXPECT_THAT(Planned(range + "%1 = skip(%0, count=1)\n%2 = range(stop=5000)\n"
                              "%3 = skip(%2, count=1)\n%4 = concat(%1, %3)\n")
                  .cuts,
              SizeIs(2));
  // Read twice in the same way: cut once.
  EXPECT_THAT(Planned(range + "%1 = concat(%0, %0)\n").cuts, SizeIs(1));
}

TEST(PlannerTest, ASourceReadBeforeACacheAndNotIsCutTwice) {
  const PassPlan plan = Planned(
      "%0 = range(stop=50000)\n%1 = cache(%0)\n%2 = concat(%1, %0)\n"
      "%3 = shuffle(%2, window=5000)\n");
  ASSERT_THAT(plan.cuts, SizeIs(3));  // Of the range first, then of the cache.
  EXPECT_FALSE(plan.cuts[0].by_chunk);
  EXPECT_TRUE(plan.cuts[1].by_chunk);  // Before the cache.
}

TEST(PlannerTest, LanesBeforeACacheAreChunksWhateverStandsBehind) {
  const std::string cached =
      "%0 = range(stop=50000)\n%1 = map(%0, function={x: .value})\n%2 = cache(%1)\n";
  const lanes::CutRecord cut = Planned(cached).cuts[0];
  EXPECT_TRUE(cut.by_chunk);
  for (const std::string behind :
       {"%3 = batch(%2, size=1000)\n", "%3 = shuffle(%2, window=9000)\n",
        "%3 = take(%2, count=3)\n", "%3 = repeat(%2, count=2)\n"}) {
    EXPECT_EQ(Planned(cached + behind).cuts[0], cut) << behind;
  }
}

TEST(PlannerTest, BatchesBeforeACacheAreCutAsWithoutIt) {
  const std::string batches = "%0 = range(stop=50000)\n%1 = batch(%0, size=16)\n";
  const PassPlan plan = Planned(batches + "%2 = cache(%1)\n");
  EXPECT_FALSE(plan.cuts[0].by_chunk);
  EXPECT_EQ(plan.cuts[0], Planned(batches).cuts[0]);
}

TEST(PlannerTest, WhatIsNeverReadHasItsPlaceInTheRecord) {
  const PassPlan plan = Planned(
      "%0 = range(stop=50)\n%1 = repeat(%0, count=0)\n%2 = range(stop=7)\n"
      "%3 = concat(%1, %2)\n");
  ASSERT_THAT(plan.cuts, SizeIs(2));
  EXPECT_EQ(plan.cuts[1], Planned("%0 = range(stop=7)\n").cuts[0]);
}

TEST(PlannerTest, ARecordedCutIsTaken) {
  const std::string text =
      "%0 = range(stop=50000)\n%1 = cache(%0)\n%2 = batch(%1, size=8)\n";
  const PassPlan plan = Planned(text);
  EXPECT_EQ(Planned(text, {.cuts = plan.cuts}).cuts, plan.cuts);
  std::vector<lanes::CutRecord> finer = plan.cuts;
  finer[0].chunk.rows = 100;
  const PassPlan other = Planned(text, {.cuts = finer});
  EXPECT_EQ(other.cuts, finer);
  EXPECT_EQ(other.manifest.splits.size(), 500);
  EXPECT_NE(plan.manifest.splits.size(), 500);
}

TEST(PlannerTest, AStateOfFewerSourcesIsAnotherPipelines) {
  const std::string text =
      "%0 = range(stop=500)\n%1 = cache(%0)\n%2 = concat(%1, %0)\n";
  std::vector<lanes::CutRecord> cuts = Planned(text).cuts;
  cuts.pop_back();
  EXPECT_THAT(TryPlan(text, {.cuts = cuts}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the state has 2 sources")));
}

TEST(PlannerTest, TheHashOfTheDataCountsEverySource) {
  const auto hash = [](int first, int second) {
    return Planned(base::StrCat("%0 = range(stop=", first, ")\n%1 = range(stop=",
                                second, ")\n%2 = cache(%0)\n%3 = concat(%2, %1)\n"))
        .manifest_hash;
  };
  EXPECT_EQ(hash(100, 200), hash(100, 200));
  EXPECT_NE(hash(100, 200), hash(101, 200));
  EXPECT_NE(hash(100, 200), hash(100, 201));
  EXPECT_NE(hash(100, 200), hash(200, 100));
}

TEST(PlannerTest, AnEndlessPassCannotBeKept) {
  EXPECT_THAT(TryPlan("%0 = range(stop=5)\n%1 = repeat(%0)\n%2 = cache(%1)\n"),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// Rows of a field through batches, from a state on; `batches` of them at most.
struct Part {
  std::vector<int64_t> rows;
  lanes::State state;
};

Part RunPart(Engine& engine, const std::string& text,
             const std::optional<lanes::State>& from, int batches) {
  const std::unique_ptr<Iterator> pass =
      engine.Open(AsWritten(text), ops::DefaultLibrary(), {}, from).value();
  Part part;
  for (int i = 0; i < batches; ++i) {
    const std::optional<core::Block> block = pass->Next().value();
    if (!block) break;
    const std::vector<int64_t> more = Values<int64_t>(*block->Unstack(), "x");
    part.rows.insert(part.rows.end(), more.begin(), more.end());
  }
  part.state = pass->state();
  return part;
}

class PlannedCache {
 public:
  std::string Text(int size, const std::string& cache) const {
    return base::StrCat(
        "%0 = range(stop=3000)\n%1 = map(%0, function={x: .value})\n%2 = ", cache,
        "\n%3 = shuffle(%2, window=50)\n%4 = batch(%3, size=", size, ")\n");
  }

  std::string InFiles() const {
    return base::StrCat("cache(%1, path=\"", folder_ / "here", "\")");
  }

 private:
  const storage::TemporaryFolder folder_;
};

TEST(PlannerTest, GoesOnBehindACacheWithAnotherBatchSize) {
  const PlannedCache planned;
  for (const int first : {0, 1, 13, 200}) {
    Engine engine({.threads = 2});
    std::vector<int64_t> whole =
        RunPart(engine, planned.Text(7, "cache(%1)"), std::nullopt, 1 << 20).rows;
    const Part begun =
        RunPart(engine, planned.Text(7, "cache(%1)"), std::nullopt, first);
    const Part rest =
        RunPart(engine, planned.Text(16, "cache(%1)"), begun.state, 1 << 20);
    std::vector<int64_t> rows = begun.rows;
    rows.insert(rows.end(), rest.rows.begin(), rest.rows.end());
    EXPECT_EQ(begun.rows.size(), 7 * first);
    EXPECT_TRUE(std::equal(begun.rows.begin(), begun.rows.end(), whole.begin()));
    std::ranges::sort(rows);
    std::ranges::sort(whole);
    EXPECT_EQ(rows, whole) << first;  // Each once.
  }
}

TEST(PlannerTest, GoesOnWhereRowsAreKeptElsewhere) {
  const PlannedCache planned;
  Engine engine({.threads = 2});
  const std::vector<int64_t> whole =
      RunPart(engine, planned.Text(7, "cache(%1)"), std::nullopt, 1 << 20).rows;
  Part part = RunPart(engine, planned.Text(7, "cache(%1)"), std::nullopt, 100);
  Engine other({.threads = 2});
  const Part rest =
      RunPart(other, planned.Text(7, planned.InFiles()), part.state, 1 << 20);
  part.rows.insert(part.rows.end(), rest.rows.begin(), rest.rows.end());
  EXPECT_EQ(part.rows, whole);
}

TEST(PlannerTest, AStateOfOtherRowsBeforeTheCacheIsRefused) {
  Engine engine({.threads = 1});
  const PlannedCache planned;
  const std::string text = planned.Text(7, "cache(%1)");
  const lanes::State state = RunPart(engine, text, std::nullopt, 3).state;
  std::string other = text;
  other.replace(other.find("3000"), 4, "2999");
  EXPECT_THAT(engine.Open(AsWritten(other), ops::DefaultLibrary(), {}, state).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(PlannerTest, ACutOfManyLanesIsNotTakenForWhatGoesByPlaces) {
  const std::string filtered =
      "%0 = range(stop=10000)\n%1 = filter(%0, predicate={.value > 2})\n";
  const PassPlan plan = Planned(filtered);
  ASSERT_GT(plan.lanes.size(), 1);
  EXPECT_THAT(TryPlan(filtered + "%2 = skip(%1, count=3)\n", {.cuts = plan.cuts}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("this pass can only be one lane: skip (%2) goes by")));
}

// A folder of text files, some of them with an index.
std::string ReadText(const storage::TemporaryFolder& folder) {
  return base::StrCat("%0 = read_text(paths=[\"", folder.path(), "/*.txt\"])\n",
                      "%1 = shuffle(%0, window=3)\n%2 = batch(%1, size=2)\n");
}

TEST(PlannerTest, APassIsPlannedFromAListingMadeBefore) {
  for (const std::string text :
       {"%0 = range(stop=50000)\n%1 = shuffle(%0, window=900)\n",
        "%0 = range(stop=50000)\n%1 = cache(%0)\n%2 = concat(%1, %0)\n",
        "%0 = range(stop=500)\n%1 = repeat(%0, count=0)\n%2 = concat(%0, %1)\n",
        "%0 = range(stop=500)\n%1 = range(stop=7)\n%2 = concat(%0, %1)\n"}) {
    const PassPlan plan = Planned(text);
    EXPECT_EQ(plan.manifest_hash, lanes::ContentHash(plan.listing)) << text;
    const PassPlan again = Planned(text, {.cuts = plan.cuts, .listing = plan.listing});
    EXPECT_EQ(again.manifest_hash, plan.manifest_hash) << text;
    EXPECT_EQ(again.lanes.lane_rows(), plan.lanes.lane_rows()) << text;
    EXPECT_EQ(again.listing, plan.listing) << text;
  }
}

// Files that came since are nobody's; those that went are found out when they are read.
TEST(PlannerTest, WhatWasListedIsNotListedAgain) {
  const storage::TemporaryFolder folder;
  folder.Write("a.txt", "1\n2\n3\n");
  folder.Write("b.txt", "4\n5\n");
  const PassPlan plan = Planned(ReadText(folder));
  folder.Write("c.txt", "6\n");
  const PassOptions options = {.cuts = plan.cuts, .listing = plan.listing};
  EXPECT_EQ(Planned(ReadText(folder), options).manifest_hash, plan.manifest_hash);
  EXPECT_NE(Planned(ReadText(folder)).manifest_hash, plan.manifest_hash);
  EXPECT_EQ(Joined(*RunAll(AsWritten(ReadText(folder)), options), 1).rows(), 5);
  folder.Write("b.txt", "4\n5\n7\n");
  EXPECT_THAT(RunAll(AsWritten(ReadText(folder)), options).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("b.txt")));
}

// An index that appears later is no reason to cut otherwise.
TEST(PlannerTest, RowsThatWereNotCountedStayUncounted) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "1\n2\n3\n");
  const PassPlan plan = Planned(ReadText(folder));
  EXPECT_FALSE(plan.cut.counted);
  ops::AddIndex(path, storage::RowFormat::kLines);
  const PassOptions options = {.cuts = plan.cuts, .listing = plan.listing};
  EXPECT_EQ(Planned(ReadText(folder), options).manifest_hash, plan.manifest_hash);
  EXPECT_EQ(Joined(*RunAll(AsWritten(ReadText(folder)), options), 1).rows(), 3);
}

TEST(PlannerTest, AListingOfAnotherPipelineIsAnError) {
  const PassPlan plan = Planned("%0 = range(stop=50000)\n");
  EXPECT_THAT(TryPlan("%0 = range(stop=60000)\n", {.listing = plan.listing}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not what was listed")));
  EXPECT_THAT(
      TryPlan("%0 = range(stop=50000)\n%1 = range(stop=7)\n%2 = concat(%0, %1)\n",
              {.listing = plan.listing})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another pipeline's")));
}

}  // namespace
}  // namespace millrace::exec
