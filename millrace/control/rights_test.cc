#include "millrace/control/rights.h"

#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/rights.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using lanes::kRowsMax;
using testing::ElementsAre;
using testing::IsEmpty;

// Lane 0 is leased to consumer 1: rows 0 to 9, and 20 on. Batches have 4 rows.
PassRights Leased() {
  PassRights pass;
  EXPECT_THAT(Apply(pass, {.begun = api::PassFacts{.lanes = 2, .batch_rows = 4}}),
              IsOk());
  EXPECT_THAT(Apply(pass, {.leased = Lease{1, {{0, 10}, {20, kRowsMax}}}}), IsOk());
  return pass;
}

absl::Status Moves(PassRights& pass, const api::Promise& rows, int64_t group = 0) {
  return Apply(pass, {.moved = Move{rows, group}});
}

TEST(RightsTest, LeasesARightForEachRange) {
  const PassRights pass = Leased();
  EXPECT_THAT(pass.rights, ElementsAre(OwnedRight{{1, 0, 0, 10}, 1},
                                       OwnedRight{{2, 0, 20, kRowsMax}, 1}));
  EXPECT_EQ(pass.next_lane, 1);
}

TEST(RightsTest, LeasesALaneOfWhichNothingIsLeft) {
  PassRights pass = Leased();
  ASSERT_THAT(Apply(pass, {.leased = Lease{0, {}}}), IsOk());
  EXPECT_EQ(pass.next_lane, 2);
  EXPECT_EQ(pass.rights.size(), 2);
}

TEST(RightsTest, MovesASuffix) {
  PassRights pass = Leased();
  ASSERT_THAT(Moves(pass, {2, 28, kRowsMax, 0}), IsOk());
  EXPECT_THAT(pass.rights,
              ElementsAre(OwnedRight{{1, 0, 0, 10}, 1}, OwnedRight{{2, 0, 20, 28}, 1},
                          OwnedRight{{3, 0, 28, kRowsMax}, 0}));
}

TEST(RightsTest, LeavesWhatIsAroundAMoveWithItsOwner) {
  PassRights pass = Leased();
  ASSERT_THAT(Moves(pass, {1, 4, 8, 0}), IsOk());
  EXPECT_THAT(
      pass.rights,
      ElementsAre(OwnedRight{{1, 0, 0, 4}, 1}, OwnedRight{{2, 0, 20, kRowsMax}, 1},
                  OwnedRight{{3, 0, 4, 8}, 0}, OwnedRight{{4, 0, 8, 10}, 1}));
}

TEST(RightsTest, MovesAWholeRightUnderANewNumber) {
  PassRights pass = Leased();
  ASSERT_THAT(Moves(pass, {1, 0, 10, 0}), IsOk());
  EXPECT_EQ(Find(pass, 1), nullptr);
  ASSERT_NE(Find(pass, 3), nullptr);
  EXPECT_EQ(Find(pass, 3)->consumer, 0);
}

TEST(RightsTest, LosesRows) {
  PassRights pass = Leased();
  ASSERT_THAT(Moves(pass, {1, 4, 10, api::kToNobody}), IsOk());
  EXPECT_THAT(pass.rights, ElementsAre(OwnedRight{{1, 0, 0, 4}, 1},
                                       OwnedRight{{2, 0, 20, kRowsMax}, 1}));
}

TEST(RightsTest, KnowsAnOldPromise) {
  PassRights pass = Leased();
  const api::Promise promise{1, 4, 10, 0};
  EXPECT_TRUE(MayMove(pass, 1, promise));
  EXPECT_FALSE(MayMove(pass, 0, promise)) << "it is another's";
  EXPECT_FALSE(MayMove(pass, 1, {1, 4, 4, 0})) << "nothing";
  EXPECT_FALSE(MayMove(pass, 1, {1, 4, 11, 0})) << "beyond its end";
  EXPECT_FALSE(MayMove(pass, 1, {9, 4, 10, 0})) << "no such right";
  ASSERT_THAT(Moves(pass, promise), IsOk());
  EXPECT_FALSE(MayMove(pass, 1, promise)) << "it was kept";
  const PassRights before = pass;
  EXPECT_THAT(Moves(pass, promise), StatusIs(StatusCode::kDataLoss));
  EXPECT_EQ(pass, before);
}

TEST(RightsTest, CountsWhatIsFinished) {
  PassRights pass = Leased();
  EXPECT_TRUE(MayReach(pass, 1, {1, 10}));
  EXPECT_FALSE(MayReach(pass, 1, {1, 11}));
  EXPECT_FALSE(MayReach(pass, 0, {1, 10}));
  ASSERT_THAT(Apply(pass, {.finished = api::RightPlace{1, 10}}), IsOk());
  EXPECT_THAT(pass.tallies, ElementsAre(Tally{}, Tally{2, 2}));
  EXPECT_EQ(Find(pass, 1), nullptr);
  EXPECT_FALSE(MayReach(pass, 1, {1, 10})) << "once";
  EXPECT_THAT(Apply(pass, {.finished = api::RightPlace{1, 10}}),
              StatusIs(StatusCode::kDataLoss));
}

TEST(RightsTest, CountsADealtBatchOnce) {
  PassRights pass = Leased();
  ASSERT_THAT(Moves(pass, {1, 8, 10, 0}, 7), IsOk());
  ASSERT_THAT(Moves(pass, {1, 7, 8, 0}, 7), IsOk());
  EXPECT_EQ(pass.next_group, 8);
  ASSERT_THAT(Apply(pass, {.finished = api::RightPlace{3, 10}}), IsOk());
  EXPECT_THAT(pass.tallies, ElementsAre(Tally{}));
  ASSERT_THAT(Apply(pass, {.finished = api::RightPlace{4, 8}}), IsOk());
  EXPECT_THAT(pass.tallies, ElementsAre(Tally{1, 0}));
}

TEST(RightsTest, RedoesARightUnderANewNumber) {
  PassRights pass = Leased();
  ASSERT_THAT(Apply(pass, {.redone = api::RightPlace{1, 8}}), IsOk());
  EXPECT_THAT(pass.tallies, ElementsAre(Tally{}, Tally{2, 0}));
  EXPECT_EQ(Find(pass, 1), nullptr);
  ASSERT_NE(Find(pass, 3), nullptr);
  EXPECT_EQ(*Find(pass, 3), (OwnedRight{{3, 0, 0, 10}, 1}));
}

TEST(RightsTest, CountsStopAtWhatCanBe) {
  int64_t count = lanes::kRowsMax - 1;
  Increase(count, 1);
  EXPECT_EQ(count, lanes::kRowsMax);
  Increase(count, lanes::kRowsMax);
  EXPECT_EQ(count, lanes::kRowsMax);
}

// --- Beginning where others are ---

PassRights Late(int64_t lanes) {
  PassRights pass;
  EXPECT_THAT(Apply(pass, {.begun = api::PassFacts{.lanes = lanes, .batch_rows = 4},
                           .late = LateStart{2, {{2, 8}, {3, 4}}}}),
              IsOk());
  return pass;
}

TEST(RightsTest, WhoComesLateIsLeasedWhatIsOpenThenWhatIsBehindThenWhatItMissed) {
  PassRights pass = Late(5);
  std::vector<std::tuple<int64_t, int64_t, int64_t>> leased;
  while (!IsLeased(pass)) {
    const auto [lane, rows] = LaneOfLease(pass, pass.next_lane);
    EXPECT_TRUE(IsToBeLeased(pass, lane));
    leased.emplace_back(lane, rows.begin, rows.end);
    ASSERT_THAT(Apply(pass, {.leased = Lease{0, {rows}}}), IsOk());
    EXPECT_EQ(pass.rights.back().right.lane, lane);
  }
  EXPECT_THAT(leased,
              ElementsAre(std::tuple(2, 8, kRowsMax), std::tuple(3, 4, kRowsMax),
                          std::tuple(4, 0, kRowsMax), std::tuple(0, 0, kRowsMax),
                          std::tuple(1, 0, kRowsMax), std::tuple(2, 0, 8),
                          std::tuple(3, 0, 4)));
  for (int64_t lane = 0; lane < 5; ++lane) EXPECT_FALSE(IsToBeLeased(pass, lane));
}

TEST(RightsTest, WithoutAnEndWhatWasMissedIsNot) {
  PassRights pass = Late(api::kEndless);
  EXPECT_FALSE(IsToBeLeased(pass, 1));
  EXPECT_TRUE(IsToBeLeased(pass, 2));
  EXPECT_EQ(LaneOfLease(pass, 0).lane, 2);
  EXPECT_EQ(LaneOfLease(pass, 0).rows.begin, 8);
  EXPECT_EQ(LaneOfLease(pass, 100).lane, 102);
  EXPECT_FALSE(IsLeased(pass));
}

}  // namespace
}  // namespace millrace::control
