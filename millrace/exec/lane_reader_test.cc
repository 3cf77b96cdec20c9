#include "millrace/exec/lane_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_log_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOkAndHolds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ReadLog LogOf(const LaneSeries& run) {
  LaneReader reader(run, ops::DefaultLibrary(), core::HeapPool());
  return LogOf(reader);
}

Events EventsOf(const LaneSeries& run) { return LogOf(run).events; }

constexpr std::string_view kRowWise =
    "%0 = range(stop=10) %1 = map(%0, function={value: .value * 2}) "
    "%2 = filter(%1, predicate={.value % 3 != 0})";  // 2 4 8 10 14 16

TEST(LaneReaderTest, GivesTheRowsOfItsLanes) {
  const auto plan = PlanInLanes("%0 = range(stop=10)", 4);
  ASSERT_EQ(plan->lanes.size(), 3);
  EXPECT_THAT(EventsOf({.plan = plan, .begin = 1, .end = 2}),
              ElementsAre("4", "5", "6", "7"));
  EXPECT_THAT(EventsOf({.plan = plan, .begin = 2}), ElementsAre("8", "9"));
  EXPECT_THAT(EventsOf({.plan = plan, .begin = 1, .end = 1}), IsEmpty());
  EXPECT_EQ(EventsOf({.plan = plan}).size(), 10U);
}

TEST(LaneReaderTest, ReadsNoFurtherThanSomebodyWants) {
  const auto plan = PlanInLanes(
      "%0 = range(stop=100000) %1 = take_while(%0, predicate={.value < 3})", 100'000);
  EXPECT_THAT(EventsOf({.plan = plan}), ElementsAre("0", "1", "2"));
}

TEST(LaneReaderTest, RowsBehindTheEndCannotBeWrong) {
  const auto plan = PlanInLanes(
      "%0 = range(stop=9) %1 = map(%0, function={value: .value + 0 // (.value - 5)}) "
      "%2 = take(%1, count=4) %3 = batch(%2, size=3)",
      9);
  EXPECT_THAT(EventsOf({.plan = plan}), ElementsAre("0,1,2", "3"));
}

TEST(LaneReaderTest, RunsRowWiseOperators) {
  const auto plan = PlanInLanes(kRowWise, 4);
  EXPECT_THAT(EventsOf({.plan = plan}), ElementsAre("2", "4", "8", "10", "14", "16"));
}

// The lanes of a shuffle are each shuffled for themselves.
TEST(LaneReaderTest, RunsStatefulOperatorsLaneByLane) {
  const std::string text = "%0 = range(stop=50) %1 = shuffle(%0, window=7)";
  const auto plan = PlanInLanes(text, 20);
  Events all;
  for (int64_t lane = 0; lane < plan->lanes.size(); ++lane) {
    for (std::string& event :
         EventsOf({.plan = plan, .begin = lane, .end = lane + 1})) {
      all.push_back(std::move(event));
    }
  }
  EXPECT_EQ(EventsOf({.plan = plan}), all);
  std::ranges::sort(all);
  EXPECT_EQ(all.size(), 50U);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(LaneReaderTest, BatchesGoOnFromLaneToLane) {
  const auto plan = PlanInLanes("%0 = range(stop=11) %1 = batch(%0, size=4)", 3);
  ASSERT_EQ(plan->lanes.size(), 4);
  EXPECT_THAT(EventsOf({.plan = plan}), ElementsAre("0,1,2,3", "4,5,6,7", "8,9,10"));
  const auto dropping =
      PlanInLanes("%0 = range(stop=11) %1 = batch(%0, size=4, drop_remainder=true)", 3);
  EXPECT_THAT(EventsOf({.plan = dropping}), ElementsAre("0,1,2,3", "4,5,6,7"));
}

TEST(LaneReaderTest, OperatorsOnBothSidesOfABatchSeeItsRows) {
  const auto plan = PlanInLanes(
      "%0 = range(stop=9) %1 = filter(%0, predicate={.value % 2 == 0}) "
      "%2 = batch(%1, size=2) %3 = map(%2, function={value: .value + 100})",
      2);
  EXPECT_THAT(EventsOf({.plan = plan}), ElementsAre("100,102", "104,106", "108"));
}

// The last short batch must not be lost where the joining place is behind the batch.
TEST(LaneReaderTest, AShuffleOfBatchesGivesTheShortOneToo) {
  const auto plan = PlanInLanes(
      "%0 = range(stop=10) %1 = batch(%0, size=4) %2 = shuffle(%1, window=2)", 1'000);
  Events batches = EventsOf({.plan = plan});
  std::ranges::sort(batches);
  EXPECT_THAT(batches, ElementsAre("0,1,2,3", "4,5,6,7", "8,9"));
}

// To go on from a place is to leave out what was taken: the rest is the same.
TEST(LaneReaderTest, SkipsRowsOfAnyOperators) {
  const std::string range = "%0 = range(stop=23) ";
  for (const std::string& text :
       {range, std::string(kRowWise), range + "%1 = shuffle(%0, window=5)",
        range + "%1 = batch(%0, size=4)",
        range + "%1 = shuffle(%0, window=5) %2 = batch(%1, size=4) "
                "%3 = map(%2, function={value: .value + 1})"}) {
    const auto plan = PlanInLanes(text, 6);
    const Events all = EventsOf({.plan = plan});
    for (size_t skip = 0; skip <= all.size() + 1; ++skip) {
      const Events rest(all.begin() + std::min(skip, all.size()), all.end());
      EXPECT_THAT(EventsOf({.plan = plan, .skip = static_cast<int64_t>(skip)}),
                  ElementsAreArray(rest))
          << text << " from " << skip;
    }
  }
}

TEST(LaneReaderTest, RowsBeforeAnErrorAreGivenFirst) {
  const std::string fails = "map(%0, function={value: 6 // (.value - 5)})";
  const std::string range = "%0 = range(stop=9) %1 = ";
  const ReadLog row_wise = LogOf({.plan = PlanInLanes(range + fails, 100)});
  EXPECT_THAT(row_wise.events, ElementsAre("-2", "-2", "-2", "-3", "-6", "!"));
  EXPECT_THAT(row_wise.why.message(), AllOf(HasSubstr("map (%1)"), HasSubstr("row 5")));
  // In order: the first to fail is a row-wise operator, then one behind the batch.
  const ReadLog in_order =
      LogOf({.plan = PlanInLanes(range + fails + " %2 = batch(%1, size=2)", 100)});
  EXPECT_THAT(in_order.events, ElementsAre("-2,-2", "-2,-3", "!"));
  const ReadLog behind =
      LogOf({.plan = PlanInLanes("%0 = range(stop=9) %1 = batch(%0, size=2) "
                                 "%2 = map(%1, function={value: 6 // (.value - 5)})",
                                 100)});
  EXPECT_THAT(behind.events, ElementsAre("-2,-2", "-2,-3", "!"));
}

// Here all rows are held back to the end of the lane.
TEST(LaneReaderTest, RowsBeforeAnErrorAtALanesEndAreGivenFirst) {
  const std::string shuffled = "%0 = range(stop=9) %1 = shuffle(%0, window=100) ";
  const Events order = EventsOf({.plan = PlanInLanes(shuffled, 1'000)});
  ASSERT_EQ(order.size(), 9U);
  Events expected(order.begin(), order.begin() + 4);
  expected.emplace_back("!");
  const std::string divided = base::StrCat(
      "%2 = map(%1, function={value: .value + 0 // (.value - ", order[4], ")}) ");
  EXPECT_THAT(EventsOf({.plan = PlanInLanes(shuffled + divided, 1'000)}),
              ElementsAreArray(expected));
  // The same where a batch joins lanes behind.
  EXPECT_THAT(EventsOf({.plan = PlanInLanes(
                            shuffled + divided + "%3 = batch(%2, size=1)", 1'000)}),
              ElementsAreArray(expected));
}

TEST(LaneReaderTest, RowsThatAreLeftOutArePassedOnWhereTheyStood) {
  const std::string fails =
      "%0 = range(stop=8) %1 = map(%0, function={value: .value + 0 // (.value - 5)}) ";
  for (const std::string& more :
       {std::string(), std::string("%2 = take(%1, count=100)")}) {
    const auto plan = PlanInLanes(fails + more, 3);
    plan->ignored_behind = true;
    EXPECT_THAT(EventsOf({.plan = plan}),
                ElementsAre("0", "1", "2", "3", "4", "-", "6", "7"));
    // Those before the rows to leave out count as taken, as these do.
    EXPECT_THAT(EventsOf({.plan = plan, .skip = 5}), ElementsAre("-", "6", "7"));
    EXPECT_THAT(EventsOf({.plan = plan, .skip = 6}), ElementsAre("7"));
  }
  const auto batched = PlanInLanes(fails + "%2 = batch(%1, size=2)", 3);
  batched->ignored_behind = true;
  const ReadLog log = LogOf({.plan = batched});
  EXPECT_THAT(log.events, ElementsAre("0,1", "2,3", "-", "4,6", "7"));
  EXPECT_THAT(log.why.message(), HasSubstr("map (%1)"));
}

TEST(LaneReaderTest, RowsOfLaterTurnsAreOtherRows) {
  const auto plan = PlanInLanes("%0 = range(stop=4)", 2, {.with_ids = true});
  const ReadLog first = LogOf({.plan = plan});
  const ReadLog later = LogOf({.plan = plan, .turn = 9});
  EXPECT_EQ(first.events, later.events);
  ASSERT_EQ(later.ids.size(), 4U);
  for (size_t row = 0; row < 4; ++row) {
    const base::Hash128 id = {first.ids[row].hi, first.ids[row].lo};
    const base::Hash128 hash = base::Combine(id, 9);
    EXPECT_EQ(later.ids[row], (core::RowId{hash.hi, hash.lo}));
  }
}

TEST(LaneReaderTest, GoesOnForAsLongAsThePlanGrows) {
  const auto plan = PlanInLanes("%0 = range(stop=3) %1 = repeat(%0)", 2);
  LaneReader reader({.plan = plan}, ops::DefaultLibrary(), core::HeapPool());
  const int64_t lanes = plan->lanes.size();
  ReadLog log;
  while (log.events.size() < 1'000) {
    log.Add(**reader.Next());
  }
  EXPECT_GT(plan->lanes.size(), lanes);
  for (size_t i = 0; i < 1'000; ++i) ASSERT_EQ(log.events[i], base::StrCat(i % 3)) << i;
}

}  // namespace
}  // namespace millrace::exec
