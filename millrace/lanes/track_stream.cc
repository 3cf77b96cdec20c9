#include "millrace/lanes/track_stream.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {

TrackStream::TrackStream(const Track& track, int64_t batch_rows)
    : batch_rows_(batch_rows), carried_(std::ssize(track.carry)), entries_(1) {
  CHECK_GE(batch_rows, 1);
  entries_.reserve(track.carry.size() + track.lanes.size() + 1);
  for (const LaneRange& range : track.carry) Add(range, 0);
  for (const LaneRange& range : track.lanes) Add(range, range.rows() / batch_rows);
}

// Turns the empty end into an entry with so many batches of its own, and the rest of
// the range as tail.
void TrackStream::Add(const LaneRange& range, int64_t batches) {
  Entry& entry = entries_.back();
  entry.range = range;
  entry.batches = batches;
  const int64_t tails = entry.tails_before + range.rows() - batches * batch_rows_;
  const int64_t filled = tails / batch_rows_ - entry.tails_before / batch_rows_;
  const int64_t taken = entry.batches_before + batches + filled;
  entries_.push_back({.range = {}, .batches_before = taken, .tails_before = tails});
}

// The entry at whose visit a batch is taken.
int64_t TrackStream::EntryOf(int64_t batch) const {
  CHECK(batch >= 0 && batch < batches()) << batch;
  const auto next = std::ranges::partition_point(
      entries_, [&](const Entry& e) { return e.batches_before <= batch; });
  return next - entries_.begin() - 1;
}

std::vector<LaneRange> TrackStream::At(int64_t batch) const {
  const Entry& entry = entries_[EntryOf(batch)];
  const int64_t number = batch - entry.batches_before;
  if (number < entry.batches) {
    const int64_t begin = entry.range.begin + number * batch_rows_;
    return {{entry.range.lane, begin, begin + batch_rows_}};
  }
  const int64_t filled = entry.tails_before / batch_rows_ + number - entry.batches;
  return Tails(filled * batch_rows_, (filled + 1) * batch_rows_);
}

Track TrackStream::After(int64_t visits) const {
  int64_t joined = carried_;  // Entries whose tails have joined the carry.
  int64_t carry_batches = 0;  // Taken from the carry.
  int64_t lane_rows = 0;      // Taken from the current lane.
  if (visits > batches()) {
    joined = std::ssize(entries_) - 1;
    carry_batches = end().tails_before / batch_rows_;
  } else if (visits > 0) {
    const int64_t index = EntryOf(visits - 1);
    const Entry& entry = entries_[index];
    const int64_t taken = visits - entry.batches_before;
    carry_batches = entry.tails_before / batch_rows_;
    if (taken <= entry.batches) {
      joined = index;
      lane_rows = taken * batch_rows_;
    } else {
      joined = std::max(carried_, index + 1);
      carry_batches += taken - entry.batches;
    }
  }
  Track track;
  track.carry = Tails(carry_batches * batch_rows_, entries_[joined].tails_before);
  for (int64_t i = joined; i + 1 < std::ssize(entries_); ++i) {
    LaneRange range = entries_[i].range;
    range.begin += i == joined ? lane_rows : 0;
    if (range.rows() > 0) track.lanes.push_back(range);
  }
  return track;
}

std::vector<LaneRange> TrackStream::Leftover(int64_t begin, int64_t end) const {
  CHECK(begin >= 0 && begin <= end && end <= leftover()) << begin << " to " << end;
  const int64_t first = this->end().tails_before - leftover();
  return Tails(first + begin, first + end);
}

// Rows `begin` up to `end` of the stream of tails. Every tail ends with its lane.
std::vector<LaneRange> TrackStream::Tails(int64_t begin, int64_t end) const {
  auto next = std::ranges::partition_point(
      entries_, [&](const Entry& e) { return e.tails_before <= begin; });
  std::vector<LaneRange> rows;
  while (begin < end) {
    const int64_t stop = std::min(end, next->tails_before);
    const LaneRange& range = std::prev(next)->range;
    if (stop > begin) {
      rows.push_back({range.lane, range.end - (next->tails_before - begin),
                      range.end - (next->tails_before - stop)});
    }
    begin = stop;
    ++next;
  }
  return rows;
}

}  // namespace millrace::lanes
