#include "millrace/exec/tails.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

using base::StatusIs;
using ::testing::HasSubstr;

TailJoiner JoinerOf(std::string_view text, const PassOptions& options = {}) {
  absl::StatusOr<TailJoiner> joiner =
      TailJoiner::Make(AsWritten(text), ops::DefaultLibrary(), options);
  CHECK(joiner.ok()) << joiner.status();
  return *std::move(joiner);
}

// Rows 0, ..., rows - 1 with their identities.
core::Block Numbers(int64_t rows) {
  return Joined(
      MustRun("%0 = range(stop=" + std::to_string(rows) + ")", {.with_ids = true}));
}

TEST(TailsTest, TailsAreJoinedAndWhatFillsNoBatchIsLeft) {
  const TailJoiner joiner = JoinerOf("%0 = range(stop=9) %1 = batch(%0, size=4)");
  const core::Block rows = Numbers(10);
  const JoinedTails joined =
      *joiner.Join({rows.Slice(0, 3), rows.Slice(3, 2), rows.Slice(5, 5)}, {});
  ASSERT_EQ(joined.batches.size(), 2U);
  EXPECT_EQ(Values<int64_t>(joined.batches[1], "value"),
            (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(Values<int64_t>(joined.rest, "value"), (std::vector<int64_t>{8, 9}));
}

TEST(TailsTest, AtTheEndAShortBatchIsMadeOrDropped) {
  for (const bool drops : {false, true}) {
    const TailJoiner joiner = JoinerOf(
        std::string("%0 = range(stop=9) %1 = batch(%0, size=4, drop_remainder=") +
        (drops ? "true)" : "false)"));
    const JoinedTails joined = *joiner.Join({Numbers(6)}, {.ends_pass = true});
    EXPECT_EQ(joined.batches.size(), drops ? 1U : 2U);
    EXPECT_EQ(joined.rest.rows(), 0);
  }
}

// Draws are those of the pass: they go by the rows' identities.
TEST(TailsTest, OperatorsBehindRunAsInThePass) {
  const std::string text =
      "%0 = range(stop=10) %1 = batch(%0, size=4) "
      "%2 = map(%1, function={x: .value + integers(0, 1000000)}) "
      "%3 = filter(%2, predicate={sum(.x) % 7 != 0})";
  const PassOptions options = {.seed = 5, .epoch = 2, .with_ids = true};
  const JoinedTails joined =
      *JoinerOf(text, options).Join({Numbers(10)}, {.ends_pass = true});
  EXPECT_TRUE(core::SameRows(Joined(joined.batches), Joined(MustRun(text, options))));
}

TEST(TailsTest, RowsLeftOutAreTold) {
  const TailJoiner joiner = JoinerOf(
      "%0 = range(stop=9) %1 = batch(%0, size=4) "
      "%2 = map(%1, function={x: 1 // sum(.value - 1)}) %3 = ignore_errors(%2)");
  const core::Block rows = Numbers(10);
  const JoinedTails joined = *joiner.Join({rows.Slice(0, 1), rows.Slice(0, 3)}, {});
  EXPECT_EQ(joined.batches.size() + joined.left_out.size(), 1U);
}

TEST(TailsTest, AnErrorNamesOperatorAndLane) {
  const TailJoiner joiner = JoinerOf(
      "%0 = range(stop=9) %1 = batch(%0, size=2) "
      "%2 = map(%1, function={x: 1 // sum(.value * 0)})");
  EXPECT_THAT(joiner.Join({Numbers(2)}, {.lane = 7}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("map (%2), lane 7")));
}

TEST(TailsTest, WithoutBatchesThereAreNoTails) {
  EXPECT_THAT(
      TailJoiner::Make(AsWritten("%0 = range(stop=9)"), ops::DefaultLibrary(), {})
          .status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nothing over")));
}

}  // namespace
}  // namespace millrace::exec
