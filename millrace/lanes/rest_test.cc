#include "millrace/lanes/rest.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/lanes/lane_set.h"

namespace millrace::lanes {
namespace {

using Ranges = std::vector<LaneRange>;

TEST(RestTest, DealsLanesRoundTheTracks) {
  const Rest rest = DealAll({10, 11, 12, 13, 14}, 2);
  ASSERT_EQ(rest.tracks.size(), 2);
  EXPECT_EQ(rest.tracks[0].lanes, (Ranges{{0, 0, 10}, {2, 0, 12}, {4, 0, 14}}));
  EXPECT_EQ(rest.tracks[1].lanes, (Ranges{{1, 0, 11}, {3, 0, 13}}));
  EXPECT_TRUE(rest.tracks[0].carry.empty());
  EXPECT_EQ(rest.turn, 0);
  EXPECT_EQ(rest.rows(), 60);
  EXPECT_TRUE(rest.deal.first.empty());
  EXPECT_EQ(rest.deal.others.ToString(), "0-4");
}

TEST(RestTest, LeavesSomeTracksEmptyWhereLanesAreFew) {
  const Rest rest = DealAll({10}, 4);
  ASSERT_EQ(rest.tracks.size(), 4);
  EXPECT_EQ(rest.tracks[0].lanes.size(), 1);
  EXPECT_TRUE(rest.tracks[3].lanes.empty());
}

TEST(RestTest, PassesOverLanesWithoutRowsButKeepsTheirNumber) {
  const Rest rest = DealAll({10, 0, 12}, 2);
  EXPECT_EQ(rest.tracks[0].lanes, (Ranges{{0, 0, 10}, {2, 0, 12}}));
  EXPECT_TRUE(rest.tracks[1].lanes.empty());
}

TEST(RestTest, DealsNothing) {
  EXPECT_EQ(DealAll({}, 3).rows(), 0);
  EXPECT_EQ(DealAnew(DealAll({}, 3), 2).rows(), 0);
}

TEST(RestTest, NeedsATrack) {
  EXPECT_DEATH(DealAll({1}, 0), "tracks >= 1");
  EXPECT_DEATH(DealAnew(DealAll({1}, 1), 0), "tracks >= 1");
}

// Three tracks, the second is next: lanes 4, 2 and 3 are open, 0 and 1 in carries.
Rest Interrupted() {
  Rest rest;
  rest.deal.others.Add(0, 9);
  rest.tracks = {
      {.carry = {{0, 9, 10}}, .lanes = {{3, 4, 10}, {6, 0, 10}}},
      {.carry = {{1, 0, 3}}, .lanes = {{4, 8, 10}, {7, 0, 10}}},
      {.carry = {}, .lanes = {{2, 2, 10}, {5, 0, 10}, {8, 0, 10}}},
  };
  rest.turn = 1;
  return rest;
}

TEST(RestTest, CountsRowsInCarriesToo) {
  EXPECT_EQ(Interrupted().rows(), (1 + 6 + 10) + (3 + 2 + 10) + (8 + 10 + 10));
}

TEST(RestTest, DealsOpenLanesFirstInTheOrderOfTheirTurns) {
  // In turns from the second track on: 1, 2, 0, then what they have next: 4, 3.
  const Rest dealt = DealAnew(Interrupted(), 1);
  EXPECT_EQ(dealt.deal.first, (std::vector<int64_t>{1, 2, 0, 4, 3}));
  EXPECT_EQ(dealt.deal.others.ToString(), "5-8");
  ASSERT_EQ(dealt.tracks.size(), 1);
  EXPECT_EQ(dealt.tracks[0].lanes, (Ranges{{1, 0, 3},
                                           {2, 2, 10},
                                           {0, 9, 10},
                                           {4, 8, 10},
                                           {3, 4, 10},
                                           {5, 0, 10},
                                           {6, 0, 10},
                                           {7, 0, 10},
                                           {8, 0, 10}}));
  EXPECT_TRUE(dealt.tracks[0].carry.empty());
  EXPECT_EQ(dealt.turn, 0);
}

TEST(RestTest, DealsAnewToSeveralTracks) {
  const Rest dealt = DealAnew(Interrupted(), 2);
  ASSERT_EQ(dealt.tracks.size(), 2);
  EXPECT_EQ(dealt.tracks[0].lanes,
            (Ranges{{1, 0, 3}, {0, 9, 10}, {3, 4, 10}, {6, 0, 10}, {8, 0, 10}}));
  EXPECT_EQ(dealt.tracks[1].lanes,
            (Ranges{{2, 2, 10}, {4, 8, 10}, {5, 0, 10}, {7, 0, 10}}));
}

Rest RandomRest(base::Generator& random) {
  const int64_t tracks = random.Integer(1, 6);
  std::vector<int64_t> lane_rows(random.Integer(0, 20));
  for (int64_t& rows : lane_rows) rows = random.Integer(1, 10);
  Rest rest = DealAll(lane_rows, tracks);
  rest.turn = random.Integer(0, tracks);
  for (Track& track : rest.tracks) {
    while (!track.lanes.empty() && random.Integer(0, 3) > 0) {  // Some in the carry.
      LaneRange range = track.lanes.front();
      range.begin = random.Integer(0, range.end);
      track.lanes.erase(track.lanes.begin());
      track.carry.push_back(range);
    }
    if (!track.lanes.empty()) {
      track.lanes[0].begin = random.Integer(0, track.lanes[0].end);
    }
  }
  return rest;
}

TEST(RestTest, DealingTwiceIsDealingOnce) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    const Rest rest = RandomRest(random);
    const int64_t tracks = random.Integer(1, 7);
    const Rest once = DealAnew(rest, tracks);
    ASSERT_EQ(DealAnew(DealAnew(rest, random.Integer(1, 7)), tracks), once)
        << "seed " << seed;
    ASSERT_EQ(once.rows(), rest.rows()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace millrace::lanes
