#include "millrace/lanes/track_stream.h"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

using Ranges = std::vector<LaneRange>;
using Row = std::pair<int64_t, int64_t>;  // Lane, row.

Track Lanes(const std::vector<int64_t>& lane_rows) {
  return DealAll(lane_rows, 1).tracks[0];
}

std::vector<Row> RowsOf(const Ranges& ranges) {
  std::vector<Row> rows;
  for (const LaneRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      rows.emplace_back(range.lane, row);
    }
  }
  return rows;
}

// One track, the plain way: rows in queues.
class PlainTrack {
 public:
  PlainTrack(const Track& track, int64_t batch_rows) : batch_rows_(batch_rows) {
    for (const Row& row : RowsOf(track.carry)) carry_.push_back(row);
    for (const LaneRange& range : track.lanes) lanes_.push_back(RowsOf({range}));
  }

  // Takes the next batch; none: an empty one.
  std::vector<Row> Visit() {
    while (std::ssize(carry_) < batch_rows_) {
      if (lanes_.empty()) return {};
      std::vector<Row>& lane = lanes_.front();
      if (std::ssize(lane) >= batch_rows_) {
        std::vector<Row> batch(lane.begin(), lane.begin() + batch_rows_);
        lane.erase(lane.begin(), lane.begin() + batch_rows_);
        return batch;
      }
      carry_.insert(carry_.end(), lane.begin(), lane.end());
      lanes_.pop_front();
    }
    std::vector<Row> batch(carry_.begin(), carry_.begin() + batch_rows_);
    carry_.erase(carry_.begin(), carry_.begin() + batch_rows_);
    return batch;
  }

  std::vector<Row> carry() const { return {carry_.begin(), carry_.end()}; }

  std::vector<Row> lanes() const {
    std::vector<Row> rows;
    for (const std::vector<Row>& lane : lanes_) {
      rows.insert(rows.end(), lane.begin(), lane.end());
    }
    return rows;
  }

 private:
  int64_t batch_rows_;
  std::deque<Row> carry_;
  std::deque<std::vector<Row>> lanes_;
};

TEST(TrackStreamTest, TakesLaneAfterLane) {
  const TrackStream stream(Lanes({4, 6}), 2);
  EXPECT_EQ(stream.batches(), 5);
  EXPECT_EQ(stream.leftover(), 0);
  EXPECT_EQ(stream.At(1), (Ranges{{0, 2, 4}}));
  EXPECT_EQ(stream.At(2), (Ranges{{1, 0, 2}}));
}

TEST(TrackStreamTest, CarriesTailsUntilTheyFill) {
  // a: 5 rows, b: 4, c: 4; batches of 3: aaa, bbb, then aa + b, ccc; c is left.
  const TrackStream stream(Lanes({5, 4, 4}), 3);
  EXPECT_EQ(stream.batches(), 4);
  EXPECT_EQ(stream.At(0), (Ranges{{0, 0, 3}}));
  EXPECT_EQ(stream.At(1), (Ranges{{1, 0, 3}}));
  EXPECT_EQ(stream.At(2), (Ranges{{0, 3, 5}, {1, 3, 4}}));
  EXPECT_EQ(stream.At(3), (Ranges{{2, 0, 3}}));
  EXPECT_EQ(stream.leftover(), 1);
  EXPECT_EQ(stream.Leftover(0, 1), (Ranges{{2, 3, 4}}));
}

TEST(TrackStreamTest, KeepsWhatAFilledBatchLeavesOfATail) {
  // Tails of 2 and 2 with batches of 3: one row stays.
  const TrackStream stream(Lanes({5, 5}), 3);
  EXPECT_EQ(stream.At(2), (Ranges{{0, 3, 5}, {1, 3, 4}}));
  EXPECT_EQ(stream.After(3).carry, (Ranges{{1, 4, 5}}));
}

TEST(TrackStreamTest, JoinsATailOnlyAtTheVisitThatFindsTheLaneEnded) {
  const TrackStream stream(Lanes({5, 4}), 3);
  EXPECT_EQ(stream.After(0), Lanes({5, 4}));
  EXPECT_EQ(stream.After(1), (Track{{}, {{0, 3, 5}, {1, 0, 4}}}));
  EXPECT_EQ(stream.After(2), (Track{{{0, 3, 5}}, {{1, 3, 4}}}));
  EXPECT_EQ(stream.After(3), (Track{{}, {}}));
}

TEST(TrackStreamTest, JoinsAllTailsAtAVisitInVain) {
  const TrackStream stream(Lanes({4, 1}), 3);
  EXPECT_EQ(stream.batches(), 1);
  EXPECT_EQ(stream.After(1), (Track{{}, {{0, 3, 4}, {1, 0, 1}}}));
  EXPECT_EQ(stream.After(2), (Track{{{0, 3, 4}, {1, 0, 1}}, {}}));
  EXPECT_EQ(stream.After(9), stream.After(2));
}

TEST(TrackStreamTest, EmptiesACarryThatHoldsSeveralBatchesFirst) {
  // A state of batches of 8, loaded with batches of 2.
  const TrackStream stream({.carry = {{0, 3, 6}, {1, 0, 2}}, .lanes = {{2, 0, 3}}}, 2);
  EXPECT_EQ(stream.batches(), 4);
  EXPECT_EQ(stream.At(0), (Ranges{{0, 3, 5}}));
  EXPECT_EQ(stream.At(1), (Ranges{{0, 5, 6}, {1, 0, 1}}));
  EXPECT_EQ(stream.At(2), (Ranges{{2, 0, 2}}));
  EXPECT_EQ(stream.At(3), (Ranges{{1, 1, 2}, {2, 2, 3}}));
  EXPECT_EQ(stream.After(1), (Track{{{0, 5, 6}, {1, 0, 2}}, {{2, 0, 3}}}));
}

TEST(TrackStreamTest, HasNothingInAnEmptyTrack) {
  const TrackStream stream(Track{}, 3);
  EXPECT_EQ(stream.batches(), 0);
  EXPECT_EQ(stream.leftover(), 0);
  EXPECT_EQ(stream.After(5), Track{});
  EXPECT_DEATH(stream.At(0), "batch");
  EXPECT_DEATH(stream.Leftover(0, 1), "0 to 1");
  EXPECT_DEATH(TrackStream(Track{}, 0), "batch_rows >= 1");
}

Track RandomTrack(base::Generator& random) {
  Track track;
  const int64_t lanes = random.Integer(0, 12);
  const int64_t carried = random.Integer(0, 3);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t end = random.Integer(1, random.Integer(0, 2) == 0 ? 4 : 30);
    const LaneRange range{lane, lane <= carried ? random.Integer(0, end) : 0, end};
    (lane < carried ? track.carry : track.lanes).push_back(range);
  }
  return track;
}

TEST(TrackStreamTest, AgreesWithQueuesOfRows) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    const Track track = RandomTrack(random);
    const int64_t batch_rows = random.Integer(1, 9);
    const TrackStream stream(track, batch_rows);
    PlainTrack plain(track, batch_rows);
    for (int64_t visits = 0; visits <= stream.batches(); ++visits) {
      const Track rest = stream.After(visits);
      ASSERT_EQ(RowsOf(rest.carry), plain.carry()) << "seed " << seed;
      ASSERT_EQ(RowsOf(rest.lanes), plain.lanes()) << "seed " << seed;
      const std::vector<Row> batch = plain.Visit();
      if (visits == stream.batches()) {
        ASSERT_TRUE(batch.empty()) << "seed " << seed;
      } else {
        ASSERT_EQ(RowsOf(stream.At(visits)), batch) << "seed " << seed;
      }
    }
    ASSERT_EQ(RowsOf(stream.After(stream.batches() + 1).carry), plain.carry());
    ASSERT_EQ(RowsOf(stream.Leftover(0, stream.leftover())), plain.carry());
  }
}

}  // namespace
}  // namespace millrace::lanes
