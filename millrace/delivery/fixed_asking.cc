// The part of the reader that asks workers for rows (fixed_reader.h).
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "millrace/api/stream.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/rest.h"

namespace millrace::delivery {
namespace {

using lanes::LaneRange;

// Batches that are asked of one lane, at most; and of one of which nothing is known.
constexpr int64_t kAheadOfLaneMax = 64;
constexpr int64_t kAheadOfUnknown = 2;

}  // namespace

// In the order of positions; the next one always.
void FixedReader::AskPositions() {
  auto next = positions_.end();
  while (next != positions_.begin() && !std::prev(next)->asked) --next;
  for (; next != positions_.end(); ++next) {
    Position& position = *next;
    if (next != positions_.begin() && !credit_.HasRoom()) return;
    position.asked = true;
    const bool whole = position.rows.size() == 1;
    for (const LaneRange& range : position.rows) {
      if (range.rows() == 0) continue;  // Its slice of a short batch: nobody answers.
      Lane& lane = lanes_[range.lane];
      lane.asked_to = std::max(lane.asked_to, range.end);
      if (alone()) {
        AskRest(range);
      } else {
        AddAsk(range.lane,
               {range.begin, range.end, whole ? position.batch : range.begin});
      }
    }
  }
}

// Who reads alone may have asked for some of it before it was decided.
void FixedReader::AskRest(const LaneRange& range) {
  const Lane& lane = lanes_[range.lane];
  for (int64_t row = range.begin; row < range.end;) {
    int64_t covered = row;
    int64_t next = range.end;
    const auto behind = lane.pieces.upper_bound(row);
    if (behind != lane.pieces.end()) next = std::min(next, behind->first);
    if (behind != lane.pieces.begin()) {
      covered = std::max(covered, std::prev(behind)->second.end);
    }
    for (const Ask& ask : lane.asks) {
      if (ask.begin > row) next = std::min(next, ask.begin);
      if (ask.begin <= row) covered = std::max(covered, ask.end);
    }
    if (covered == row) AddAsk(range.lane, {row, next, row});
    row = covered > row ? covered : next;
  }
}

// Who reads alone needs all of every lane, so it asks before it knows what there is,
// and learns that from what comes: the more of a lane is known to exist, the more may
// follow.
void FixedReader::AskAlone() {
  if (!positions_.empty() && !positions_.back().asked) return;
  const int64_t rows = options_.batching.rows;
  const std::vector<LaneRange> current = ahead_->Ahead(0, known_);
  const auto ask = [&](const LaneRange& range, int64_t batches, bool always) {
    Lane& lane = lanes_[range.lane];
    lane.asked_to = std::max(lane.asked_to, range.begin);
    if (lane.asked_to >= range.begin + batches * rows) return;
    const lanes::KnownLane known = known_.Get(range.lane);
    const int64_t may_follow = std::max(known.rows, kAheadOfUnknown * rows);
    if (lane.asked_to >= std::max(known.rows, range.begin) + may_follow) return;
    if (known.ended || !(always || credit_.HasRoom())) return;
    AddAsk(range.lane, {lane.asked_to, lane.asked_to + rows, lane.asked_to});
    lane.asked_to += rows;
  };
  for (const LaneRange& range : current) {
    if (range.lane == unknown_lane_) ask(range, 1, /*always=*/true);
  }
  for (int64_t batches = 1; batches <= kAheadOfLaneMax && credit_.HasRoom();
       ++batches) {
    for (const LaneRange& range : current) ask(range, batches, /*always=*/false);
  }
}

void FixedReader::AddAsk(int64_t number, const Ask& ask) {
  Lane& lane = lanes_[number];
  lane.asks.push_back(ask);
  credit_.Ask(1);
  if (!lane.worker) return NeedsChanged();
  SendWant(*lane.worker, {At(number), ask.begin, ask.end, ask.batch});
}

// Asks for all that did not come yet.
void FixedReader::Send(int64_t number, const Lane& lane) {
  if (!lane.worker || lane.asks.empty()) return;
  api::ReaderMessage message;
  for (const Ask& ask : lane.asks) {
    message.wants.push_back({At(number), ask.begin, ask.end, ask.batch});
  }
  Do(SendWants{*lane.worker, std::move(message)});
}

// Nothing comes from behind a lane's end.
void FixedReader::CutAsks(int64_t number, int64_t end) {
  const auto found = lanes_.find(number);
  if (found == lanes_.end()) return;
  std::vector<Ask>& asks = found->second.asks;
  credit_.Ask(-static_cast<int64_t>(
      std::erase_if(asks, [&](const Ask& ask) { return ask.begin >= end; })));
  for (Ask& ask : asks) ask.end = std::min(ask.end, end);
}

}  // namespace millrace::delivery
