#include "millrace/lanes/logical_order.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

LogicalOrder::LogicalOrder(Rest rest, const Batching& batching)
    : rest_(std::move(rest)), batch_rows_(batching.rows) {
  CHECK_GE(batch_rows_, 1);
  CHECK_EQ(rest_.tracks.size(), 1);
  CHECK(rest_.tracks[0].carry.empty());
  for (const LaneRange& range : rest_.tracks[0].lanes) {
    rows_ += range.rows();
    ends_.push_back(rows_);
  }
  const bool short_last = rows_ % batch_rows_ > 0 && !batching.drop_remainder;
  positions_ = rows_ / batch_rows_ + (short_last ? 1 : 0);
}

std::vector<LaneRange> LogicalOrder::At(int64_t position) const {
  CHECK(position >= 0 && position < positions_);
  const int64_t begin = position * batch_rows_;
  return Rows(begin, begin + std::min(batch_rows_, rows_ - begin));
}

Rest LogicalOrder::After(int64_t taken) const {
  CHECK(taken >= 0 && taken <= positions_);
  // Divides rather than multiplies: the last batch may be short, and sizes are
  // anyone's.
  const int64_t rows = taken > rows_ / batch_rows_ ? rows_ : taken * batch_rows_;
  Rest rest;
  rest.deal = rest_.deal;
  rest.tracks = {{.carry = {}, .lanes = Rows(rows, rows_)}};
  return rest;
}

// The rows of all lanes, counted through, from `begin` up to `end`.
std::vector<LaneRange> LogicalOrder::Rows(int64_t begin, int64_t end) const {
  const std::vector<LaneRange>& lanes = rest_.tracks[0].lanes;
  std::vector<LaneRange> rows;
  const auto first = std::ranges::partition_point(
      ends_, [&](int64_t lane_end) { return lane_end <= begin; });
  int64_t lane = first - ends_.begin();
  while (begin < end) {
    const int64_t stop = std::min(end, ends_[lane]);
    if (stop > begin) {
      const int64_t lane_end = lanes[lane].end;
      rows.push_back({lanes[lane].lane, lane_end - (ends_[lane] - begin),
                      lane_end - (ends_[lane] - stop)});
    }
    begin = stop;
    ++lane;
  }
  return rows;
}

}  // namespace millrace::lanes
