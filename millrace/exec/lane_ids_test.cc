#include "millrace/exec/lane_ids.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/cursor.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

TEST(LaneIdsTest, OfBatchesTheRowsInThemAreDigested) {
  const core::Block rows = Joined(MustRun("%0 = range(stop=12)", {.with_ids = true}));
  lanes::Digest digest;
  for (int64_t row = 0; row < 8; ++row) digest.Add(rows.IdAt(row));
  lanes::Digest of_rows;
  AddIds(of_rows, rows, 8);
  EXPECT_EQ(of_rows, digest);
  lanes::Digest of_batches;
  AddIds(of_batches, rows.Stack(4), 2);
  EXPECT_EQ(of_batches, digest);
  lanes::Digest of_batches_of_batches;
  AddIds(of_batches_of_batches, rows.Slice(0, 8).Stack(2).Stack(2), 2);
  EXPECT_EQ(of_batches_of_batches, digest);
}

// As running the lane gives them.
TEST(LaneIdsTest, FirstRowsAreKnownWithoutReadingThem) {
  const std::string rows =
      "%0 = range(stop=30000)\n%1 = map(%0, function={x: .value * 2})\n";
  for (const std::string behind :
       {"", "%2 = repeat(%1, count=3)\n", "%2 = concat(%1, %1)\n", "%2 = cache(%1)\n",
        "%2 = repeat(%1, count=2)\n%3 = cache(%2)\n%4 = repeat(%3, count=2)\n"}) {
    const std::string text = rows + behind;
    const auto plan = std::make_shared<PassPlan>(
        *PlanPass(AsWritten(text), ops::DefaultLibrary(), {.with_ids = true}));
    ASSERT_EQ(SkipPlace(*plan), 0) << text;
    for (const int64_t lane : {int64_t{0}, plan->lanes.size() - 1}) {
      const core::Block plain = *PlainRows(plan, lane);
      const int64_t count = plain.rows() / 2 + 1;
      const std::optional<std::vector<core::RowId>> ids = FirstIds(*plan, lane, count);
      ASSERT_TRUE(ids.has_value()) << text;
      ASSERT_EQ(ids->size(), count) << text;
      for (int64_t row = 0; row < count; ++row) {
        ASSERT_EQ((*ids)[row], plain.IdAt(row)) << row << "\n" << text;
      }
    }
  }
}

TEST(LaneIdsTest, RowsThatAreMergedMustBeRun) {
  const PassPlan plan = *PlanPass(
      AsWritten("%0 = range(stop=300)\n%1 = range(stop=30)\n%2 = mix(%0, %1)"),
      ops::DefaultLibrary(), {.with_ids = true});
  EXPECT_FALSE(FirstIds(plan, 0, 5).has_value());
}

}  // namespace
}  // namespace millrace::exec
