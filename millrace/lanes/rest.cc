#include "millrace/lanes/rest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/check.h"

namespace millrace::lanes {
namespace {

// What is left, parted into lanes that were begun and lanes that were not.
struct Parted {
  std::vector<LaneRange> keyed;               // Carried, and stays so.
  std::vector<std::vector<LaneRange>> begun;  // Of each track, in turn order.
  std::vector<LaneRange> others;
};

// A lane counts as begun when rows of it were taken or joined to a carry, or when it
// was dealt first before: it keeps its place in front.
Parted Part(const Rest& rest) {
  const absl::flat_hash_set<int64_t> first(rest.deal.first.begin(),
                                           rest.deal.first.end());
  Parted parted;
  const size_t tracks = rest.tracks.size();
  for (size_t i = 0; i < tracks; ++i) {
    const Track& track = rest.tracks[(rest.turn + i) % tracks];
    parted.begun.emplace_back();
    for (const LaneRange& piece : track.carry) {
      (piece.key >= 0 ? parted.keyed : parted.begun.back()).push_back(piece);
    }
    for (const LaneRange& range : track.lanes) {
      const bool begun = range.begin > 0 || first.contains(range.lane);
      (begun ? parted.begun.back() : parted.others).push_back(range);
    }
  }
  std::ranges::sort(parted.others, {}, &LaneRange::lane);
  return parted;
}

// Takes the first of every list, then the second of every list, and so on.
std::vector<LaneRange> InTurns(const std::vector<std::vector<LaneRange>>& lists) {
  size_t longest = 0;
  for (const auto& list : lists) longest = std::max(longest, list.size());
  std::vector<LaneRange> turns;
  for (size_t i = 0; i < longest; ++i) {
    for (const auto& list : lists) {
      if (i < list.size()) turns.push_back(list[i]);
    }
  }
  return turns;
}

}  // namespace

int64_t Rest::rows() const {
  int64_t rows = 0;
  for (const Track& track : tracks) {
    for (const LaneRange& range : track.carry) rows += range.rows();
    for (const LaneRange& range : track.lanes) rows += range.rows();
  }
  return rows;
}

Rest DealAll(const std::vector<int64_t>& lane_rows, int64_t tracks) {
  CHECK_GE(tracks, 1);
  Rest rest;
  rest.tracks.resize(tracks);
  for (int64_t lane = 0; lane < std::ssize(lane_rows); ++lane) {
    CHECK_GE(lane_rows[lane], 0);
    if (lane_rows[lane] == 0) continue;
    rest.tracks[lane % tracks].lanes.push_back({lane, 0, lane_rows[lane]});
  }
  rest.deal.others.Add(0, std::ssize(lane_rows));
  return rest;
}

Rest DealAnew(const Rest& rest, int64_t tracks) {
  CHECK_GE(tracks, 1);
  const Parted parted = Part(rest);
  std::vector<LaneRange> order = InTurns(parted.begun);
  Rest dealt;
  for (const LaneRange& range : order) dealt.deal.first.push_back(range.lane);
  std::vector<int64_t> others;
  others.reserve(parted.others.size());
  for (const LaneRange& range : parted.others) others.push_back(range.lane);
  dealt.deal.others = LaneSet::Of(std::move(others));

  order.insert(order.end(), parted.others.begin(), parted.others.end());
  dealt.tracks.resize(tracks);
  dealt.tracks[0].carry = parted.keyed;
  dealt.run = rest.run;  // Of the first track now: turns begin with what had its turn.
  for (size_t i = 0; i < order.size(); ++i) {
    dealt.tracks[i % tracks].lanes.push_back(order[i]);
  }
  return dealt;
}

}  // namespace millrace::lanes
