#include "millrace/delivery/fixed_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/order.h"
#include "millrace/lanes/positions.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/run_turns.h"
#include "millrace/lanes/state.h"

namespace millrace::delivery {
namespace {

using lanes::LaneRange;
using lanes::Positions;

// Positions that are decided before they are taken, at most.
constexpr int64_t kAheadMax = 1024;

int64_t RowsIn(const std::vector<LaneRange>& ranges) {
  int64_t rows = 0;
  for (const LaneRange& range : ranges) rows += range.rows();
  return rows;
}

}  // namespace

Remainder RemainderOf(std::string_view word) {
  if (word == "pad") return Remainder::kPad;
  return word == "keep" ? Remainder::kKeep : Remainder::kDrop;
}

FixedReader::FixedReader(const FixedReaderOptions& options, const lanes::Rest& rest,
                         const lanes::Rest& whole)
    : PassReader(options.pass, Credit(options.credit_bytes, options.batch_bytes)),
      options_(options),
      ahead_(lanes::MakePositions(rest, options.batching, options.endless)),
      taken_(lanes::MakePositions(rest, options.batching, options.endless)),
      whole_(whole) {
  CHECK(options.consumer >= 0 && options.consumer < options.consumers);
  const bool pads = options.remainder == Remainder::kPad && !whole.tracks.empty();
  if (pads && !runs()) fill_ = lanes::MakePositions(whole, options.batching, false);
  Advance();
}

// --- Deciding ---

void FixedReader::Advance() {
  if (left_) return;
  do AskPositions();
  while (DecideOne());
  if (alone()) AskAlone();
  if (ready() == Ready::kEnd) Leave();
}

// Decides a position, if it is time for one and enough is known.
bool FixedReader::DecideOne() {
  const bool enough = !positions_.empty() && positions_.front().round < rounds_ &&
                      (!positions_.back().asked || std::ssize(positions_) >= kAheadMax);
  // What fills up may be rows that are still to be taken: only then is it their turn.
  if (fill_left_ > 0) return positions_.empty() && FillOne();
  if (ended_ || enough) return false;
  const int64_t number = ahead_->position();
  Positions::Step step = ahead_->Next(known_);
  wants_lanes_ = step.kind == Positions::Kind::kUnknown && step.lane < 0;
  if (std::exchange(unknown_lane_, step.lane) != step.lane) NeedsChanged();
  if (step.kind == Positions::Kind::kUnknown) return false;
  if (step.kind == Positions::Kind::kEnd) {
    EndRounds();
    return fill_left_ > 0;
  }
  const int64_t round = number / round_positions();
  const int64_t rows = RowsIn(step.rows);
  rounds_ = ahead_->position() / round_positions();
  round_rows_ = ahead_->position() % round_positions() == 0 ? 0 : round_rows_ + rows;
  if (runs()) {
    DecideOfRun(std::move(step.rows), number);
  } else if (options_.global_batch && rows < options_.batching.rows) {
    EndShort(std::move(step.rows));
  } else if (options_.global_batch ||
             lanes::Owner(number, options_.consumers) == options_.consumer) {
    AddPosition(std::move(step.rows), rows, rows).round = round;
  }
  return true;
}

// A position that nothing is left for is filled with what others have in its round, or
// is nobody's.
void FixedReader::DecideOfRun(std::vector<LaneRange> rows, int64_t number) {
  const int64_t n = options_.consumers;
  if (number % n == 0) round_.clear();
  const bool filled = rows.empty() && options_.remainder == Remainder::kPad;
  if (!rows.empty()) round_.push_back(rows);
  if (lanes::Owner(number, n) != options_.consumer || (rows.empty() && !filled)) return;
  if (filled) rows = round_[(number % n) % std::ssize(round_)];
  const int64_t all = RowsIn(rows);
  AddPosition(std::move(rows), all, filled ? 0 : all).round = number / n;
}

// Of a batch of so many rows this consumer needs all, or a slice; the first so many of
// the batch are valid.
FixedReader::Position& FixedReader::AddPosition(std::vector<LaneRange> rows,
                                                int64_t all, int64_t valid) {
  Position& position = positions_.emplace_back();
  position.batch = rows.front().begin;
  position.all = all;
  position.slice_end = all;
  if (options_.global_batch) {
    position.slice_begin = options_.consumer * all / options_.consumers;
    position.slice_end = (options_.consumer + 1) * all / options_.consumers;
  }
  position.valid = std::clamp<int64_t>(valid - position.slice_begin, 0,
                                       position.slice_end - position.slice_begin);
  // Of a batch that is one piece only the slice is needed.
  if (rows.size() == 1 && rows.front().rows() == all) {
    LaneRange& range = rows.front();
    range.end = range.begin + position.slice_end;
    range.begin += position.slice_begin;
    position.all = range.rows();
    position.slice_end -= std::exchange(position.slice_begin, 0);
  }
  position.rows = std::move(rows);
  return position;
}

// A short last batch of all consumers is left out, cut, or filled up; one consumer gets
// everything.
void FixedReader::EndShort(std::vector<LaneRange> rows) {
  const int64_t valid = RowsIn(rows);
  if (options_.remainder == Remainder::kPad) {
    short_ = std::move(rows);
    fill_left_ = 1;
  } else if (options_.remainder == Remainder::kKeep || options_.consumers == 1) {
    AddPosition(std::move(rows), valid, valid).round = rounds_ - 1;
  } else {
    left_out_rows_ = valid;
  }
}

// The last round, where it is not full, is left out, given as it is, or filled with
// what the pass began with.
void FixedReader::EndRounds() {
  ended_ = true;
  if (runs()) {
    left_out_rows_ = ahead_->left_out_rows();
    return;
  }
  const int64_t filled = ahead_->position() % round_positions();
  if (filled == 0) return;
  const int64_t last = ahead_->position() / round_positions();
  const bool mine = !positions_.empty() && positions_.back().round == last;
  if (options_.remainder == Remainder::kDrop) {
    if (mine) positions_.pop_back();
    left_out_rows_ = round_rows_;
    return;
  }
  rounds_ = last + 1;
  if (mine || options_.remainder == Remainder::kKeep) return;
  fill_left_ = options_.consumer - filled + 1;
}

// Goes through the pass from its start, as often as it takes, to what this consumer's
// place in the last round is filled with.
bool FixedReader::FillOne() {
  CHECK(fill_ != nullptr);
  Positions::Step step = fill_->Next(known_);
  if (step.kind == Positions::Kind::kEnd) {
    fill_ = lanes::MakePositions(whole_, options_.batching, false);
    return true;
  }
  if (std::exchange(unknown_lane_, step.lane) != step.lane) NeedsChanged();
  if (step.kind == Positions::Kind::kUnknown) return false;
  if (!short_.empty()) {
    FillShort(step.rows);
  } else if (--fill_left_ == 0) {
    const int64_t rows = RowsIn(step.rows);
    AddPosition(std::move(step.rows), rows, 0).round = rounds_ - 1;
  }
  return true;
}

// The first batch of a pass is a whole one, and fills any other up; unless it is the
// only one, whose rows are repeated.
void FixedReader::FillShort(const std::vector<LaneRange>& rows) {
  const int64_t valid = RowsIn(short_);
  const int64_t whole = options_.batching.rows;
  int64_t missing = RowsIn(rows) == whole ? whole - valid : 0;
  for (LaneRange range : rows) {
    range.end = std::min(range.end, range.begin + missing);
    missing -= range.rows();
    if (range.rows() > 0) short_.push_back(range);
  }
  fill_left_ = 0;
  AddPosition(std::exchange(short_, {}), whole, valid).round = rounds_ - 1;
}

// --- What the dispatcher and workers say ---

void FixedReader::OnPlaced(const api::LaneAddress& at, std::optional<WorkerId> worker) {
  if (at.pass != pass() || left_) return;
  const int64_t number = at.lane;
  Lane& lane = lanes_[number];
  if (lane.worker == worker) return;
  if (lane.worker && !lane.asks.empty()) {
    Do(SendWants{*lane.worker, {{}, {At(number)}, {}}});
  }
  lane.worker = worker;
  NeedsChanged();
  Send(number, lane);
}

absl::Status FixedReader::OnKnown(int64_t lane, const lanes::KnownLane& known) {
  if (options_.counted) return absl::OkStatus();
  if (runs()) TRY(lanes::CheckRuns(lane, known, *options_.batching.runs));
  TRY(known_.Learn(lane, known));
  if (known.ended) CutAsks(lane, known.rows);
  Advance();
  return absl::OkStatus();
}

absl::Status FixedReader::OnBatch(const api::BatchHead& head, Token token) {
  const auto found = lanes_.find(head.at.lane);
  const auto drop = [&] {
    Do(Drop{token});
    return absl::OkStatus();
  };
  if (head.at.pass != pass() || found == lanes_.end()) return drop();
  Lane& lane = found->second;
  const auto ask = std::ranges::find_if(lane.asks, [&](const Ask& candidate) {
    return candidate.begin == head.begin && head.end <= candidate.end;
  });
  if (ask == lane.asks.end() || head.end <= head.begin) return drop();
  const bool follows =
      lane.digest_row == head.begin && head.digest_before != base::Hash128{};
  if (follows && lane.digest != head.digest_before) {
    return absl::DataLossError(base::StrCat(
        "lane ", head.at.lane, " came out differently up to row ", head.begin,
        ": a function is not deterministic, or a file has changed"));
  }
  if (head.digest != base::Hash128{}) {
    lane.digest_row = head.end;
    lane.digest = head.digest;
  }
  ask->begin = ask->batch = head.end;
  if (ask->begin == ask->end) {
    lane.asks.erase(ask);
    credit_.Ask(-1);
  }
  lane.pieces[head.begin] = {head.end, head.tail, head.bytes, head.end - head.begin,
                             token,    head.key};
  credit_.Receive(head.bytes);
  if (head.last && !options_.counted) return OnEnd({head.at, head.end, head.tails});
  // Rows of a tail are no batches; where the lane ends is told before any of them.
  const bool told = runs() && head.tail;
  if (!options_.counted && !told) TRY(known_.Learn(head.at.lane, {.rows = head.end}));
  Advance();
  return absl::OkStatus();
}

absl::Status FixedReader::OnEnd(const api::LaneEnd& end) {
  const auto found = lanes_.find(end.at.lane);
  if (end.at.pass != pass() || found == lanes_.end()) return absl::OkStatus();
  if (options_.counted) {
    return absl::DataLossError(
        base::StrCat("lane ", end.at.lane, " ended after ", end.rows,
                     " rows, before those that its files promise: a file has changed"));
  }
  return OnKnown(end.at.lane, {end.rows, true, end.tails});
}

void FixedReader::OnFailed(WorkerId worker, const api::LaneAddress& at) {
  const auto found = lanes_.find(at.lane);
  if (at.pass != pass() || found == lanes_.end() || found->second.worker != worker)
    return;
  found->second.worker.reset();
  NeedsChanged();
}

void FixedReader::OnWorkerGone(WorkerId worker) {
  for (auto& [number, lane] : lanes_) {
    if (lane.worker == worker) lane.worker.reset();
  }
  NeedsChanged();
}

// --- Taking ---

bool FixedReader::IsHere(const LaneRange& range) const {
  const auto lane = lanes_.find(range.lane);
  if (lane == lanes_.end()) return false;
  for (int64_t row = range.begin; row < range.end;) {
    auto piece = lane->second.pieces.upper_bound(row);
    if (piece == lane->second.pieces.begin()) return false;
    --piece;
    if (piece->second.end <= row) return false;
    row = piece->second.end;
  }
  return true;
}

FixedReader::Ready FixedReader::ready() const {
  if (positions_.empty()) {
    return ended_ && fill_left_ == 0 ? Ready::kEnd : Ready::kWait;
  }
  const Position& next = positions_.front();
  if (next.round >= rounds_) return Ready::kWait;
  const bool here = std::ranges::all_of(
      next.rows, [&](const LaneRange& range) { return IsHere(range); });
  return here ? Ready::kBatch : Ready::kWait;
}

std::optional<api::LaneAddress> FixedReader::waits_for() const {
  if (positions_.empty() || positions_.front().round >= rounds_) return std::nullopt;
  for (const LaneRange& range : positions_.front().rows) {
    if (!IsHere(range)) return At(range.lane);
  }
  return std::nullopt;
}

void FixedReader::TakeRows(const LaneRange& range, TakenBatch& batch) {
  Lane& lane = lanes_.at(range.lane);
  for (int64_t row = range.begin; row < range.end;) {
    const auto found = std::prev(lane.pieces.upper_bound(row));
    Piece& piece = found->second;
    if (!piece.tail) run_key_ = piece.key;
    const int64_t end = std::min(range.end, piece.end);
    piece.rows_left -= end - row;
    batch.parts.push_back(
        {piece.token, row - found->first, end - row, piece.tail, piece.rows_left <= 0});
    row = end;
    if (piece.rows_left > 0) continue;
    credit_.Release(piece.bytes);
    lane.pieces.erase(found);
  }
}

TakenBatch FixedReader::Take() {
  CHECK(ready() == Ready::kBatch);
  const Position next = std::move(positions_.front());
  positions_.pop_front();
  TakenBatch batch{{}, next.all, next.slice_begin, next.slice_end, next.valid};
  for (const LaneRange& range : next.rows) TakeRows(range, batch);
  if (++taken_batches_ % kAheadMax == 0) ForgetPassed();
  StepTaken(next.round);
  Advance();
  return batch;
}

// Everybody takes this round.
void FixedReader::StepTaken(int64_t round) {
  while (taken_->position() < (round + 1) * round_positions()) {
    const Positions::Step step = taken_->Next(known_);
    if (step.kind != Positions::Kind::kBatch) return;
  }
}

// What was left out may be here, or on its way.
void FixedReader::Leave() {
  left_ = true;
  for (const auto& [number, lane] : lanes_) {
    for (const auto& [row, piece] : lane.pieces) Do(Drop{piece.token});
    if (!lane.worker || lane.asks.empty()) continue;
    Do(SendWants{*lane.worker, {{}, {At(number)}, {}}});
  }
  lanes_.clear();
  credit_.Clear();
}

// Where a lane is run is told again when it is needed.
void FixedReader::ForgetPassed() {
  std::set<int64_t> current;
  for (const LaneRange& range : ahead_->Ahead(1, known_)) current.insert(range.lane);
  std::erase_if(lanes_, [&](const auto& entry) {
    const auto& [number, lane] = entry;
    return lane.asks.empty() && lane.pieces.empty() && !current.contains(number);
  });
}

// --- Telling ---

void FixedReader::DealMore(const LaneRange& lane) {
  ahead_->DealMore(lane);
  taken_->DealMore(lane);
  wants_lanes_ = false;
  Advance();
}

bool FixedReader::MayBeginNext() const {
  return !options_.endless && !taken_->HasMore(known_);
}

void FixedReader::WriteState(lanes::State& state) const {
  lanes::Rest left = rest();
  if (left.run.key < 0) left.run.key = left.run.left > 0 ? run_key_ : -1;
  lanes::SetRest(state, left, state.lanes);
}

// Of the lanes that it needs: nobody asks about others any more.
std::vector<api::KnownRows> FixedReader::Known() const {
  std::vector<api::KnownRows> rows;
  for (const LaneNeed& need : Needs()) {
    const lanes::KnownLane known = known_.Get(need.at.lane);
    if (known.rows == 0 && !known.ended) continue;
    rows.push_back({need.at, known.rows, known.ended, known.tails});
  }
  return rows;
}

// Of a lane that goes on, what is carried counts only once it is decided: rows that
// nobody asks for yet would fill the worker's buffer, and what lies behind them never
// be learnt. They are made again then.
std::vector<LaneNeed> FixedReader::Needs() const {
  struct Listed {
    size_t place = 0;
    bool carried = false;
  };

  std::vector<LaneNeed> needs;
  if (left_) return needs;
  std::map<int64_t, Listed> listed;  // By lane.
  const auto add = [&](const LaneRange& range, bool now) {
    const bool carried = range.key >= 0;
    const auto [found, is_new] =
        listed.try_emplace(range.lane, Listed{needs.size(), carried});
    if (is_new) {
      const auto lane = lanes_.find(range.lane);
      const bool placed = lane != lanes_.end() && lane->second.worker;
      needs.push_back({At(range.lane), range.begin, now, placed});
      return;
    }
    if (carried && !found->second.carried) return;
    int64_t& from = needs[found->second.place].from;
    const bool goes_on = std::exchange(found->second.carried, carried) && !carried;
    from = goes_on ? range.begin : std::min(from, range.begin);
  };
  for (const Position& position : positions_) {
    for (LaneRange range : position.rows) {
      if (IsHere(range)) continue;
      if (position.rows.size() == 1) range.begin = position.batch;
      range.key = -1;
      add(range, /*now=*/true);
    }
  }
  if (fill_left_ > 0) {
    for (const LaneRange& range : fill_->Ahead(0, known_)) {
      if (range.lane == unknown_lane_) add(range, /*now=*/true);
    }
  }
  if (ended_) return needs;
  for (const LaneRange& range : ahead_->Ahead(0, known_)) add(range, /*now=*/true);
  for (const LaneRange& range : ahead_->Ahead(1, known_)) add(range, /*now=*/false);
  return needs;
}

}  // namespace millrace::delivery
