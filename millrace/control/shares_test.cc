#include "millrace/control/shares.h"

#include <cstdint>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/rights.h"
#include "millrace/control/rights.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"

namespace millrace::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Batches of 4 rows; all lanes are leased. A right ends where it says, or is known to
// have 9 rows.
PassRights Pass(std::vector<OwnedRight> rights) {
  PassRights pass;
  pass.facts = {.lanes = 3, .batch_rows = 4};
  pass.next_lane = 3;
  pass.next_number = 100;
  pass.rights = std::move(rights);
  return pass;
}

Shares Count(const PassRights& pass, int64_t consumers) {
  return CountShares(pass, consumers, [](const OwnedRight& owned) -> lanes::KnownLane {
    if (owned.right.end < lanes::kRowsMax) return {owned.right.end, true};
    return {9, false};
  });
}

TEST(SharesTest, CountsBatchesAndTails) {
  PassRights pass = Pass({{{1, 0, 0, 10}, 0}, {{2, 1, 0, lanes::kRowsMax}, 1}});
  pass.tallies = {{5, 3}};
  const Shares shares = Count(pass, 2);
  EXPECT_THAT(shares.of, ElementsAre(Share{7, 5, 1, 0}, Share{2, 0, 1, 1}));
  // 7 and 2 whole ones, and one of 5 rows of tails.
  EXPECT_EQ(shares.batches, 10);
  EXPECT_FALSE(shares.ended);
}

TEST(SharesTest, HasEndedOnceAllIsLeasedAndKnown) {
  PassRights pass = Pass({{{1, 0, 0, 10}, 0}});
  EXPECT_TRUE(Count(pass, 1).ended);
  pass.next_lane = 2;
  EXPECT_FALSE(Count(pass, 1).ended);
}

TEST(SharesTest, CountsAllWithWhatIsJoined) {  // 2 + 1, and 2 + 3 + 1 rows.
  PassRights pass =
      Pass({{{1, 0, 0, 10}, 0}, {{2, 1, 0, 7}, 1}, {{3, 2, 3, 4}, api::kToLeftovers}});
  EXPECT_EQ(CountAll(pass, Count(pass, 2)), 5);
  pass.facts.drop_remainder = true;
  EXPECT_EQ(CountAll(pass, Count(pass, 2)), 4);
}

TEST(SharesTest, CountsRowsThatFillNoRound) {  // 10 + 7 + 1 rows: 5 batches, 2 each.
  PassRights pass =
      Pass({{{1, 0, 0, 10}, 0}, {{2, 1, 0, 7}, 1}, {{3, 2, 3, 4}, api::kToLeftovers}});
  pass.batches = 5;
  EXPECT_EQ(LeftOutRows(pass, Count(pass, 2), 2, "drop"), 2);
  EXPECT_EQ(LeftOutRows(pass, Count(pass, 2), 2, "keep"), 0);
  pass.batches = 4;
  pass.facts.drop_remainder = true;
  EXPECT_EQ(LeftOutRows(pass, Count(pass, 2), 2, "drop"), 0);
}

TEST(SharesTest, CountsADealtBatchAsOne) {
  const PassRights pass = Pass({{{1, 0, 8, 10, 5}, 0}, {{2, 1, 4, 6, 5}, 0}});
  EXPECT_THAT(Count(pass, 1).of, ElementsAre(Share{1, 0, 2, 0}));
}

TEST(SharesTest, EndsTogether) {
  EXPECT_THAT(QuotasOf(8, 3, "drop"), ElementsAre(Quota{2}, Quota{2}, Quota{2}));
  EXPECT_THAT(QuotasOf(8, 3, "keep"), ElementsAre(Quota{3}, Quota{3}, Quota{2}));
  EXPECT_THAT(QuotasOf(7, 3, "pad"), ElementsAre(Quota{3}, Quota{2, 0}, Quota{2, 1}));
  EXPECT_THAT(QuotasOf(6, 3, "pad"), ElementsAre(Quota{2}, Quota{2}, Quota{2}));
  EXPECT_THAT(QuotasOf(5, 1, ""), ElementsAre(Quota{5}));
}

TEST(SharesTest, AsksThoseThatHaveTooMany) {  // 5, 0 and 1 of 6: two each.
  const PassRights pass = Pass({{{1, 0, 0, 20}, 0}, {{2, 1, 0, 4}, 2}});
  const Shares shares = Count(pass, 3);
  const std::vector<Quota> quotas = QuotasOf(6, 3, "drop");
  EXPECT_FALSE(IsServed(pass, shares, quotas));
  EXPECT_THAT(
      AskForBatches(pass, shares, quotas),
      ElementsAre(ElementsAre(api::Ask{1, 2}, api::Ask{2, 1}), IsEmpty(), IsEmpty()));
}

TEST(SharesTest, AsksNobodyOnceAllAreServed) {
  const PassRights pass = Pass({{{1, 0, 0, 8}, 0}, {{2, 1, 0, 12}, 1}});
  const Shares shares = Count(pass, 2);
  EXPECT_TRUE(IsServed(pass, shares, QuotasOf(5, 2, "drop")));
  EXPECT_THAT(AskForBatches(pass, shares, QuotasOf(5, 2, "drop")),
              ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(SharesTest, AsksEachOwnerOfAnOpenLaneInTurn) {
  const int64_t open = lanes::kRowsMax;
  const PassRights pass = Pass({{{1, 0, 0, open}, 0}, {{2, 1, 0, open}, 1}});
  const Shares shares = Count(pass, 3);
  const api::Ask ask{2, 0};
  EXPECT_THAT(AskForLanes(shares, {2}, 0),
              ElementsAre(ElementsAre(ask), IsEmpty(), IsEmpty()));
  EXPECT_THAT(AskForLanes(shares, {2}, 1),
              ElementsAre(IsEmpty(), ElementsAre(ask), IsEmpty()));
  EXPECT_THAT(AskForLanes(shares, {1}, 0), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()))
      << "it has one, but does not know yet";
}

// --- Leftovers ---

TEST(SharesTest, DealsLeftoversInLaneOrder) {  // 2 + 3 + 1 rows: two batches.
  const int64_t pool = api::kToLeftovers;
  const PassRights pass =
      Pass({{{1, 2, 8, 10}, pool}, {{2, 0, 4, 7}, pool}, {{3, 1, 0, 1}, pool}});
  std::vector<Move> moves = DealLeftovers(pass, Count(pass, 2), QuotasOf(2, 2, "keep"));
  // Those behind come first.
  EXPECT_THAT(moves, ElementsAre(Move{{1, 8, 10, 1}, 2}, Move{{3, 0, 1, 0}, 1},
                                 Move{{2, 4, 7, 0}, 1}));
  PassRights dealt = pass;
  for (const Move& move : moves) EXPECT_TRUE(Apply(dealt, {.moved = move}).ok());
  EXPECT_EQ(Count(dealt, 2).leftover_rows, 0);
  EXPECT_TRUE(IsServed(dealt, Count(dealt, 2), QuotasOf(2, 2, "keep")));
}

TEST(SharesTest, CutsALeftoverWhereABatchEnds) {
  const int64_t pool = api::kToLeftovers;
  const PassRights pass = Pass({{{1, 0, 4, 7}, pool}, {{2, 1, 0, 3}, pool}});
  PassRights dealt = pass;
  for (const Move& move : DealLeftovers(pass, Count(pass, 2), QuotasOf(2, 2, "keep"))) {
    ASSERT_TRUE(Apply(dealt, {.moved = move}).ok());
  }
  std::map<int64_t, int64_t> rows;
  for (const OwnedRight& owned : dealt.rights) {
    rows[owned.consumer] += owned.right.end - owned.right.begin;
  }
  EXPECT_EQ(rows, (std::map<int64_t, int64_t>{{0, 4}, {1, 2}}));
}

TEST(SharesTest, DealsNothingWhileSomebodyHasATail) {
  const PassRights pass = Pass({{{1, 0, 4, 7}, api::kToLeftovers}, {{2, 1, 0, 5}, 0}});
  EXPECT_THAT(DealLeftovers(pass, Count(pass, 1), QuotasOf(2, 1, "")), IsEmpty());
}

TEST(SharesTest, LeavesOutWhatNobodyLacks) {
  const PassRights pass =
      Pass({{{1, 0, 4, 7}, api::kToLeftovers}, {{2, 1, 0, 4}, 0}, {{3, 2, 0, 4}, 1}});
  EXPECT_THAT(DealLeftovers(pass, Count(pass, 2), QuotasOf(3, 2, "drop")), IsEmpty());
}

TEST(SharesTest, DropsAShortLastBatch) {
  PassRights pass = Pass({{{1, 0, 0, 5}, api::kToLeftovers}});
  pass.facts.drop_remainder = true;
  const std::vector<Move> moves =
      DealLeftovers(pass, Count(pass, 1), QuotasOf(2, 1, ""));
  EXPECT_THAT(moves, ElementsAre(Move{{1, 0, 4, 0}, 1}));
}

}  // namespace
}  // namespace millrace::control
