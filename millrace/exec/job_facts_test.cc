#include "millrace/exec/job_facts.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/exec/least_memory.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobFacts FactsOfText(const std::string& text) {
  const PassPlan plan = *PlanPass(AsWritten(text), ops::DefaultLibrary(), {});
  return FactsOf(plan, MustParse(text));
}

const char* const kBatches =
    "%0 = range(stop=100000)\n%1 = shuffle(%0, window=50)\n"
    "%2 = batch(%1, size=10, drop_remainder=true)\n%3 = map(%2, function={x: .value})";

TEST(JobFactsTest, SayWhatIsKnownOfLanesAndBatches) {
  const JobFacts facts = FactsOfText(kBatches);
  ASSERT_TRUE(facts.lanes.has_value());
  EXPECT_GT(*facts.lanes, 1);
  EXPECT_THAT(facts.lane_rows, SizeIs(*facts.lanes));
  EXPECT_EQ(std::accumulate(facts.lane_rows.begin(), facts.lane_rows.end(), int64_t{0}),
            100'000);
  ASSERT_TRUE(facts.join.has_value());
  EXPECT_EQ(facts.join->name, "batch");
  EXPECT_EQ(facts.join->number, 2);
  EXPECT_EQ(facts.join->batch_rows, 10);
  EXPECT_TRUE(facts.join->drop_remainder);
  EXPECT_THAT(facts.one_lane_reason, IsEmpty());
  EXPECT_FALSE(facts.calls_python);
  EXPECT_EQ(facts.lane_bytes, 8 * (50 + 10));
}

TEST(JobFactsTest, HaveWhatAStateIsComparedWith) {
  const PassPlan plan = *PlanPass(AsWritten(kBatches), ops::DefaultLibrary(), {});
  const JobFacts facts = FactsOfText(kBatches);
  EXPECT_EQ(facts.row_fingerprint, ir::RowFingerprint(MustParse(kBatches)));
  EXPECT_EQ(facts.manifest_hash, plan.manifest_hash);
  EXPECT_EQ(facts.cuts, plan.cuts);
}

TEST(JobFactsTest, RowsThatAFilterLeavesAreNotKnown) {
  const JobFacts facts = FactsOfText(
      "%0 = range(stop=100000)\n%1 = filter(%0, predicate={.value % 2 == 0})\n"
      "%2 = batch(%1, size=10)");
  EXPECT_GT(facts.lanes.value_or(0), 1);
  EXPECT_THAT(facts.lane_rows, IsEmpty());
  EXPECT_FALSE(facts.join->drop_remainder);
}

TEST(JobFactsTest, ARepeatWithoutEndHasNoNumberOfLanes) {
  const JobFacts facts = FactsOfText("%0 = range(stop=100)\n%1 = repeat(%0)");
  EXPECT_FALSE(facts.lanes.has_value());
  EXPECT_FALSE(facts.join.has_value());
  EXPECT_THAT(facts.lane_rows, Not(IsEmpty()));
}

TEST(JobFactsTest, SayWhyThereIsOneLane) {
  const JobFacts unique = FactsOfText("%0 = range(stop=100000)\n%1 = unique(%0)");
  EXPECT_EQ(unique.lanes, 1);
  EXPECT_THAT(unique.one_lane_reason, HasSubstr("unique (%1)"));
  // Batches that are shuffled are counted, not joined.
  const JobFacts mixed = FactsOfText(
      "%0 = range(stop=1000)\n%1 = batch(%0, size=10)\n%2 = shuffle(%1, window=3)");
  EXPECT_FALSE(mixed.join.has_value());
  EXPECT_THAT(mixed.one_lane_reason, HasSubstr("shuffle (%2)"));
}

}  // namespace
}  // namespace millrace::exec
