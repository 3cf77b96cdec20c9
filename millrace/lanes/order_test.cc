// Both orders, and states between them, against the plain loop of protocol.md section
// 4: rows in queues, taken one batch after another. The loop below is the definition.

#include "millrace/lanes/order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::lanes {
namespace {

using Row = std::pair<int64_t, int64_t>;  // Lane, row.
using Rows = std::vector<Row>;

Rows RowsOf(const std::vector<LaneRange>& ranges) {
  Rows rows;
  for (const LaneRange& range : ranges) {
    for (int64_t row = range.begin; row < range.end; ++row) {
      rows.emplace_back(range.lane, row);
    }
  }
  return rows;
}

// Takes the first rows out of a queue.
Rows Pop(std::deque<Row>& queue, int64_t count) {
  Rows rows(queue.begin(), queue.begin() + count);
  queue.erase(queue.begin(), queue.begin() + count);
  return rows;
}

class PlainPass {
 public:
  PlainPass(const std::vector<int64_t>& lane_rows, const OrderRecord& order)
      : order_(order), tracks_(order.tracks) {
    for (int64_t lane = 0; lane < std::ssize(lane_rows); ++lane) {
      std::deque<Row> rows;
      for (int64_t row = 0; row < lane_rows[lane]; ++row) rows.emplace_back(lane, row);
      tracks_[lane % order.tracks].lanes.push_back(rows);
    }
  }

  // Takes the next batch; an empty one when there is none.
  Rows Take(const Batching& batching) {
    return order_.kind == OrderKind::kLogical ? TakeLogical(batching)
                                              : TakeFixed(batching);
  }

  // Deals anew: what was begun in the order of its turns, then the rest by lane.
  void Deal(const OrderRecord& order) {
    std::vector<std::deque<Row>> dealt = InTurns();
    first_.clear();
    for (const std::deque<Row>& lane : dealt) first_.insert(lane.front().first);
    for (const auto& [lane, rows] : NotBegun()) dealt.push_back(rows);
    order_ = order;
    turn_ = 0;
    tracks_.assign(order.tracks, {});
    for (int64_t i = 0; i < std::ssize(dealt); ++i) {
      tracks_[i % order.tracks].lanes.push_back(dealt[i]);
    }
  }

 private:
  struct PlainTrack {
    std::deque<Row> carry;
    std::deque<std::deque<Row>> lanes;
  };

  Rows TakeLogical(const Batching& batching) {
    std::deque<Row> all;
    for (const std::deque<Row>& lane : tracks_[0].lanes) {
      all.insert(all.end(), lane.begin(), lane.end());
    }
    const int64_t count = std::min(batching.rows, std::ssize(all));
    if (count < batching.rows && batching.drop_remainder) return {};
    for (int64_t left = count; left > 0;) {
      std::deque<Row>& lane = tracks_[0].lanes.front();
      left -= std::ssize(Pop(lane, std::min(left, std::ssize(lane))));
      if (lane.empty()) tracks_[0].lanes.pop_front();
    }
    return Pop(all, count);
  }

  Rows TakeFixed(const Batching& batching) {
    for (int64_t i = 0; i < std::ssize(tracks_); ++i) {
      PlainTrack& track = tracks_[turn_];
      turn_ = (turn_ + 1) % std::ssize(tracks_);
      Rows batch = Visit(track, batching.rows);
      if (!batch.empty()) return batch;
    }
    return JoinLeftovers(batching);
  }

  static Rows Visit(PlainTrack& track, int64_t batch_rows) {
    while (true) {
      if (std::ssize(track.carry) >= batch_rows) return Pop(track.carry, batch_rows);
      if (track.lanes.empty()) return {};
      std::deque<Row>& lane = track.lanes.front();
      if (std::ssize(lane) >= batch_rows) return Pop(lane, batch_rows);
      track.carry.insert(track.carry.end(), lane.begin(), lane.end());
      track.lanes.pop_front();
    }
  }

  Rows JoinLeftovers(const Batching& batching) {
    int64_t left = 0;
    for (const PlainTrack& track : tracks_) left += std::ssize(track.carry);
    if (left < batching.rows && batching.drop_remainder) return {};
    turn_ = 0;
    Rows batch;
    for (PlainTrack& track : tracks_) {
      while (!track.carry.empty() && std::ssize(batch) < batching.rows) {
        batch.push_back(Pop(track.carry, 1)[0]);
      }
    }
    return batch;
  }

  bool Begun(const std::deque<Row>& lane) const {
    return lane.front().second > 0 || first_.contains(lane.front().first);
  }

  // A track's begun lanes: those in its carry, then the others.
  std::vector<std::deque<Row>> BegunOf(const PlainTrack& track) const {
    std::vector<std::deque<Row>> begun;
    for (const Row& row : track.carry) {
      if (begun.empty() || begun.back().front().first != row.first)
        begun.emplace_back();
      begun.back().push_back(row);
    }
    for (const std::deque<Row>& lane : track.lanes) {
      if (!lane.empty() && Begun(lane)) begun.push_back(lane);
    }
    return begun;
  }

  std::vector<std::deque<Row>> InTurns() const {
    std::vector<std::deque<Row>> turns;
    for (size_t depth = 0, found = 1; found > 0; ++depth) {
      found = 0;
      for (int64_t i = 0; i < std::ssize(tracks_); ++i) {
        const auto begun = BegunOf(tracks_[(turn_ + i) % std::ssize(tracks_)]);
        if (depth >= begun.size()) continue;
        turns.push_back(begun[depth]);
        ++found;
      }
    }
    return turns;
  }

  std::map<int64_t, std::deque<Row>> NotBegun() const {
    std::map<int64_t, std::deque<Row>> lanes;
    for (const PlainTrack& track : tracks_) {
      for (const std::deque<Row>& lane : track.lanes) {
        if (!lane.empty() && !Begun(lane)) lanes[lane.front().first] = lane;
      }
    }
    return lanes;
  }

  OrderRecord order_;
  std::vector<PlainTrack> tracks_;
  int64_t turn_ = 0;
  std::set<int64_t> first_;  // Lanes that were dealt first.
};

OrderRecord RandomOrder(base::Generator& random) {
  if (random.Integer(0, 3) == 0) return {OrderKind::kLogical, 1};
  return {OrderKind::kFixed, random.Integer(1, 7)};
}

Batching RandomBatching(base::Generator& random) {
  return {random.Integer(1, 10), random.Integer(0, 3) == 0};
}

std::vector<int64_t> RandomLanes(base::Generator& random) {
  std::vector<int64_t> lane_rows(random.Integer(0, 16));
  const int64_t most = random.Integer(0, 2) == 0 ? 5 : 25;
  for (int64_t& rows : lane_rows) rows = random.Integer(0, most);
  return lane_rows;
}

// Takes `count` batches from both, and compares.
void TakeBoth(const Order& order, PlainPass& plain, const Batching& batching,
              int64_t count, Rows& taken) {
  for (int64_t position = 0; position < count; ++position) {
    const Rows batch = RowsOf(order.At(position));
    ASSERT_EQ(batch, plain.Take(batching)) << "position " << position;
    taken.insert(taken.end(), batch.begin(), batch.end());
  }
}

TEST(OrderTest, AgreesWithThePlainLoop) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    base::Generator random(base::RandomKey(seed, 0, 0), {});
    const std::vector<int64_t> lane_rows = RandomLanes(random);
    const OrderRecord record = RandomOrder(random);
    const Batching batching = RandomBatching(random);
    PlainPass plain(lane_rows, record);
    const std::unique_ptr<Order> order =
        MakeOrder(record.kind, DealAll(lane_rows, record.tracks), batching);
    Rows taken;
    ASSERT_NO_FATAL_FAILURE(
        TakeBoth(*order, plain, batching, order->positions(), taken));
    ASSERT_TRUE(plain.Take(batching).empty());
  }
}

// Three runs: each loads the state of the one before, often with another order or batch
// size, and takes some; the last takes all that is left. Together they take what the
// plain loop takes, and every row once.
TEST(OrderTest, GoesOnFromAnyStateWithAnyOrderAndBatchSize) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    base::Generator random(base::RandomKey(seed, 1, 0), {});
    const std::vector<int64_t> lane_rows = RandomLanes(random);
    State state;
    state.order = RandomOrder(random);
    SetRest(state, DealAll(lane_rows, state.order.tracks), std::ssize(lane_rows));
    PlainPass plain(lane_rows, state.order);
    Batching batching = RandomBatching(random);
    Rows taken;
    const int64_t runs = random.Integer(1, 5);
    for (int64_t run = 1; run <= runs; ++run) {
      if (random.Integer(0, 2) == 0) batching = RandomBatching(random);
      const OrderRecord next =
          random.Integer(0, 2) == 0 ? state.order : RandomOrder(random);
      if (run == runs) batching.drop_remainder = false;
      const absl::StatusOr<Rest> rest = Resume(state, lane_rows, next);
      ASSERT_TRUE(rest.ok()) << rest.status();
      if (next != state.order) plain.Deal(next);

      const std::unique_ptr<Order> order = MakeOrder(next.kind, *rest, batching);
      const int64_t all = order->positions();
      const int64_t count = run == runs ? all : random.Integer(0, all + 1);
      ASSERT_NO_FATAL_FAILURE(TakeBoth(*order, plain, batching, count, taken));
      state.order = next;
      SetRest(state, order->After(count), std::ssize(lane_rows));
    }
    EXPECT_TRUE(plain.Take(batching).empty());
    EXPECT_EQ(state.finished.size(), std::ssize(lane_rows));
    const std::set<Row> distinct(taken.begin(), taken.end());
    ASSERT_EQ(distinct.size(), taken.size());
    int64_t total = 0;
    for (const int64_t rows : lane_rows) total += rows;
    ASSERT_EQ(std::ssize(taken), total);
  }
}

// In logical order the rows come in one order, whatever the batch size of each run.
TEST(OrderTest, KeepsTheRowsOfLogicalOrderWhateverTheBatchSizes) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    base::Generator random(base::RandomKey(seed, 2, 0), {});
    const std::vector<int64_t> lane_rows = RandomLanes(random);
    const OrderRecord logical{OrderKind::kLogical, 1};
    State state;
    SetRest(state, DealAll(lane_rows, 1), std::ssize(lane_rows));
    const Rows all = RowsOf(DealAll(lane_rows, 1).tracks[0].lanes);
    Rows taken;
    while (std::ssize(taken) < std::ssize(all)) {
      const Batching batching{random.Integer(1, 10), false};
      const std::unique_ptr<Order> order =
          MakeOrder(logical.kind, *Resume(state, lane_rows, logical), batching);
      const int64_t count = random.Integer(0, order->positions() + 1);
      for (int64_t position = 0; position < count; ++position) {
        const Rows batch = RowsOf(order->At(position));
        taken.insert(taken.end(), batch.begin(), batch.end());
      }
      SetRest(state, order->After(count), std::ssize(lane_rows));
    }
    ASSERT_EQ(taken, all) << "seed " << seed;
  }
}

// Every consumer sees its own positions; together they see the stream, for any number.
TEST(OrderTest, ChangesOnlyWhoTakesWhatWithAnotherNumberOfConsumers) {
  const std::unique_ptr<Order> order =
      MakeOrder(OrderKind::kFixed, DealAll({9, 4, 7, 12, 3, 8}, 4), {.rows = 2});
  for (const int64_t consumers : {1, 2, 3, 5}) {
    std::map<int64_t, int64_t> next;
    for (int64_t position = 0; position < order->positions(); ++position) {
      const int64_t owner = Owner(position, consumers);
      EXPECT_EQ(position, next[owner]++ * consumers + owner);
    }
  }
}

}  // namespace
}  // namespace millrace::lanes
