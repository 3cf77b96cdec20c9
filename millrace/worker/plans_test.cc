#include "millrace/worker/plans.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/listing.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/bytes.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/worker/kept_objects_test.h"

namespace millrace::worker {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

class PlansTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "plans_test";
    std::filesystem::create_directories(folder_);
    for (const char* const name : {"a.txt", "b.txt"}) {
      std::ofstream(folder_ / name) << "one\ntwo\nthree\n";
    }
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Lines of both files, in batches.
  api::WorkerJob Lines() {
    return objects_.JobOf(
        base::StrCat("%0 = read_text(paths=[\"", (folder_ / "a.txt").string(), "\", \"",
                     (folder_ / "b.txt").string(), "\"])\n%1 = batch(%0, size=4)\n"));
  }

  Plans PlansOf(exec::Engine& engine) {
    return {engine, ops::DefaultLibrary(), objects_.Access()};
  }

  std::filesystem::path folder_;
  KeptObjects objects_;
  exec::Engine engine_{{.threads = 1}};
};

TEST_F(PlansTest, ListsTheSourcesAndKeepsTheListingByItsHash) {
  Plans plans = PlansOf(engine_);
  const absl::StatusOr<api::JobFacts> facts = plans.List(Lines());
  ASSERT_THAT(facts, IsOk());
  EXPECT_GE(facts->lanes, 1);
  EXPECT_EQ(facts->batch_rows, 4);
  EXPECT_FALSE(facts->python);
  const absl::StatusOr<std::string> listing = objects_.Get(facts->manifest);
  ASSERT_THAT(listing, IsOk());
  EXPECT_EQ(base::ToHex(base::Sha256Of(*listing)), facts->manifest);
  EXPECT_THAT(api::ListingFromJson(*listing), IsOk());
  EXPECT_THAT(*listing, HasSubstr("b.txt"));
}

TEST_F(PlansTest, TellsWhetherRowsAreKnownBeforehand) {
  Plans plans = PlansOf(engine_);
  const std::string range = "%0 = range(start=0, stop=10)\n";
  const auto counted = plans.List(objects_.JobOf(range));
  ASSERT_THAT(counted, IsOk());
  EXPECT_TRUE(counted->counted);
  EXPECT_EQ(counted->batch_rows, 1) << "nothing is batched";
  const auto filtered = plans.List(
      objects_.JobOf(range + "%1 = filter(%0, predicate={.value % 3 == 0})\n"));
  ASSERT_THAT(filtered, IsOk());
  EXPECT_FALSE(filtered->counted);
  const auto endless = plans.List(objects_.JobOf(range + "%1 = repeat(%0)\n"));
  ASSERT_THAT(endless, IsOk());
  EXPECT_EQ(endless->lanes, -1) << "there is no end of them";
}

// The other has no such files, and needs none to plan.
TEST_F(PlansTest, PlansTheSameLanesFromTheListingElsewhere) {
  Plans plans = PlansOf(engine_);
  api::WorkerJob job = Lines();
  const absl::StatusOr<api::JobFacts> listed = plans.List(job);
  ASSERT_THAT(listed, IsOk());
  job.manifest = listed->manifest;
  const auto here = plans.Plan(job, 2);
  ASSERT_THAT(here, IsOk());
  std::filesystem::remove_all(folder_);
  exec::Engine other({.threads = 1});
  const auto there = PlansOf(other).Plan(job, 2);
  ASSERT_THAT(there, IsOk());
  const exec::JobFacts facts = (*here)->Facts();
  EXPECT_EQ((*there)->Facts().lanes, facts.lanes);
  EXPECT_EQ((*there)->Facts().lanes, listed->lanes);
  EXPECT_EQ((*there)->Facts().cuts, facts.cuts);
  EXPECT_EQ((*there)->Facts().manifest_hash, facts.manifest_hash);
  EXPECT_EQ((*there)->Facts().row_fingerprint, facts.row_fingerprint);
}

TEST_F(PlansTest, FetchesAPipelineOnce) {
  Plans plans = PlansOf(engine_);
  const api::WorkerJob job = Lines();
  ASSERT_THAT(plans.List(job), IsOk());
  EXPECT_EQ(objects_.gets(), 1);
  ASSERT_THAT(plans.Plan(job, 0), IsOk());
  ASSERT_THAT(plans.Plan(job, 1), IsOk());
  EXPECT_EQ(objects_.gets(), 1) << "it is kept here";
}

TEST_F(PlansTest, TellsWhatCannotBeFetchedOrRead) {
  Plans plans = PlansOf(engine_);
  api::WorkerJob job = Lines();
  job.manifest = "none";
  EXPECT_THAT(plans.Plan(job, 0), StatusIs(StatusCode::kNotFound, HasSubstr("none")));
  job.manifest = objects_.Put("{\"version\": []}");
  EXPECT_FALSE(plans.Plan(job, 0).ok()) << "no listing";
  job = Lines();
  job.state = "no state";
  EXPECT_FALSE(plans.Plan(job, 0).ok());
  job.pipeline = "lost";
  EXPECT_THAT(plans.List(job), StatusIs(StatusCode::kNotFound, HasSubstr("lost")));
  EXPECT_THAT(plans.List(objects_.JobOf("%0 = invented()\n")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("invented")));
}

TEST_F(PlansTest, TellsWhatCannotBeListed) {
  Plans plans = PlansOf(engine_);
  std::filesystem::remove(folder_ / "b.txt");
  EXPECT_THAT(plans.List(Lines()), StatusIs(StatusCode::kNotFound, HasSubstr("b.txt")));
}

TEST_F(PlansTest, AListingThatIsNotKeptIsAnError) {
  Plans plans = PlansOf(engine_);
  const api::WorkerJob job = Lines();
  objects_.RefuseToKeep();
  EXPECT_THAT(plans.List(job), StatusIs(StatusCode::kUnavailable));
}

TEST_F(PlansTest, TellsWhatRowsFollowFromAndHowBatchesMayBeCut) {
  Plans plans = PlansOf(engine_);
  const auto listed = [&](const std::string& operators) {
    const auto facts = plans.List(
        objects_.JobOf(base::StrCat("%0 = range(start=0, stop=10)\n", operators)));
    EXPECT_THAT(facts, IsOk());
    return facts.value_or(api::JobFacts());
  };
  const api::JobFacts four = listed("%1 = batch(%0, size=4)\n");
  const api::JobFacts five = listed("%1 = batch(%0, size=5)\n%2 = prefetch(%1)\n");
  EXPECT_EQ(four.joins, 4);
  EXPECT_EQ(four.grid, 0);
  EXPECT_EQ(four.rows_hash, listed("%1 = batch(%0, size=7)\n").rows_hash);
  EXPECT_EQ(five.joins, 5);
  EXPECT_NE(four.rows_hash, five.rows_hash) << "it is another pipeline";
  // What is done to batches depends on which rows they have.
  const std::string doubled = "%2 = map(%1, function={x: .value * 2})\n";
  const api::JobFacts mapped = listed("%1 = batch(%0, size=4)\n" + doubled);
  EXPECT_EQ(mapped.joins, 0);
  EXPECT_EQ(mapped.grid, 4);
  EXPECT_NE(mapped.rows_hash, listed("%1 = batch(%0, size=5)\n" + doubled).rows_hash);
  const api::JobFacts rows = listed("");
  EXPECT_EQ(rows.joins + rows.grid, 0);
}

TEST_F(PlansTest, AStateDoesNotChangeHowSourcesAreCutWithoutOne) {
  Plans plans = PlansOf(engine_);
  api::WorkerJob job = Lines();
  const absl::StatusOr<api::JobFacts> fresh = plans.List(job);
  ASSERT_THAT(fresh, IsOk());
  lanes::State state;
  state.cuts = {{.counted = false, .lane_rows = 1, .lane_bytes = base::Bytes(1)}};
  job.state = api::StateToJson(state);
  const absl::StatusOr<api::JobFacts> resumed = plans.List(job);
  ASSERT_THAT(resumed, IsOk());
  EXPECT_EQ(resumed->cuts, fresh->cuts);
  EXPECT_EQ(resumed->rows_hash, fresh->rows_hash);
}

}  // namespace
}  // namespace millrace::worker
