// Lanes that give runs of batches of one bucket, and rows that fill no run.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/tails.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kRows = 3000;
constexpr int64_t kGroup = 4;
constexpr char kBuckets[] = R"(
%0 = range(stop=3000)
%1 = map(%0, function={value: .value, length: .value * 7919 % 64})
%2 = bucket(%1, length={.length}, up_to=[15, 31], sizes=[4, 3, 2], group=4)
%3 = map(%2, function={value: .value, length: .length, twice: .value * 2})
)";

std::shared_ptr<LanePlan> Plan(Engine& engine, const std::string& text = kBuckets) {
  PassOptions options = PassOfJob(7, 0, {}, {});
  options.cuts = {{.lane_rows = 700}};
  return MustPlan(engine, AsWritten(text), options);
}

int64_t BucketOf(const core::Block& block) {
  std::set<int64_t> buckets;
  for (const int64_t length : Values<int64_t>(block, "length")) {
    buckets.insert(length <= 15 ? 0 : length <= 31 ? 1 : 2);
  }
  EXPECT_THAT(buckets, SizeIs(1));
  return *buckets.begin();
}

TEST(LanesOfRunsTest, ManyLanesGiveEveryRowInRunsOrAsTails) {
  Engine engine({.threads = 2});
  const auto plan = Plan(engine);
  const JobFacts facts = plan->Facts();
  EXPECT_EQ(facts.lanes, 5);
  EXPECT_THAT(facts.lane_rows, ElementsAre()) << "only running them tells";
  ASSERT_TRUE(facts.join && facts.join->runs);
  EXPECT_EQ(facts.join->runs->group, kGroup);
  EXPECT_THAT(facts.join->runs->sizes, ElementsAre(4, 3, 2));
  std::set<int64_t> seen;
  for (int64_t lane = 0; lane < 5; ++lane) {
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = lane}));
    int64_t batches = 0;
    for (const LaneBatch& batch : log.batches) {
      for (const int64_t value : Values<int64_t>(batch.block, "value")) {
        EXPECT_TRUE(seen.insert(value).second);
      }
      if (batch.tail) continue;
      EXPECT_EQ(batch.begin_row, batches++);
      EXPECT_EQ(batch.end_row, batches);
      EXPECT_EQ(batch.key, BucketOf(batch.block));
      const int64_t first = (batches - 1) / kGroup * kGroup;
      EXPECT_EQ(batch.key, log.batches[first].key) << "a run is of one bucket";
    }
    EXPECT_EQ(batches % kGroup, 0) << "runs are whole";
    const LaneBatch& tail = log.batches.back();
    ASSERT_TRUE(tail.tail);
    EXPECT_EQ(tail.begin_row, batches);
    EXPECT_EQ(std::accumulate(tail.tails.begin(), tail.tails.end(), batches),
              log.end.rows);
    EXPECT_EQ(log.end.tails, tail.tails);
  }
  EXPECT_THAT(seen, SizeIs(kRows));
}

// Whoever takes over goes on with the same batches, and the same digests.
TEST(LanesOfRunsTest, GoOnFromAnyBatchAndAnyRowOfTheTail) {
  Engine engine({.threads = 2});
  const auto plan = Plan(engine);
  const LaneLog whole = Drain(*MustOpen(engine, plan, {.lane = 1}));
  const LaneBatch& tail = whole.batches.back();
  for (const int64_t from :
       {int64_t{1}, int64_t{9}, tail.begin_row, tail.begin_row + 5, whole.end.rows}) {
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = 1, .from_row = from}));
    EXPECT_EQ(log.end.rows, whole.end.rows);
    EXPECT_EQ(log.end.tails, whole.end.tails);
    EXPECT_EQ(log.end.digest, whole.end.digest);
    if (from == whole.end.rows) {
      EXPECT_THAT(log.batches, SizeIs(0));
      continue;
    }
    EXPECT_EQ(log.batches.front().begin_row, from);
    EXPECT_EQ(log.batches.back().digest, tail.digest);
    if (from >= tail.begin_row) {
      EXPECT_EQ(log.batches.back().block.rows(), whole.end.rows - from);
      continue;
    }
    EXPECT_EQ(log.batches.front().digest_before, whole.batches[from].digest_before);
    EXPECT_EQ(Values<int64_t>(log.batches.front().block, "value"),
              Values<int64_t>(whole.batches[from].block, "value"));
  }
  const auto beyond = MustOpen(engine, plan, {.lane = 1, .from_row = 1'000'000});
  EXPECT_THAT(beyond->Next().status(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(LanesOfRunsTest, TailsOfOneBucketAreJoinedToABatchOfIt) {
  Engine engine({.threads = 2});
  const auto plan = Plan(engine);
  std::vector<core::Block> rows;  // Of the second bucket.
  for (const int64_t lane : {0, 1}) {
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = lane}));
    const LaneBatch& tail = log.batches.back();
    ASSERT_GE(tail.tails.at(1), 2);
    rows.push_back(tail.block.Slice(tail.tails[0], lane == 0 ? 1 : 2));
  }
  const absl::StatusOr<TailJoiner> joiner = TailJoiner::Make(
      AsWritten(kBuckets), ops::DefaultLibrary(), PassOfJob(7, 0, {}, {}));
  ASSERT_THAT(joiner.status(), IsOk());
  const absl::StatusOr<JoinedTails> joined = joiner->Join(rows, {.ends_pass = true});
  ASSERT_THAT(joined.status(), IsOk());
  ASSERT_THAT(joined->batches, SizeIs(1));
  EXPECT_EQ(BucketOf(joined->batches[0]), 1);
  EXPECT_THAT(Values<int64_t>(joined->batches[0], "twice"), SizeIs(3));
}

// Lanes are joined only by who asks for it: in one process there is one.
TEST(LanesOfRunsTest, ElseThereIsOneLane) {
  Engine engine({.threads = 2});
  const auto plan = MustPlan(engine, AsWritten(kBuckets));
  EXPECT_EQ(plan->Facts().lanes, 1);
  EXPECT_THAT(plan->Facts().one_lane_reason, HasSubstr("looks at the rows of all"));
  const std::string behind = std::string(kBuckets) + "%4 = take(%3, count=3)";
  const auto taken = MustPlan(engine, AsWritten(behind), PassOfJob(7, 0, {}, {}));
  EXPECT_FALSE(taken->Facts().join.has_value()) << "take looks at all batches";
}

TEST(LanesOfRunsTest, LanesHoldManyRunsOfEachBucket) {
  Engine engine({.threads = 2});
  const auto lanes_of = [&](int64_t group) {
    const std::string text =
        "%0 = range(stop=100000000) %1 = bucket(%0, length={.value}, up_to=[9, 99], "
        "sizes=[64], group=" +
        std::to_string(group) + ")";
    return *MustPlan(engine, AsWritten(text), PassOfJob(7, 0, {}, {}))->Facts().lanes;
  };
  EXPECT_LE(lanes_of(256), 100'000'000 / (4 * 256 * 64 * 3) + 1);
  EXPECT_GT(lanes_of(4), lanes_of(256));
}

}  // namespace
}  // namespace millrace::exec
