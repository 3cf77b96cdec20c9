// Lanes that are run by themselves, on pipelines drawn at random over the whole
// catalog. A failure prints the pipeline.

#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/exec/checked_lanes_test.h"
#include "millrace/exec/random_pipeline_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

constexpr int kPipelines = 40;

class LaneEquivalenceTest : public ::testing::TestWithParam<int> {
 protected:
  static ir::Pipeline Drawn(bool fails) {
    const base::Generator draw(base::RandomKey(GetParam(), 5, 0), {});
    return MustParse(RandomPipeline(draw, fails).Text());
  }
};

TEST_P(LaneEquivalenceTest, LanesGiveWhatThePassGives) {
  Checked checked(Drawn(false), GetParam());
  ASSERT_TRUE(checked.IsGood());
  checked.ExpectThatLanesMakeThePass();
  checked.ExpectLanesInAnyInterleaving();
  checked.ExpectLanesFromAnyRow(8);
}

TEST_P(LaneEquivalenceTest, LanesFailWhereThePassFails) {
  Checked checked(Drawn(true), GetParam());
  checked.ExpectTheErrorsOfLanes();
}

INSTANTIATE_TEST_SUITE_P(Drawn, LaneEquivalenceTest, ::testing::Range(0, kPipelines));

}  // namespace
}  // namespace millrace::exec
