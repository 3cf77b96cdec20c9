#include "millrace/lanes/run_turns.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"

namespace millrace::lanes {
namespace {

int64_t CountOf(const std::deque<LaneRange>& pieces) {
  int64_t count = 0;
  for (const LaneRange& piece : pieces) count += piece.rows();
  return count;
}

// Takes up to so many off the front.
std::vector<LaneRange> TakeFront(std::deque<LaneRange>& pieces, int64_t count) {
  std::vector<LaneRange> taken;
  while (count > 0 && !pieces.empty()) {
    LaneRange& front = pieces.front();
    LaneRange part = front;
    part.end = std::min(front.end, front.begin + count);
    count -= part.rows();
    front.begin = part.end;
    taken.push_back(part);
    if (front.rows() == 0) pieces.pop_front();
  }
  return taken;
}

}  // namespace

RunTurns::RunTurns(const Rest& rest, const Batching& batching, bool endless)
    : deal_(rest.deal),
      runs_(*batching.runs),
      drop_remainder_(batching.drop_remainder),
      endless_(endless),
      turn_(rest.turn),
      run_(rest.run),
      dealt_(std::ssize(rest.deal.first) + rest.deal.others.size()) {
  CHECK_EQ(runs_.group % runs_.consumers, 0);
  const absl::Status status = CheckRuns(rest, runs_);
  CHECK(status.ok()) << status;
  for (const Track& track : rest.tracks) {
    TrackPlace& place = tracks_.emplace_back();
    place.carry.resize(runs_.sizes.size());
    for (const LaneRange& piece : track.carry) {
      Carry& carry = place.carry[piece.key];
      (piece.batches ? carry.batches : carry.rows).push_back(piece);
    }
    place.lanes = track.lanes;
    place.next = track.lanes.empty() ? 0 : track.lanes.front().begin;
  }
  FitRun();
}

// What fills no round of these consumers is carried; of a run that is made of what is
// carried it already is.
void RunTurns::FitRun() {
  const int64_t over = run_.left % runs_.consumers;
  if (over == 0) return;
  TrackPlace& track = tracks_[turn_];
  if (!run_.carried) {
    const int64_t lane = track.lanes[track.lane].lane;
    const int64_t begin = std::exchange(track.next, track.next + over);
    track.carry[run_.key].batches.push_back(
        {lane, begin, track.next, run_.key, /*batches=*/true});
  }
  run_.left -= over;
  if (run_.left > 0) return;
  run_ = {};
  turn_ = (turn_ + 1) % std::ssize(tracks_);
}

// A lane gives whole runs: where a batch of one is known to exist, all of it is.
RunTurns::Found RunTurns::Look(const TrackPlace& track, const KnownLanes& known) const {
  const size_t keys = runs_.sizes.size();
  std::vector<int64_t> batches(keys);
  std::vector<int64_t> rows(keys);
  for (size_t key = 0; key < keys; ++key) {
    batches[key] = CountOf(track.carry[key].batches);
    rows[key] = CountOf(track.carry[key].rows);
  }
  int64_t next = track.next;
  for (int64_t passed = 0;; ++passed) {
    for (size_t key = 0; key < keys; ++key) {
      if (batches[key] + rows[key] / runs_.sizes[key] < runs_.group) continue;
      return {Kind::kBatch,
              -1,
              passed,
              {runs_.group, static_cast<int64_t>(key), /*carried=*/true}};
    }
    const int64_t place = track.lane + passed;
    if (place == std::ssize(track.lanes)) {
      return {endless_ ? Kind::kUnknown : Kind::kEnd, -1, passed};
    }
    if (passed > 0) next = track.lanes[place].begin;
    const int64_t number = track.lanes[place].lane;
    const KnownLane lane = known.Get(number);
    if (lane.before_tails() > next) {
      return {Kind::kBatch, -1, passed, {.left = runs_.group}};
    }
    if (!lane.ended) return {Kind::kUnknown, number, passed};
    for (size_t key = 0; key < lane.tails.size(); ++key) rows[key] += lane.tails[key];
  }
}

void RunTurns::JoinTails(TrackPlace& track, int64_t lanes, const KnownLanes& known) {
  for (; lanes > 0; --lanes) {
    const int64_t number = track.lanes[track.lane].lane;
    const KnownLane lane = known.Get(number);
    int64_t begin = lane.before_tails();
    for (size_t key = 0; key < lane.tails.size(); ++key) {
      const int64_t end = begin + lane.tails[key];
      const auto number_of_key = static_cast<int64_t>(key);
      if (begin < end) {
        track.carry[key].rows.push_back({number, begin, end, number_of_key});
      }
      begin = end;
    }
    ++track.lane;
    const bool more = track.lane < std::ssize(track.lanes);
    track.next = more ? track.lanes[track.lane].begin : 0;
  }
}

Positions::Step RunTurns::Next(const KnownLanes& known) {
  if (rounds_over_) return Leftover();
  if (run_.left > 0) return TakeOfRun();
  const int64_t tracks = std::ssize(tracks_);
  std::vector<Found> found;
  for (int64_t i = 0; i < tracks; ++i) {
    found.push_back(Look(tracks_[(turn_ + i) % tracks], known));
    const Found& last = found.back();
    if (last.kind == Kind::kUnknown) return {Kind::kUnknown, {}, last.lane};
    if (last.kind == Kind::kBatch) break;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    JoinTails(tracks_[(turn_ + i) % tracks], found[i].passed, known);
  }
  if (found.back().kind == Kind::kEnd) {
    rounds_over_ = true;
    turn_ = 0;
    return Leftover();
  }
  turn_ = (turn_ + std::ssize(found) - 1) % tracks;
  run_ = found.back().run;
  return TakeOfRun();
}

Positions::Step RunTurns::TakeOfRun() {
  TrackPlace& track = tracks_[turn_];
  Step step{Kind::kBatch};
  if (run_.carried) {
    step.rows = TakeCarried(track.carry[run_.key], runs_.sizes[run_.key]);
  } else {
    const int64_t batch = track.next++;
    step.rows = {{track.lanes[track.lane].lane, batch, batch + 1, -1, true}};
  }
  ++position_;
  if (--run_.left > 0) return step;
  run_ = {};
  turn_ = (turn_ + 1) % std::ssize(tracks_);
  return step;
}

std::vector<LaneRange> RunTurns::TakeCarried(Carry& carry, int64_t size) const {
  if (!carry.batches.empty()) return TakeFront(carry.batches, 1);
  return TakeFront(carry.rows, size);
}

// --- What all tracks leave ---

int64_t RunTurns::BatchesLeft(size_t key) const {
  int64_t batches = 0;
  int64_t rows = 0;
  for (const TrackPlace& track : tracks_) {
    batches += CountOf(track.carry[key].batches);
    rows += CountOf(track.carry[key].rows);
  }
  const int64_t size = runs_.sizes[key];
  const bool is_short = rows % size > 0 && !drop_remainder_;
  return batches + rows / size + (is_short ? 1 : 0);
}

// The first key that something is left of; -1: none.
int64_t RunTurns::KeyLeft() const {
  const int64_t enough = runs_.whole_rounds ? runs_.consumers : 1;
  for (size_t key = 0; key < runs_.sizes.size(); ++key) {
    if (BatchesLeft(key) >= enough) return static_cast<int64_t>(key);
  }
  return -1;
}

// Every round is of one key; the last one of a key may be one that not all have a batch
// in.
Positions::Step RunTurns::Leftover() {
  if (position_ % runs_.consumers == 0) left_key_ = KeyLeft();
  if (left_key_ < 0) return {Kind::kEnd};
  ++position_;
  if (BatchesLeft(left_key_) == 0) return {Kind::kBatch};
  return {Kind::kBatch, TakeLeft(left_key_)};
}

std::vector<LaneRange> RunTurns::TakeLeft(size_t key) {
  for (TrackPlace& track : tracks_) {
    if (track.carry[key].batches.empty()) continue;
    return TakeFront(track.carry[key].batches, 1);
  }
  std::vector<LaneRange> taken;
  int64_t missing = runs_.sizes[key];
  for (TrackPlace& track : tracks_) {
    for (const LaneRange& piece : TakeFront(track.carry[key].rows, missing)) {
      missing -= piece.rows();
      taken.push_back(piece);
    }
  }
  return taken;
}

int64_t RunTurns::left_out_rows() const {
  int64_t rows = 0;
  for (const TrackPlace& track : tracks_) {
    for (size_t key = 0; key < runs_.sizes.size(); ++key) {
      rows += CountOf(track.carry[key].batches) * runs_.sizes[key] +
              CountOf(track.carry[key].rows);
    }
  }
  return rows;
}

// --- Telling ---

void RunTurns::DealMore(const LaneRange& lane) {
  TrackPlace& track = tracks_[dealt_++ % std::ssize(tracks_)];
  if (track.lane == std::ssize(track.lanes)) track.next = lane.begin;
  track.lanes.push_back(lane);
  deal_.others.Add(lane.lane, lane.lane + 1);
}

std::vector<LaneRange> RunTurns::Carried(const TrackPlace& track) {
  std::vector<LaneRange> pieces;
  for (const Carry& carry : track.carry) {
    pieces.insert(pieces.end(), carry.batches.begin(), carry.batches.end());
    pieces.insert(pieces.end(), carry.rows.begin(), carry.rows.end());
  }
  return pieces;
}

Rest RunTurns::rest() const {
  Rest rest{deal_, {}, turn_, run_};
  for (const TrackPlace& place : tracks_) {
    Track& track = rest.tracks.emplace_back();
    track.carry = Carried(place);
    track.lanes.assign(place.lanes.begin() + place.lane, place.lanes.end());
    if (!track.lanes.empty()) track.lanes.front().begin = place.next;
  }
  return rest;
}

std::vector<LaneRange> RunTurns::Ahead(int64_t more, const KnownLanes& known) const {
  std::vector<TrackAhead> ahead;
  for (int64_t i = 0; i < std::ssize(tracks_); ++i) {
    const TrackPlace& track = tracks_[(turn_ + i) % std::ssize(tracks_)];
    ahead.push_back({Carried(track), absl::MakeSpan(track.lanes).subspan(track.lane),
                     track.next, Look(track, known).passed});
  }
  return ListAhead(ahead, more);
}

bool RunTurns::HasMore(const KnownLanes& known) const {
  return std::ranges::any_of(tracks_, [&](const TrackPlace& track) {
    return track.lane + Look(track, known).passed + 1 < std::ssize(track.lanes);
  });
}

// --- Checking ---

namespace {

template <typename... Pieces>
absl::Status Wrong(const Pieces&... pieces) {
  return absl::InvalidArgumentError(base::StrCat("state: ", pieces...));
}

absl::Status CheckRun(const Rest& rest, const Runs& runs) {
  const RunPlace& run = rest.run;
  if (run.left < 0 || run.left >= runs.group) {
    return Wrong("no run of ", runs.group, " batches has ", run.left, " left to take");
  }
  if (run.left == 0) return absl::OkStatus();
  if (run.key < 0 || run.key >= std::ssize(runs.sizes)) {
    return Wrong("no such bucket for a run: ", run.key);
  }
  const Track& track = rest.tracks.at(rest.turn);
  if (!run.carried) {
    const int64_t taken = track.lanes.empty() ? 0 : track.lanes.front().begin;
    if (taken % runs.group == runs.group - run.left) return absl::OkStatus();
    return Wrong("a run is not where its lane is");
  }
  int64_t batches = 0;
  int64_t rows = 0;
  for (const LaneRange& piece : track.carry) {
    if (piece.key != run.key) continue;
    (piece.batches ? batches : rows) += piece.rows();
  }
  if (batches + rows / runs.sizes[run.key] >= run.left) return absl::OkStatus();
  return Wrong("a run has less left than it should");
}

}  // namespace

absl::Status CheckRuns(const Rest& rest, const Runs& runs) {
  for (const Track& track : rest.tracks) {
    for (const LaneRange& piece : track.carry) {
      if (piece.key < 0 || piece.key >= std::ssize(runs.sizes)) {
        return Wrong("no such bucket for what is carried: ", piece.key);
      }
    }
  }
  return CheckRun(rest, runs);
}

absl::Status CheckRuns(int64_t lane, const KnownLane& known, const Runs& runs) {
  if (!known.ended) return absl::OkStatus();
  const bool fits = known.tails.size() <= runs.sizes.size() &&
                    known.before_tails() >= 0 &&
                    known.before_tails() % runs.group == 0 &&
                    std::ranges::all_of(known.tails, [](int64_t t) { return t >= 0; });
  if (fits) return absl::OkStatus();
  return absl::DataLossError(
      base::StrCat("lane ", lane, " did not come out in runs of ", runs.group));
}

}  // namespace millrace::lanes
