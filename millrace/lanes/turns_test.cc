#include "millrace/lanes/turns.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/tracks.h"

namespace millrace::lanes {
namespace {

using base::IsOk;
using testing::ElementsAre;
using Kind = Turns::Kind;

base::Generator Seeded(uint64_t seed) {
  return base::Generator(base::RandomKey(seed, 0, 0), {});
}

std::vector<int64_t> RandomLaneRows(base::Generator& random) {
  std::vector<int64_t> rows(random.Integer(0, 20));
  for (int64_t& lane : rows) lane = random.Integer(0, 4) * random.Integer(0, 6);
  return rows;
}

// Some way into a pass, so that there are cursors and a carry.
Rest RandomRest(const std::vector<int64_t>& lane_rows, base::Generator& random) {
  const Rest whole = DealAll(lane_rows, random.Integer(1, 6));
  const TrackOrder before(whole, {.rows = random.Integer(1, 6)});
  return before.After(random.Integer(0, before.positions() + 1));
}

// The same, with nobody knowing where lanes end.
Rest WithoutEnds(Rest rest) {
  for (Track& track : rest.tracks) {
    for (LaneRange& range : track.carry) range.end = kRowsMax;
    for (LaneRange& range : track.lanes) range.end = kRowsMax;
  }
  return rest;
}

TEST(TurnsTest, GivesWhatTheDefinitionGives) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const Rest rest = RandomRest(RandomLaneRows(random), random);
    const Batching batching{random.Integer(1, 6), random.Integer(0, 2) == 1};
    const TrackOrder order(rest, batching);
    Turns turns(rest, batching);
    for (int64_t position = 0; position < order.positions(); ++position) {
      ASSERT_EQ(turns.position(), position);
      ASSERT_EQ(turns.rest(), order.After(position)) << "seed " << seed;
      const Turns::Step step = turns.Next({});
      ASSERT_EQ(step.kind, Kind::kBatch);
      ASSERT_EQ(step.rows, order.At(position)) << "seed " << seed;
    }
    ASSERT_EQ(turns.rest(), order.After(order.positions())) << "seed " << seed;
    ASSERT_EQ(turns.Next({}).kind, Kind::kEnd);
    ASSERT_EQ(turns.Next({}).kind, Kind::kEnd);
  }
}

// Lanes are learnt bit by bit; whatever is decided meanwhile is what it would have
// been.
TEST(TurnsTest, DecidesTheSameFromWhatIsLearntLate) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    base::Generator random = Seeded(seed);
    const std::vector<int64_t> lane_rows = RandomLaneRows(random);
    const Rest rest = RandomRest(lane_rows, random);
    const Batching batching{random.Integer(1, 6), random.Integer(0, 2) == 1};
    const TrackOrder order(rest, batching);
    Turns turns(WithoutEnds(rest), batching);
    KnownLanes known;
    while (true) {
      const Rest before = turns.rest();
      const Turns::Step step = turns.Next(known);
      if (step.kind == Kind::kEnd) break;
      if (step.kind == Kind::kBatch) {
        ASSERT_LE(turns.position(), order.positions()) << "seed " << seed;
        ASSERT_EQ(step.rows, order.At(turns.position() - 1)) << "seed " << seed;
        continue;
      }
      ASSERT_EQ(turns.rest(), before) << "undecided, yet something changed";
      ASSERT_GE(step.lane, 0);
      KnownLane lane = known.Get(step.lane);
      lane.ended = lane.rows == lane_rows[step.lane];
      lane.rows = std::min(lane.rows + random.Integer(1, 5), lane_rows[step.lane]);
      ASSERT_THAT(known.Learn(step.lane, lane), IsOk());
    }
    ASSERT_EQ(turns.position(), order.positions()) << "seed " << seed;
  }
}

TEST(TurnsTest, SaysWhichLaneItWaitsFor) {
  Turns turns(WithoutEnds(DealAll({9, 9}, 2)), {.rows = 2});
  KnownLanes known;
  EXPECT_EQ(turns.Next(known).lane, 0);
  ASSERT_THAT(known.Learn(0, {.rows = 3}), IsOk());
  EXPECT_THAT(turns.Next(known).rows, ElementsAre(LaneRange{0, 0, 2}));
  EXPECT_EQ(turns.Next(known).lane, 1);
}

TEST(TurnsTest, DealsMoreToAPassWithoutEnd) {
  Turns turns(DealAll({2, 2}, 2), {.rows = 2}, /*endless=*/true);
  Turns whole(DealAll({2, 2, 3, 1, 2}, 2), {.rows = 2}, /*endless=*/true);
  const auto next = [](Turns& from) { return from.Next({}); };
  EXPECT_EQ(next(turns).rows, next(whole).rows);
  EXPECT_EQ(next(turns).rows, next(whole).rows);
  EXPECT_EQ(next(turns).kind, Kind::kUnknown);
  EXPECT_EQ(next(turns).lane, -1) << "no lane to ask about: it wants more";
  turns.DealMore({2, 0, 3});
  turns.DealMore({3, 0, 1});
  turns.DealMore({4, 0, 2});
  EXPECT_EQ(turns.rest(), whole.rest());
  EXPECT_EQ(next(turns).rows, next(whole).rows);
  EXPECT_EQ(next(turns).kind, Kind::kUnknown) << "track 1 has one row, and wants more";
}

TEST(TurnsTest, ListsTheLanesThatAreNeededNext) {
  Turns turns(DealAll({5, 5, 5, 5, 5}, 2), {.rows = 2});
  EXPECT_THAT(turns.Ahead(0, {}), ElementsAre(LaneRange{0, 0, 5}, LaneRange{1, 0, 5}));
  turns.Next({});
  EXPECT_THAT(turns.Ahead(1, {}), ElementsAre(LaneRange{1, 0, 5}, LaneRange{0, 2, 5},
                                              LaneRange{3, 0, 5}, LaneRange{2, 0, 5}));
}

TEST(TurnsTest, LooksBehindLanesThatGiveNoBatch) {
  Turns turns(WithoutEnds(DealAll({5, 1, 1, 9}, 1)), {.rows = 4});
  KnownLanes known;
  EXPECT_EQ(turns.Ahead(0, known).size(), 1);
  ASSERT_THAT(known.Learn(0, {3, true}), IsOk());
  EXPECT_THAT(turns.Ahead(0, known),
              ElementsAre(LaneRange{0, 0, kRowsMax}, LaneRange{1, 0, kRowsMax}));
  ASSERT_THAT(known.Learn(1, {0, true}), IsOk());
  EXPECT_EQ(turns.Ahead(0, known).size(), 3);
  EXPECT_EQ(turns.Ahead(1, known).size(), 4);
  EXPECT_TRUE(turns.HasMore(known));
  ASSERT_THAT(known.Learn(2, {0, true}), IsOk());
  EXPECT_EQ(turns.Ahead(1, known).size(), turns.Ahead(0, known).size());
  EXPECT_FALSE(turns.HasMore(known)) << "the last lane is the current one";
}

}  // namespace
}  // namespace millrace::lanes
