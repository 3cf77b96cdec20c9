#include "millrace/lanes/tracks.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/bytes.h"
#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

using absl::StatusCode;
using base::IsOkAndHolds;
using base::StatusIs;
using base::literals::operator""_GiB;
using base::literals::operator""_MiB;
using testing::HasSubstr;

using Ranges = std::vector<LaneRange>;

// The batches as in the figure of tracks.h: a letter for each row, by lane.
std::string Letters(const Order& order) {
  std::string batches;
  for (int64_t position = 0; position < order.positions(); ++position) {
    if (position > 0) batches.append(" ");
    for (const LaneRange& range : order.At(position)) {
      batches.append(range.rows(), static_cast<char>('a' + range.lane));
    }
  }
  return batches;
}

// --- How many tracks ---

TEST(TracksTest, ChoosesTheSmallestMultipleOfTheConsumersFrom16On) {
  EXPECT_THAT(TrackCount({.consumers = 1}), IsOkAndHolds(16));
  EXPECT_THAT(TrackCount({.consumers = 3}), IsOkAndHolds(18));
  EXPECT_THAT(TrackCount({.consumers = 8}), IsOkAndHolds(16));
  EXPECT_THAT(TrackCount({.consumers = 16}), IsOkAndHolds(16));
  EXPECT_THAT(TrackCount({.consumers = 17}), IsOkAndHolds(17));
  EXPECT_THAT(TrackCount({.consumers = 4096}), IsOkAndHolds(4096));
}

TEST(TracksTest, TakesWhatTheUserAsksFor) {
  EXPECT_THAT(TrackCount({.consumers = 8, .open_lanes = 5}), IsOkAndHolds(5));
  EXPECT_THAT(TrackCount({.consumers = 8, .open_lanes = 1, .lane_bytes = 9_GiB}),
              IsOkAndHolds(1));
}

TEST(TracksTest, TakesFewerWhereLanesNeedMuchMemory) {
  // 4 GiB hold 16 lanes of 256 MiB, 13 of 300 MiB: 12 is a multiple of 4.
  EXPECT_THAT(TrackCount({.consumers = 4, .lane_bytes = 256_MiB}), IsOkAndHolds(16));
  EXPECT_THAT(TrackCount({.consumers = 4, .lane_bytes = 300_MiB}), IsOkAndHolds(12));
  EXPECT_THAT(TrackCount({.consumers = 8, .lane_bytes = 1_GiB}), IsOkAndHolds(4));
  EXPECT_THAT(TrackCount({.consumers = 8, .lane_bytes = 5_GiB}), IsOkAndHolds(1));
}

TEST(TracksTest, RefusesAbsurdNumbers) {
  const auto refuses = [](const TrackFacts& facts, const std::string& message) {
    EXPECT_THAT(TrackCount(facts),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  refuses({.consumers = 0}, "consumers must be 1 to 65536, not 0");
  refuses({.consumers = INT64_MAX}, "consumers");
  refuses({.open_lanes = -1}, "open_lanes must be 0 to 65536, not -1");
  refuses({.open_lanes = 65'537}, "open_lanes");
}

// --- The order ---

TEST(TracksTest, GivesTheOrderOfTheFigure) {
  const TrackOrder order(DealAll({5, 5, 3}, 2), {.rows = 2});
  EXPECT_EQ(Letters(order), "aa bb aa bb cc ac b");
}

TEST(TracksTest, GoesRoundTheTracks) {
  const TrackOrder order(DealAll({4, 4, 4, 4}, 2), {.rows = 2});
  EXPECT_EQ(Letters(order), "aa bb aa bb cc dd cc dd");
  EXPECT_EQ(order.At(6), (Ranges{{2, 2, 4}}));
}

TEST(TracksTest, PassesOverATrackThatHasNoMore) {
  const TrackOrder order(DealAll({2, 6, 4}, 3), {.rows = 2});
  EXPECT_EQ(Letters(order), "aa bb cc bb cc bb");
}

TEST(TracksTest, BeginsWithTheTurn) {
  Rest rest = DealAll({2, 6, 4}, 3);
  rest.turn = 2;
  const TrackOrder order(rest, {.rows = 2});
  EXPECT_EQ(Letters(order), "cc aa bb cc bb bb");
}

TEST(TracksTest, JoinsWhatIsLeftInTrackOrderWhateverTheTurn) {
  Rest rest = DealAll({1, 2, 2}, 3);
  rest.turn = 2;
  EXPECT_EQ(Letters(TrackOrder(rest, {.rows = 3})), "abb cc");
}

TEST(TracksTest, DropsAShortLastBatchOnce) {
  const Rest rest = DealAll({3, 3, 3}, 3);
  EXPECT_EQ(Letters(TrackOrder(rest, {.rows = 2})), "aa bb cc ab c");
  EXPECT_EQ(Letters(TrackOrder(rest, {.rows = 2, .drop_remainder = true})),
            "aa bb cc ab");
}

TEST(TracksTest, HasOnlyWholeBatchesWhereLanesAreWholeBatches) {
  const TrackOrder order(DealAll({8, 8, 8, 4}, 2), {.rows = 4});
  for (int64_t position = 0; position < order.positions(); ++position) {
    EXPECT_EQ(order.At(position).size(), 1);
    EXPECT_EQ(order.At(position)[0].rows(), 4);
  }
}

TEST(TracksTest, HasNothingInAnEmptyPass) {
  const TrackOrder order(DealAll({}, 4), {.rows = 2});
  EXPECT_EQ(order.positions(), 0);
  EXPECT_EQ(order.After(0).rows(), 0);
}

TEST(TracksTest, AcceptsABatchLargerThanAnything) {
  const TrackOrder order(DealAll({5, 4}, 2), {.rows = INT64_MAX});
  EXPECT_EQ(order.positions(), 1);
  EXPECT_EQ(order.At(0), (Ranges{{0, 0, 5}, {1, 0, 4}}));
  EXPECT_EQ(order.After(1).rows(), 0);
}

TEST(TracksTest, TellsWhatIsLeft) {
  const TrackOrder order(DealAll({5, 5, 3}, 2), {.rows = 2});
  const Rest rest = order.After(3);  // aa bb aa
  EXPECT_EQ(rest.turn, 1);
  EXPECT_EQ(rest.tracks[0], (Track{{}, {{0, 4, 5}, {2, 0, 3}}}));
  EXPECT_EQ(rest.tracks[1], (Track{{}, {{1, 2, 5}}}));
  EXPECT_EQ(rest.deal, DealAll({5, 5, 3}, 2).deal);

  const Rest later = order.After(5);  // aa bb aa bb cc
  EXPECT_EQ(later.turn, 1);
  EXPECT_EQ(later.tracks[0], (Track{{{0, 4, 5}}, {{2, 2, 3}}}));
  EXPECT_EQ(later.tracks[1], (Track{{}, {{1, 4, 5}}}));
  EXPECT_EQ(order.After(7).rows(), 0);
}

TEST(TracksTest, JoinsTailsOfATrackThatWasPassedOver) {
  const TrackOrder order(DealAll({5, 5, 3}, 2), {.rows = 2});
  const Rest rest = order.After(6);  // Before the last two, track 1 had no more.
  EXPECT_EQ(rest.turn, 1);
  EXPECT_EQ(rest.tracks[0], (Track{{}, {}}));
  EXPECT_EQ(rest.tracks[1], (Track{{{1, 4, 5}}, {}}));
}

TEST(TracksTest, TellsWhatIsLeftOfWhatIsJoinedAtTheEnd) {
  const TrackOrder order(DealAll({3, 3, 3}, 3), {.rows = 2});
  const Rest rest = order.After(4);  // aa bb cc ab
  EXPECT_EQ(rest.turn, 0);
  EXPECT_EQ(rest.tracks[0].carry, Ranges{});
  EXPECT_EQ(rest.tracks[2].carry, (Ranges{{2, 2, 3}}));
}

TEST(TracksTest, SharesPositionsAmongConsumersInTurn) {
  EXPECT_EQ(Owner(0, 4), 0);
  EXPECT_EQ(Owner(7, 4), 3);
  EXPECT_EQ(Owner(8, 4), 0);
}

TEST(TracksTest, GivesATrackOneReaderWhereConsumersDivideTracks) {
  const TrackOrder order(DealAll(std::vector<int64_t>(12, 40), 6), {.rows = 4});
  for (int64_t position = 0; position < order.positions(); ++position) {
    const int64_t track = order.At(position)[0].lane % 6;
    EXPECT_EQ(Owner(position, 3), track % 3);
  }
}

TEST(TracksTest, FindsAPlaceAmongManyLanes) {
  // 2^20 lanes of 2^40 rows, 16 tracks, batches of 2^10: a lane is 2^30 batches.
  const int64_t rows = int64_t{1} << 40;
  const TrackOrder order(DealAll(std::vector<int64_t>(1 << 20, rows), 16),
                         {.rows = 1024});
  EXPECT_EQ(order.positions(), int64_t{1} << 50);
  // Round 2^30 is the first of the second lane of each track.
  const int64_t position = (int64_t{16} << 30) + 5;
  EXPECT_EQ(order.At(position), (Ranges{{16 + 5, 0, 1024}}));
  EXPECT_EQ(order.At(position - 16), (Ranges{{5, rows - 1024, rows}}));
}

TEST(TracksTest, RefusesWhatItIsNotMadeFor) {
  EXPECT_DEATH(TrackOrder(Rest(), {}), "tracks");
  EXPECT_DEATH(TrackOrder(DealAll({5}, 2), {.rows = 0}), "batch_rows >= 1");
  Rest rest = DealAll({5}, 2);
  rest.turn = 2;
  EXPECT_DEATH(TrackOrder(rest, {}), "turn");
  const TrackOrder order(DealAll({5}, 2), {.rows = 5});
  EXPECT_DEATH(order.At(1), "position");
  EXPECT_DEATH(order.After(2), "taken");
}

// Going on from what is left is the same as not having stopped, at every position.
TEST(TracksTest, GoesOnAsIfNothingHadHappened) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    std::vector<int64_t> lane_rows(random.Integer(0, 12));
    for (int64_t& rows : lane_rows) rows = random.Integer(0, 14);
    const Batching batching{random.Integer(1, 6), random.Integer(0, 2) == 0};
    const TrackOrder whole(DealAll(lane_rows, random.Integer(1, 6)), batching);
    const int64_t stop = random.Integer(0, whole.positions() + 1);
    const TrackOrder rest(whole.After(stop), batching);
    ASSERT_EQ(rest.positions(), whole.positions() - stop) << "seed " << seed;
    for (int64_t position = stop; position < whole.positions(); ++position) {
      ASSERT_EQ(rest.At(position - stop), whole.At(position)) << "seed " << seed;
      ASSERT_EQ(rest.After(position - stop), whole.After(position)) << "seed " << seed;
    }
    ASSERT_EQ(rest.After(rest.positions()), whole.After(whole.positions()));
  }
}

}  // namespace
}  // namespace millrace::lanes
