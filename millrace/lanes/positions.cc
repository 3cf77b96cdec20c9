#include "millrace/lanes/positions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "millrace/lanes/order.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/turns.h"

namespace millrace::lanes {

std::unique_ptr<Positions> MakePositions(const Rest& rest, const Batching& batching,
                                         bool endless) {
  if (batching.runs) return std::make_unique<RunTurns>(rest, batching, endless);
  return std::make_unique<Turns>(rest, batching, endless);
}

std::vector<LaneRange> ListAhead(absl::Span<const TrackAhead> tracks, int64_t more) {
  std::vector<LaneRange> ahead;
  const auto list = [&](const TrackAhead& track, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < std::min(end, std::ssize(track.lanes)); ++i) {
      ahead.push_back(track.lanes[i]);
      if (i == 0) ahead.back().begin = track.next;
    }
  };
  for (const TrackAhead& track : tracks) {
    ahead.insert(ahead.end(), track.carry.begin(), track.carry.end());
    list(track, 0, track.passed + 1);
  }
  for (int64_t behind = 1; behind <= more; ++behind) {
    for (const TrackAhead& track : tracks) {
      list(track, track.passed + behind, track.passed + behind + 1);
    }
  }
  return ahead;
}

}  // namespace millrace::lanes
