#include "millrace/lanes/logical_order.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

using Ranges = std::vector<LaneRange>;

LogicalOrder Whole(const std::vector<int64_t>& lane_rows, const Batching& batching) {
  return LogicalOrder(DealAll(lane_rows, 1), batching);
}

TEST(LogicalOrderTest, GoesOnIntoTheNextLane) {
  const LogicalOrder order = Whole({5, 4}, {.rows = 3});
  EXPECT_EQ(order.positions(), 3);
  EXPECT_EQ(order.At(0), (Ranges{{0, 0, 3}}));
  EXPECT_EQ(order.At(1), (Ranges{{0, 3, 5}, {1, 0, 1}}));
  EXPECT_EQ(order.At(2), (Ranges{{1, 1, 4}}));
}

TEST(LogicalOrderTest, JoinsManyShortLanes) {
  const LogicalOrder order = Whole({1, 2, 0, 1, 5}, {.rows = 6});
  EXPECT_EQ(order.At(0), (Ranges{{0, 0, 1}, {1, 0, 2}, {3, 0, 1}, {4, 0, 2}}));
}

TEST(LogicalOrderTest, KeepsAShortLastBatchUnlessDropped) {
  EXPECT_EQ(Whole({7}, {.rows = 3}).positions(), 3);
  EXPECT_EQ(Whole({7}, {.rows = 3}).At(2), (Ranges{{0, 6, 7}}));
  EXPECT_EQ(Whole({7}, {.rows = 3, .drop_remainder = true}).positions(), 2);
  EXPECT_EQ(Whole({6}, {.rows = 3, .drop_remainder = true}).positions(), 2);
  EXPECT_EQ(Whole({6}, {.rows = 3}).positions(), 2);
}

TEST(LogicalOrderTest, TellsWhatIsLeft) {
  const LogicalOrder order = Whole({5, 4}, {.rows = 3});
  EXPECT_EQ(order.After(0), DealAll({5, 4}, 1));
  EXPECT_EQ(order.After(1).tracks[0].lanes, (Ranges{{0, 3, 5}, {1, 0, 4}}));
  EXPECT_EQ(order.After(2).tracks[0].lanes, (Ranges{{1, 1, 4}}));
  EXPECT_TRUE(order.After(3).tracks[0].lanes.empty());
}

TEST(LogicalOrderTest, LeavesDroppedRows) {
  const LogicalOrder order = Whole({7}, {.rows = 3, .drop_remainder = true});
  EXPECT_EQ(order.After(2).tracks[0].lanes, (Ranges{{0, 6, 7}}));
}

TEST(LogicalOrderTest, TakesNothingFromNothing) {
  const LogicalOrder order = Whole({}, {.rows = 3});
  EXPECT_EQ(order.positions(), 0);
  EXPECT_EQ(order.After(0).rows(), 0);
}

TEST(LogicalOrderTest, AcceptsABatchLargerThanAnything) {
  const LogicalOrder order = Whole({5, 4}, {.rows = INT64_MAX});
  EXPECT_EQ(order.positions(), 1);
  EXPECT_EQ(order.At(0), (Ranges{{0, 0, 5}, {1, 0, 4}}));
  EXPECT_EQ(order.After(1).rows(), 0);
}

TEST(LogicalOrderTest, FindsAPlaceAmongManyRows) {
  // 2^20 lanes of 2^40 rows: 2^60 rows, in batches of 1,000.
  const int64_t rows = int64_t{1} << 40;
  const LogicalOrder order = Whole(std::vector<int64_t>(1 << 20, rows), {.rows = 1000});
  EXPECT_EQ(order.positions(), ((int64_t{1} << 60) + 999) / 1000);
  const Ranges batch = order.At(rows);  // Begins with row 1,000 x 2^40.
  EXPECT_EQ(batch, (Ranges{{1000, 0, 1000}}));
}

TEST(LogicalOrderTest, GivesTheSameRowsWhateverTheBatchSize) {
  const std::vector<int64_t> lane_rows{3, 0, 8, 1, 1, 5};
  std::vector<int64_t> rows_of_one;
  for (const int64_t size : {1, 2, 3, 5, 7, 18, 19}) {
    const LogicalOrder order = Whole(lane_rows, {.rows = size});
    std::vector<int64_t> rows;
    for (int64_t position = 0; position < order.positions(); ++position) {
      for (const LaneRange& range : order.At(position)) {
        for (int64_t row = range.begin; row < range.end; ++row) {
          rows.push_back(range.lane * 100 + row);
        }
      }
    }
    if (size == 1) rows_of_one = rows;
    EXPECT_EQ(rows, rows_of_one) << size;
  }
}

TEST(LogicalOrderTest, RefusesWhatItIsNotMadeFor) {
  EXPECT_DEATH(LogicalOrder(DealAll({5}, 2), {}), "tracks");
  EXPECT_DEATH(Whole({5}, {.rows = 0}), "batch_rows_ >= 1");
  const LogicalOrder order = Whole({5}, {.rows = 5});
  EXPECT_DEATH(order.At(1), "position");
  EXPECT_DEATH(order.At(-1), "position");
  EXPECT_DEATH(order.After(2), "taken");
  Rest carrying = DealAll({5}, 1);
  carrying.tracks[0].carry = {{1, 0, 1}};
  EXPECT_DEATH(LogicalOrder(carrying, {}), "carry");
}

}  // namespace
}  // namespace millrace::lanes
