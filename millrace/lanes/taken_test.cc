#include "millrace/lanes/taken.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

LaneSet Rows(int64_t begin, int64_t end) {
  LaneSet rows;
  rows.Add(begin, end);
  return rows;
}

// One part of two, of a pass of 4 lanes, after 3 batches.
State Part(int64_t part, const Taken& taken) {
  State state;
  state.pass = 1;
  state.lanes = 4;
  state.step = 3;
  state.part = part;
  state.parts = 2;
  SetTaken(state, taken);
  return state;
}

TEST(TakenTest, LeavesAWholeLaneOpen) {
  EXPECT_THAT(Taken().Open(3), ElementsAre(LaneRange{3, 0, kRowsMax}));
}

TEST(TakenTest, LeavesRangesInTheMiddleOpen) {
  Taken taken;
  taken.Add({3, 4, 8});
  taken.Add({3, 10, 12});
  EXPECT_THAT(taken.Open(3), ElementsAre(LaneRange{3, 0, 4}, LaneRange{3, 8, 10},
                                         LaneRange{3, 12, kRowsMax}));
  taken.End(3, 12);
  EXPECT_THAT(taken.Open(3), ElementsAre(LaneRange{3, 0, 4}, LaneRange{3, 8, 10}));
}

TEST(TakenTest, FinishesALaneOnceAllOfItIsTaken) {
  Taken taken;
  taken.Add({3, 4, 8});
  taken.End(3, 8);
  EXPECT_THAT(taken.finished().Lanes(), IsEmpty());
  taken.Add({3, 0, 4});
  EXPECT_THAT(taken.finished().Lanes(), ElementsAre(3));
  EXPECT_THAT(taken.Open(3), IsEmpty());
  EXPECT_THAT(taken.parts(), IsEmpty());
}

TEST(TakenTest, TakesRowsBack) {
  Taken taken;
  taken.Add({3, 0, 4});
  taken.Add({3, 6, 8});
  taken.Remove({3, 2, 7});
  EXPECT_THAT(taken.Open(3),
              ElementsAre(LaneRange{3, 2, 7}, LaneRange{3, 8, kRowsMax}));
}

TEST(TakenTest, IsWrittenDownAndReadBack) {
  Taken taken;
  taken.AddFinished(0, 2);
  taken.Add({2, 4, 8});
  taken.End(2, 9);
  const State state = Part(0, taken);
  EXPECT_EQ(state.order.kind, OrderKind::kAny);
  EXPECT_THAT(state.taken, ElementsAre(TakenLane{2, Rows(4, 8), 9}));
  const auto read = TakenOf(state, {5, 5, 9, 5});
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, taken);
}

TEST(TakenTest, ReadsAStateOfFixedOrder) {
  const std::vector<int64_t> lane_rows{5, 5, 3};
  State state;
  state.order = {OrderKind::kFixed, 2};
  const auto order = MakeOrder(OrderKind::kFixed, DealAll(lane_rows, 2), {.rows = 2});
  SetRest(state, order->After(3), 3);  // Lane 0 up to 4, lane 1 up to 2.
  const auto taken = TakenOf(state, lane_rows);
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(taken->Open(0), ElementsAre(LaneRange{0, 4, kRowsMax}));
  EXPECT_THAT(taken->Open(1), ElementsAre(LaneRange{1, 2, kRowsMax}));
  EXPECT_THAT(taken->Open(2), ElementsAre(LaneRange{2, 0, kRowsMax}));
}

TEST(TakenTest, IsNoStateOfFixedOrder) {
  EXPECT_THAT(GetRest(Part(0, {}), {1, 1, 1, 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("order \"any\"")));
}

TEST(TakenTest, RefusesWhatIsNotThere) {
  const std::vector<int64_t> lane_rows{5, 5, 9, 5};
  const auto error = [&](const State& state) {
    const auto taken = TakenOf(state, lane_rows);
    return taken.ok() ? "" : std::string(taken.status().message());
  };
  State state = Part(0, {});
  state.lanes = 5;
  EXPECT_THAT(error(state), HasSubstr("it has 5 lanes"));
  state = Part(0, {});
  state.finished.Add(3, 5);
  EXPECT_THAT(error(state), HasSubstr("no such lane in finished: 3 to 4"));
  state = Part(0, {});
  state.taken = {{4, Rows(0, 1)}};
  EXPECT_THAT(error(state), HasSubstr("no such lane in taken: 4"));
  state.taken = {{2, Rows(0, 10)}};
  EXPECT_THAT(error(state), HasSubstr("no such row in taken of lane 2"));
  state.taken = {{2, Rows(0, 4), 3}};
  EXPECT_THAT(error(state), HasSubstr("no such row in taken of lane 2"));
  state.taken = {{2, Rows(0, 4)}};
  state.finished.Add(2, 3);
  EXPECT_THAT(error(state), HasSubstr("is finished, and taken in part"));
}

// --- Joining ---

TEST(TakenTest, JoinsThePartsOfAllConsumers) {
  Taken one;
  one.AddFinished(0, 1);
  one.Add({1, 0, 4});
  Taken other;
  other.AddFinished(2, 3);
  other.Add({1, 4, 6});
  other.End(1, 6);
  const auto joined = JoinStates({Part(1, other), Part(0, one)});
  ASSERT_THAT(joined, IsOk());
  EXPECT_THAT(joined->finished.Lanes(), ElementsAre(0, 1, 2));
  EXPECT_EQ(joined->parts, 1);
  EXPECT_EQ(joined->part, 0);
  EXPECT_EQ(joined->pass, 1);
  EXPECT_EQ(joined->step, 3);
}

TEST(TakenTest, JoinsOnlyOneOfEach) {
  const auto twice = JoinStates({Part(1, {}), Part(1, {})});
  EXPECT_THAT(twice, StatusIs(StatusCode::kInvalidArgument, HasSubstr("there twice")));
  EXPECT_THAT(JoinStates({Part(1, {})}),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the state of consumer 0 of 2 is missing")));
  EXPECT_THAT(JoinStates({}), StatusIs(StatusCode::kInvalidArgument));
}

TEST(TakenTest, JoinsOnlyPartsOfOneStep) {
  State late = Part(1, {});
  late.step = 4;
  EXPECT_THAT(JoinStates({Part(0, {}), late}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("different steps")));
}

TEST(TakenTest, JoinsOnlyWhatIsDisjoint) {
  Taken whole;
  whole.AddFinished(1, 2);
  Taken part;
  part.Add({1, 3, 4});
  Taken apart;
  apart.Add({1, 4, 5});
  const auto joined = [](const Taken& a, const Taken& b) {
    return JoinStates({Part(0, a), Part(1, b)});
  };
  const auto overlaps = StatusIs(StatusCode::kInvalidArgument, HasSubstr("not of one"));
  EXPECT_THAT(joined(whole, whole), overlaps);
  EXPECT_THAT(joined(whole, part), overlaps);
  EXPECT_THAT(joined(part, whole), overlaps);
  EXPECT_THAT(joined(part, part), overlaps);
  EXPECT_THAT(joined(part, apart), IsOk());
}

}  // namespace
}  // namespace millrace::lanes
