#include "millrace/lanes/taken.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/lanes/lane_set.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"

namespace millrace::lanes {
namespace {

constexpr int64_t kLanesMax = int64_t{1} << 32;

template <typename... Pieces>
absl::Status Wrong(const Pieces&... pieces) {
  return absl::InvalidArgumentError(base::StrCat("state: ", pieces...));
}

bool HaveCommon(const LaneSet& a, const LaneSet& b) {
  return std::ranges::any_of(a.spans(), [&](const LaneSpan& one) {
    return std::ranges::any_of(b.spans(), [&](const LaneSpan& other) {
      return std::max(one.begin, other.begin) < std::min(one.end, other.end);
    });
  });
}

// `most` is how many rows the lane can have.
absl::Status CheckLane(const TakenLane& lane, int64_t most) {
  const int64_t rows = lane.end >= 0 ? lane.end : most;
  const int64_t last = lane.rows.spans().empty() ? 0 : lane.rows.spans().back().end;
  if (last <= rows && rows <= most) return absl::OkStatus();
  return Wrong("no such row in taken of lane ", lane.lane, ": ",
               std::max(last, lane.end) - 1, ", of ", std::min(rows, most), " rows");
}

// Reads a state of order "any"; where `lane_rows` is empty any number of rows will do.
absl::StatusOr<Taken> ReadTaken(const State& state,
                                const std::vector<int64_t>& lane_rows) {
  Taken taken;
  for (const LaneSpan& span : state.finished.spans()) {
    if (span.begin < 0 || span.end > state.lanes) {
      return Wrong("no such lane in finished: ", span.begin, " to ", span.end - 1);
    }
    taken.AddFinished(span.begin, span.end);
  }
  for (const TakenLane& lane : state.taken) {
    if (lane.lane < 0 || lane.lane >= state.lanes) {
      return Wrong("no such lane in taken: ", lane.lane);
    }
    TRY(CheckLane(lane, lane_rows.empty() ? kRowsMax : lane_rows[lane.lane]));
    if (state.finished.Contains(lane.lane)) {
      return Wrong("lane ", lane.lane, " is finished, and taken in part");
    }
    for (const LaneSpan& span : lane.rows.spans()) {
      taken.Add({lane.lane, span.begin, span.end});
    }
    if (lane.end >= 0) taken.End(lane.lane, lane.end);
  }
  return taken;
}

// All but the rest: of the other orders.
absl::StatusOr<Taken> ButRest(const State& state,
                              const std::vector<int64_t>& lane_rows) {
  const Rest rest = TRY(GetRest(state, lane_rows));
  Taken taken;
  std::vector<bool> left(lane_rows.size(), false);
  const auto add = [&](const LaneRange& range) {
    left[range.lane] = true;
    taken.Add({range.lane, 0, range.begin});
  };
  for (const Track& track : rest.tracks) {
    for (const LaneRange& range : track.carry) add(range);
    for (const LaneRange& range : track.lanes) add(range);
  }
  for (size_t lane = 0; lane < left.size(); ++lane) {
    const auto number = static_cast<int64_t>(lane);
    if (!left[lane]) taken.AddFinished(number, number + 1);
  }
  return taken;
}

absl::Status SameStep(const State& one, const State& other) {
  const bool same =
      one.pass == other.pass && one.step == other.step && one.parts == other.parts;
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("states of different steps: pass ", one.pass, " after ", one.step,
                   " batches, and pass ", other.pass, " after ", other.step,
                   ": load those of one checkpoint"));
}

}  // namespace

void Taken::Add(const LaneRange& range) {
  if (range.begin >= range.end || finished_.Contains(range.lane)) return;
  lanes_[range.lane].rows.Add(range.begin, range.end);
  Settle(range.lane);
}

void Taken::Remove(const LaneRange& range) {
  CHECK(!finished_.Contains(range.lane));
  const auto found = lanes_.find(range.lane);
  if (found == lanes_.end()) return;
  LaneSet rows;
  for (const LaneSpan& span : found->second.rows.spans()) {
    rows.Add(span.begin, std::max(span.begin, std::min(span.end, range.begin)));
    rows.Add(std::min(span.end, std::max(span.begin, range.end)), span.end);
  }
  found->second.rows = rows;
}

void Taken::End(int64_t lane, int64_t rows) {
  if (finished_.Contains(lane)) return;
  lanes_[lane].end = rows;
  Settle(lane);
}

void Taken::Settle(int64_t number) {
  const Lane& lane = lanes_.at(number);
  if (!lane.end || lane.rows.FirstMissing(0) < *lane.end) return;
  finished_.Add(number, number + 1);
  lanes_.erase(number);
}

std::vector<LaneRange> Taken::Open(int64_t number) const {
  if (finished_.Contains(number)) return {};
  const auto found = lanes_.find(number);
  if (found == lanes_.end()) return {{number, 0, kRowsMax}};
  std::vector<LaneRange> open;
  int64_t begin = 0;
  for (const LaneSpan& span : found->second.rows.spans()) {
    if (begin < span.begin) open.push_back({number, begin, span.begin});
    begin = span.end;
  }
  const int64_t end = found->second.end.value_or(kRowsMax);
  if (begin < end) open.push_back({number, begin, end});
  return open;
}

std::vector<TakenLane> Taken::parts() const {
  std::vector<TakenLane> parts;
  for (const auto& [number, lane] : lanes_) {
    // That a lane has an end is no part of what was taken of it.
    if (lane.rows.size() == 0) continue;
    parts.push_back({number, lane.rows, lane.end.value_or(-1)});
  }
  return parts;
}

void Taken::Join(const Taken& other) {
  for (const LaneSpan& span : other.finished_.spans()) {
    finished_.Add(span.begin, span.end);
  }
  std::erase_if(lanes_,
                [&](const auto& lane) { return finished_.Contains(lane.first); });
  for (const auto& [number, lane] : other.lanes_) {
    for (const LaneSpan& span : lane.rows.spans()) {
      Add({number, span.begin, span.end});
    }
    if (lane.end) End(number, *lane.end);
  }
}

bool Taken::Overlaps(const Taken& other) const {
  if (HaveCommon(finished_, other.finished_)) return true;
  const auto has_part = [](const Taken& parts, const Taken& whole) {
    return std::ranges::any_of(parts.lanes_, [&](const auto& entry) {
      const auto& [number, lane] = entry;
      if (whole.finished_.Contains(number)) return lane.rows.size() > 0;
      const auto found = whole.lanes_.find(number);
      return found != whole.lanes_.end() && HaveCommon(lane.rows, found->second.rows);
    });
  };
  return has_part(*this, other) || has_part(other, *this);
}

absl::StatusOr<Taken> TakenOf(const State& state,
                              const std::vector<int64_t>& lane_rows) {
  if (state.order.kind != OrderKind::kAny) return ButRest(state, lane_rows);
  if (state.lanes != std::ssize(lane_rows)) {
    return Wrong("it has ", state.lanes, " lanes, the job has ", lane_rows.size());
  }
  return ReadTaken(state, lane_rows);
}

void SetTaken(State& state, const Taken& taken) {
  state.order = {OrderKind::kAny, 1};
  state.turn = 0;
  state.deal = {};
  state.cursors.clear();
  state.carry.clear();
  state.finished = taken.finished();
  state.taken = taken.parts();
}

absl::StatusOr<std::vector<int64_t>> UnknownRows(int64_t lanes) {
  if (lanes < 0 || lanes > kLanesMax) return Wrong("so many lanes: ", lanes);
  return std::vector<int64_t>(lanes, kRowsMax);
}

int64_t LanesIn(const Taken& taken) {
  int64_t lanes = 0;
  for (const LaneSpan& span : taken.finished().spans()) lanes = span.end;
  for (const TakenLane& part : taken.parts()) lanes = std::max(lanes, part.lane + 1);
  return lanes;
}

absl::StatusOr<State> JoinStates(const std::vector<State>& parts) {
  if (parts.empty()) return absl::InvalidArgumentError("no states to join");
  State joined = parts.front();
  Taken all;
  LaneSet there;
  for (const State& part : parts) {
    TRY(SameStep(joined, part));
    if (there.Contains(part.part) || part.part < 0 || part.part >= joined.parts) {
      return absl::InvalidArgumentError(
          base::StrCat("the state of consumer ", part.part, " of ", joined.parts,
                       " is there twice: join one of each"));
    }
    there.Add(part.part, part.part + 1);
    if (part.order.kind != OrderKind::kAny) {
      return absl::InvalidArgumentError(
          "only states of order=\"any\" are joined: any other is whole");
    }
    const Taken taken = TRY(ReadTaken(part, {}));
    if (all.Overlaps(taken)) {
      return absl::InvalidArgumentError(
          base::StrCat("the state of consumer ", part.part,
                       " has rows that another took: they are not of one start"));
    }
    all.Join(taken);
    joined.lanes = std::max(joined.lanes, part.lanes);  // Without an end they differ.
  }
  if (there.size() < joined.parts) {
    return absl::InvalidArgumentError(
        base::StrCat("the state of consumer ", there.FirstMissing(0), " of ",
                     joined.parts, " is missing: join those of all"));
  }
  joined.part = 0;
  joined.parts = 1;
  SetTaken(joined, all);
  return joined;
}

}  // namespace millrace::lanes
