#include "millrace/exec/left_out.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<ir::Pipeline> Nodes() {
  return MustParse(R"(
%0 = read_text(paths=["a"])
%1 = map(%0, function={n: byte_length(.text)})
%2 = map(%1, function={n: 1 // .n})
%3 = ignore_errors(%2, budget=2, report=1)
%4 = filter(%3, predicate={1 // .n > 0})
%5 = ignore_errors(%4)
%6 = filter(%5, predicate={1 // .n > 0})
)")
      .Nodes();
}

LeftOutRow Row(int number, const std::string& why) {
  return {.number = number,
          .by = IgnoringPlace(Nodes(), number),
          .why = absl::DataLossError(why)};
}

TEST(LeftOutTest, TheNearestBehindIgnoresErrors) {
  const std::vector<ir::Pipeline> nodes = Nodes();
  EXPECT_EQ(IgnoringPlace(nodes, 0), 3);
  EXPECT_EQ(IgnoringPlace(nodes, 2), 3);
  EXPECT_EQ(IgnoringPlace(nodes, 3), 5);
  EXPECT_EQ(IgnoringPlace(nodes, 5), -1);
  EXPECT_EQ(IgnoringPlace(nodes, 6), -1);
}

TEST(LeftOutTest, OnlyWhatCanFailLeavesRowsOut) {
  const std::vector<ir::Pipeline> nodes = Nodes();
  std::vector<bool> may;
  may.reserve(nodes.size());
  for (int place = 0; place < 7; ++place) may.push_back(MayLeaveOut(nodes, place));
  EXPECT_THAT(may, ElementsAre(true, false, true, false, true, false, false));
}

TEST(LeftOutTest, CountsByOperatorAndKeepsTheFirstErrors) {
  LeftOut left_out(Nodes());
  EXPECT_THAT(left_out.first(), IsEmpty());
  ASSERT_THAT(left_out.Add(Row(2, "one")), base::IsOk());
  ASSERT_THAT(left_out.Add(Row(0, "two")), base::IsOk());
  for (int i = 0; i < 12; ++i) ASSERT_THAT(left_out.Add(Row(4, "more")), base::IsOk());
  EXPECT_THAT(left_out.counts(), ElementsAre(1, 0, 1, 0, 12, 0, 0));
  EXPECT_EQ(left_out.first().size(), 11U);  // One and ten, as each of the two reports.
  EXPECT_EQ(left_out.first()[0], "one");
  EXPECT_EQ(left_out.first()[1], "more");
}

TEST(LeftOutTest, MoreThanTheBudgetIsAnErrorThatTellsTheFirst) {
  LeftOut left_out(Nodes());
  ASSERT_THAT(left_out.Add(Row(0, "read_text (%0): bad")), base::IsOk());
  ASSERT_THAT(left_out.Add(Row(4, "of another budget")), base::IsOk());
  ASSERT_THAT(left_out.Add(Row(2, "second")), base::IsOk());
  EXPECT_THAT(
      left_out.Add(Row(2, "third")),
      base::StatusIs(absl::StatusCode::kDataLoss,
                     "ignore_errors (%3): left out 3 rows, more than its budget of 2; "
                     "mend the data, or raise the budget if that many may be missing; "
                     "the first: read_text (%0): bad"));
}

}  // namespace
}  // namespace millrace::exec
