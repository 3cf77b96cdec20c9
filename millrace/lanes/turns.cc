#include "millrace/lanes/turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

KnownLane KnownOf(const LaneRange& range, const KnownLanes& known) {
  if (range.end < kRowsMax) return {range.end, true};
  return known.Get(range.lane);
}

// Takes rows off the front of what is carried, whose ends are all known.
std::vector<LaneRange> TakeRows(std::deque<LaneRange>& carry, int64_t rows) {
  std::vector<LaneRange> taken;
  while (rows > 0 && !carry.empty()) {
    LaneRange& front = carry.front();
    const int64_t part = std::min(rows, front.rows());
    taken.push_back({front.lane, front.begin, front.begin + part});
    front.begin += part;
    rows -= part;
    if (front.rows() == 0) carry.pop_front();
  }
  return taken;
}

}  // namespace

Turns::Turns(const Rest& rest, const Batching& batching, bool endless)
    : deal_(rest.deal),
      batch_rows_(batching.rows),
      drop_remainder_(batching.drop_remainder),
      endless_(endless),
      turn_(rest.turn),
      dealt_(std::ssize(rest.deal.first) + rest.deal.others.size()) {
  CHECK(!rest.tracks.empty());
  CHECK_GE(batch_rows_, 1);
  CHECK(turn_ >= 0 && turn_ < std::ssize(rest.tracks)) << turn_;
  for (const Track& track : rest.tracks) {
    TrackPlace& place = tracks_.emplace_back();
    place.carry.assign(track.carry.begin(), track.carry.end());
    place.lanes = track.lanes;
    place.row = track.lanes.empty() ? 0 : track.lanes.front().begin;
  }
}

Turns::Found Turns::Look(const TrackPlace& track, const KnownLanes& known) const {
  int64_t carried = 0;
  for (const LaneRange& piece : track.carry) {
    const KnownLane lane = KnownOf(piece, known);
    if (!lane.ended) return {Kind::kUnknown, piece.lane};
    carried += std::max<int64_t>(0, lane.rows - piece.begin);
  }
  int64_t row = track.row;
  for (int64_t passed = 0;; ++passed) {
    if (carried >= batch_rows_) return {Kind::kBatch, -1, passed, true};
    const int64_t place = track.lane + passed;
    if (place == std::ssize(track.lanes)) {
      return {endless_ ? Kind::kUnknown : Kind::kEnd, -1, passed};
    }
    const LaneRange& range = track.lanes[place];
    if (passed > 0) row = range.begin;
    const KnownLane lane = KnownOf(range, known);
    if (lane.rows - row >= batch_rows_) return {Kind::kBatch, -1, passed, false};
    if (!lane.ended) return {Kind::kUnknown, range.lane, passed};
    carried += std::max<int64_t>(0, lane.rows - row);
  }
}

void Turns::JoinTails(TrackPlace& track, int64_t lanes, const KnownLanes& known) {
  for (LaneRange& piece : track.carry) piece.end = KnownOf(piece, known).rows;
  std::erase_if(track.carry, [](const LaneRange& piece) { return piece.rows() <= 0; });
  for (; lanes > 0; --lanes) {
    const LaneRange& range = track.lanes[track.lane];
    const int64_t end = KnownOf(range, known).rows;
    if (track.row < end) track.carry.push_back({range.lane, track.row, end});
    ++track.lane;
    const bool more = track.lane < std::ssize(track.lanes);
    track.row = more ? track.lanes[track.lane].begin : 0;
  }
}

std::vector<LaneRange> Turns::TakeBatch(TrackPlace& track, bool carried) {
  if (carried) return TakeRows(track.carry, batch_rows_);
  const int64_t row = std::exchange(track.row, track.row + batch_rows_);
  return {{track.lanes[track.lane].lane, row, row + batch_rows_}};
}

Positions::Step Turns::Next(const KnownLanes& known) {
  if (rounds_over_) return Leftover();
  const int64_t tracks = std::ssize(tracks_);
  std::vector<Found> found;
  for (int64_t i = 0; i < tracks; ++i) {
    const int64_t number = (turn_ + i) % tracks;
    found.push_back(Look(tracks_[number], known));
    const Found& last = found.back();
    if (last.kind == Kind::kUnknown) return {Kind::kUnknown, {}, last.lane};
    if (last.kind == Kind::kBatch) break;
  }
  // Only now that the position is decided do the visits change anything, so that what
  // is left behind a position is the same for all who have decided it.
  for (size_t i = 0; i < found.size(); ++i) {
    JoinTails(tracks_[(turn_ + i) % tracks], found[i].passed, known);
  }
  if (found.back().kind == Kind::kEnd) {
    rounds_over_ = true;
    return Leftover();
  }
  TrackPlace& track = tracks_[(turn_ + std::ssize(found) - 1) % tracks];
  turn_ = (turn_ + std::ssize(found)) % tracks;
  ++position_;
  return {Kind::kBatch, TakeBatch(track, found.back().carried)};
}

// What all tracks leave is joined in track order.
Positions::Step Turns::Leftover() {
  int64_t left = 0;
  for (const TrackPlace& track : tracks_) {
    for (const LaneRange& piece : track.carry) left += piece.rows();
  }
  if (left == 0 || (left < batch_rows_ && drop_remainder_)) return {Kind::kEnd};
  Step step{Kind::kBatch};
  int64_t missing = std::min(left, batch_rows_);
  for (TrackPlace& track : tracks_) {
    for (const LaneRange& range : TakeRows(track.carry, missing)) {
      missing -= range.rows();
      step.rows.push_back(range);
    }
  }
  turn_ = 0;
  ++position_;
  return step;
}

void Turns::DealMore(const LaneRange& lane) {
  TrackPlace& track = tracks_[dealt_++ % std::ssize(tracks_)];
  if (track.lane == std::ssize(track.lanes)) track.row = lane.begin;
  track.lanes.push_back(lane);
  deal_.others.Add(lane.lane, lane.lane + 1);
}

Rest Turns::rest() const {
  Rest rest{deal_, {}, turn_};
  for (const TrackPlace& place : tracks_) {
    Track& track = rest.tracks.emplace_back();
    track.carry.assign(place.carry.begin(), place.carry.end());
    track.lanes.assign(place.lanes.begin() + place.lane, place.lanes.end());
    if (!track.lanes.empty()) track.lanes.front().begin = place.row;
    std::erase_if(track.lanes, [](const LaneRange& lane) { return lane.rows() <= 0; });
  }
  return rest;
}

std::vector<LaneRange> Turns::Ahead(int64_t more, const KnownLanes& known) const {
  std::vector<TrackAhead> ahead;
  for (int64_t i = 0; i < std::ssize(tracks_); ++i) {
    const TrackPlace& track = tracks_[(turn_ + i) % std::ssize(tracks_)];
    ahead.push_back({{track.carry.begin(), track.carry.end()},
                     absl::MakeSpan(track.lanes).subspan(track.lane),
                     track.row,
                     Look(track, known).passed});
  }
  return ListAhead(ahead, more);
}

bool Turns::HasMore(const KnownLanes& known) const {
  return std::ranges::any_of(tracks_, [&](const TrackPlace& track) {
    return track.lane + Look(track, known).passed + 1 < std::ssize(track.lanes);
  });
}

}  // namespace millrace::lanes
