#include "millrace/delivery/any_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/pass_reader.h"
#include "millrace/lanes/known_lanes.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::delivery {
namespace {

constexpr int64_t kAheadOfRightMax = 64;  // Batches that are asked of one.
constexpr int64_t kAheadOfUnknown = 2;    // Where nothing is known of its rows.

}  // namespace

Visit VisitOf(std::string_view word) {
  if (word == "at_most_once") return Visit::kAtMostOnce;
  return word == "at_least_once" ? Visit::kAtLeastOnce : Visit::kExactlyOnce;
}

AnyReader::AnyReader(const AnyReaderOptions& options, std::vector<int64_t> lane_rows,
                     lanes::Taken taken)
    : PassReader(options.pass, Credit(options.credit_bytes, options.batch_bytes)),
      options_(options),
      lane_rows_(std::move(lane_rows)),
      taken_rows_(std::move(taken)) {
  CHECK_GE(options.batching.rows, 1);
}

// --- What it owns ---

// Where the rows of a right end; kRowsMax: that is not known yet.
int64_t AnyReader::EndOf(const Owned& owned) const {
  const int64_t lane = owned.right.lane;
  const lanes::KnownLane known = known_.Get(lane);
  const int64_t rows = known.ended ? known.rows : RowsOf(lane);
  return std::max(owned.right.begin, std::min(owned.right.end, rows));
}

// Where those end that it has not promised to others.
int64_t AnyReader::LimitOf(const Owned& owned) const {
  int64_t limit = EndOf(owned);
  for (const api::Promise& promise : owned.promises) {
    limit = std::min(limit, promise.begin);
  }
  return limit;
}

// Where its tail begins, or would begin.
int64_t AnyReader::TailBegin(const Owned& owned) const {
  const int64_t end = EndOf(owned);
  if (owned.right.group != 0) return owned.right.begin;
  if (end == lanes::kRowsMax) return end;
  return end - (end - owned.right.begin) % batch_rows();
}

// Where its whole batches end.
int64_t AnyReader::WholeEnd(const Owned& owned) const {
  return std::min(TailBegin(owned), LimitOf(owned));
}

int64_t AnyReader::ReceivedTo(const Owned& owned) const {
  const auto pieces = pieces_.find(owned.right.lane);
  int64_t row = owned.taken_to;
  if (pieces == pieces_.end()) return row;
  while (row < LimitOf(owned)) {
    auto piece = pieces->second.upper_bound(row);
    if (piece == pieces->second.begin()) break;
    --piece;
    if (piece->second.end <= row) break;
    row = piece->second.end;
  }
  return std::min(row, LimitOf(owned));
}

bool AnyReader::HasLeft(const Owned& owned) const {
  if (owned.right.group != 0) return owned.taken_to < owned.right.end;
  const int64_t end = WholeEnd(owned);
  return end == lanes::kRowsMax || owned.taken_to + batch_rows() <= end;
}

std::vector<lanes::LaneRange> AnyReader::Held() const {
  std::vector<lanes::LaneRange> held;
  for (const auto& [number, owned] : rights_) {
    if (number < 0) continue;
    held.push_back({owned.right.lane, owned.taken_to, LimitOf(owned)});
    // Behind what it promised.
    for (const api::Promise& promise : owned.promises) {
      int64_t end = EndOf(owned);
      for (const api::Promise& other : owned.promises) {
        if (other.begin >= promise.end) end = std::min(end, other.begin);
      }
      held.push_back({owned.right.lane, promise.end, end});
    }
  }
  std::erase_if(held, [](const lanes::LaneRange& range) { return range.rows() <= 0; });
  return held;
}

void AnyReader::OnNews(const api::PassNews& news) {
  if (news.pass != pass()) return;
  SyncRights(news.rights);
  NeedsChanged();
  begun_ = true;
  horizon_ = std::max(horizon_, news.horizon);
  leased_ = leased_ || news.leased;
  settled_ = settled_ || news.settled;
  if (news.final && !final_) {
    final_ = true;
    fills_ = news.fill >= 0;
    for (auto& [number, owned] : rights_) owned.redo = false;
  }
  Give(news);
  AskMore();
}

// The dispatcher's list is all there is: what is not in it was moved or is finished.
void AnyReader::SyncRights(const std::vector<api::Right>& rights) {
  std::set<int64_t> listed;
  std::set<int64_t> lanes;
  for (const api::Right& right : rights) {
    listed.insert(right.number);
    const auto [found, added] = rights_.try_emplace(right.number);
    Owned& owned = found->second;
    if (added) {
      owned = {right, right.begin, right.begin};
      SkipHere(owned);
    }
    if (owned.right.end == right.end) continue;
    owned.right.end = right.end;
    // A promise is kept once its rows belong to the right no more.
    std::erase_if(owned.promises, [&](const api::Promise& promise) {
      return promise.begin >= right.end;
    });
    CutAsks(owned);
    lanes.insert(right.lane);
  }
  for (auto it = rights_.begin(); it != rights_.end();) {
    const auto right = it++;
    if (right->first < 0 || listed.contains(right->first)) continue;
    const Owned& owned = right->second;
    Forget(owned);
    lanes.insert(owned.right.lane);
    if (owned.redo) {
      taken_rows_.Remove({owned.right.lane, owned.right.begin, owned.taken_to});
    }
    rights_.erase(right);
  }
  for (const int64_t lane : lanes) Purge(lane);
}

// Takes back what it asked for.
void AnyReader::Forget(const Owned& owned) {
  credit_.Ask(-std::ssize(owned.asks));
  if (!owned.worker || owned.asks.empty()) return;
  Do(SendWants{*owned.worker, {{}, {At(owned.right)}, {}}});
}

// Takes back what it asked for beyond what it may take.
void AnyReader::CutAsks(Owned& owned) {
  const int64_t limit = LimitOf(owned);
  bool cut = false;
  for (Asked& ask : owned.asks) {
    cut = cut || ask.end > limit;
    ask.end = std::min(ask.end, limit);
  }
  credit_.Ask(-static_cast<int64_t>(std::erase_if(
      owned.asks, [](const Asked& ask) { return ask.begin >= ask.end; })));
  owned.asked_to = std::min(owned.asked_to, std::max(limit, owned.taken_to));
  if (cut) Send(owned, /*forget=*/true);
}

// What is here, be it from when it was another right's, need not come again.
void AnyReader::SkipHere(Owned& owned) {
  const int64_t row = ReceivedTo(owned);
  credit_.Ask(-static_cast<int64_t>(
      std::erase_if(owned.asks, [&](const Asked& ask) { return ask.end <= row; })));
  const int64_t part = (row - owned.right.begin) % batch_rows();
  const int64_t next = row == LimitOf(owned) ? row : row - part;
  owned.asked_to = std::max(owned.asked_to, next);
}

// Drops what no right of this lane needs.
void AnyReader::Purge(int64_t lane) {
  const auto found = pieces_.find(lane);
  if (found == pieces_.end()) return;
  std::erase_if(found->second, [&](const auto& entry) {
    const auto& [row, piece] = entry;
    const bool needed = std::ranges::any_of(rights_, [&](const auto& right) {
      const Owned& owned = right.second;
      return owned.right.lane == lane && owned.taken_to < piece.end &&
             LimitOf(owned) > row;
    });
    if (needed) return false;
    credit_.Release(piece.bytes);
    Do(Drop{piece.token});
    return true;
  });
  if (found->second.empty()) pieces_.erase(found);
}

// --- Asking ---

// Asks for one more batch of a right, unless so many are asked for.
// Where a lane ends is not known: the more of it is known to exist, the more may
// follow.
bool AnyReader::IsFarAhead(const Owned& owned) const {
  if (EndOf(owned) < lanes::kRowsMax) return false;
  const int64_t begin = owned.right.begin;
  const int64_t there = std::max(known_.Get(owned.right.lane).rows, ReceivedTo(owned));
  return owned.asked_to >=
         there + std::max(there - begin, kAheadOfUnknown * batch_rows());
}

bool AnyReader::AskOf(Owned& owned, int64_t batches) {
  owned.asked_to = std::max(owned.asked_to, owned.taken_to);
  const int64_t end = std::min(LimitOf(owned), owned.asked_to + batch_rows());
  const bool enough = owned.asked_to - owned.taken_to >= batches * batch_rows();
  if (owned.redo || enough || owned.asked_to >= end || IsFarAhead(owned)) return false;
  owned.asks.push_back({owned.asked_to, end});
  credit_.Ask(1);
  if (owned.worker) {
    SendWant(*owned.worker, {At(owned.right), owned.asked_to, end, owned.asked_to});
  } else {
    NeedsChanged();
  }
  owned.asked_to = end;
  return true;
}

// Evenly of all; one batch always, whatever the room, if nothing can be taken.
void AnyReader::AskMore() {
  AdvanceFill();
  if (left_ || ready() == Ready::kEnd) return DropAll();
  const bool over = final_ && taken_batches_ >= horizon_;
  bool must = over || (credit_.asked_batches() == 0 && !Choose());
  while (must || credit_.HasRoom()) {
    Owned* least = nullptr;
    for (auto& [number, owned] : rights_) {
      const int64_t ahead = owned.asked_to - owned.taken_to;
      if (owned.redo || owned.asked_to >= LimitOf(owned) || (over && number > 0))
        continue;
      if (least == nullptr || ahead < least->asked_to - least->taken_to) least = &owned;
    }
    if (least == nullptr || !AskOf(*least, kAheadOfRightMax)) return;
    must = over;
  }
}

// What was left out may be here, or on its way.
void AnyReader::DropAll() {
  for (auto& [number, owned] : rights_) {
    Forget(owned);
    owned.asks.clear();
    owned.asked_to = owned.taken_to;
  }
  for (const auto& [lane, pieces] : pieces_) {
    for (const auto& [row, piece] : pieces) Do(Drop{piece.token});
  }
  pieces_.clear();
  credit_.Clear();
}

void AnyReader::Leave() {
  left_ = true;
  DropAll();
}

// The rows that the pass begins with fill the last round up; lane by lane, as their
// ends may not be known here.
void AnyReader::AdvanceFill() {
  if (!final_ || !fills_ || taken_batches_ < horizon_) return;
  int64_t rows = 0;
  for (const auto& [number, owned] : rights_) {
    if (number >= 0) break;
    if (ReceivedTo(owned) < EndOf(owned)) return;
    rows += EndOf(owned);
  }
  if (rows >= batch_rows() || fill_lane_ >= std::ssize(lane_rows_)) return;
  const int64_t lane = fill_lane_++;
  const int64_t number = lane - std::ssize(lane_rows_);
  Owned& owned = rights_[number];
  owned = {{number, lane, 0, batch_rows() - rows, 0}, 0, 0};
  SkipHere(owned);
  AdvanceFill();
}

// Asks for all that did not come yet.
void AnyReader::Send(const Owned& owned, bool forget) {
  if (!owned.worker || (owned.asks.empty() && !forget)) return;
  api::ReaderMessage message;
  if (forget) message.forget.push_back(At(owned.right));
  for (const Asked& ask : owned.asks) {
    message.wants.push_back({At(owned.right), ask.begin, ask.end, ask.begin});
  }
  Do(SendWants{*owned.worker, std::move(message)});
}

// --- What workers say ---

void AnyReader::OnPlaced(const api::LaneAddress& at, std::optional<WorkerId> worker) {
  const auto found = rights_.find(at.right);
  if (at.pass != pass() || found == rights_.end()) return;
  Owned& owned = found->second;
  if (owned.worker == worker) return;
  if (owned.worker && !owned.asks.empty()) {
    Do(SendWants{*owned.worker, {{}, {at}, {}}});
  }
  owned.worker = worker;
  NeedsChanged();
  Send(owned, /*forget=*/false);
}

absl::Status AnyReader::OnKnown(int64_t lane, const lanes::KnownLane& known) {
  if (!HasLane(lane) || RowsOf(lane) != lanes::kRowsMax) return absl::OkStatus();
  TRY(known_.Learn(lane, known));
  if (!known.ended) return absl::OkStatus();
  for (auto& [number, owned] : rights_) {
    if (owned.right.lane == lane) CutAsks(owned);
  }
  AskMore();
  return absl::OkStatus();
}

absl::Status AnyReader::OnBatch(const api::BatchHead& head, Token token) {
  const auto found = rights_.find(head.at.right);
  const auto drop = [&] {
    Do(Drop{token});
    return absl::OkStatus();
  };
  if (head.at.pass != pass() || found == rights_.end()) return drop();
  Owned& owned = found->second;
  const auto ask = std::ranges::find_if(owned.asks, [&](const Asked& candidate) {
    return candidate.begin == head.begin && head.end <= candidate.end;
  });
  if (ask == owned.asks.end() || head.end <= head.begin) return drop();
  const bool follows =
      owned.digest_row == head.begin && head.digest_before != base::Hash128{};
  if (follows && owned.digest != head.digest_before) {
    return absl::DataLossError(base::StrCat(
        "lane ", head.at.lane, " came out differently up to row ", head.begin,
        ": a function is not deterministic, or a file has changed"));
  }
  if (head.digest != base::Hash128{}) {
    owned.digest_row = head.end;
    owned.digest = head.digest;
  }
  ask->begin = head.end;
  if (ask->begin == ask->end) {
    owned.asks.erase(ask);
    credit_.Ask(-1);
  }
  Add(owned.right.lane, head, token);
  SkipHere(owned);
  TRY(OnKnown(owned.right.lane, {.rows = head.end}));
  AskMore();
  return absl::OkStatus();
}

// Rows may be here already, from when they were another right's.
void AnyReader::Add(int64_t lane, const api::BatchHead& head, Token token) {
  const auto [found, added] = pieces_[lane].try_emplace(head.begin);
  Piece& piece = found->second;
  if (!added && piece.end >= head.end) {
    Do(Drop{token});
    return;
  }
  if (!added) {
    credit_.Release(piece.bytes);
    Do(Drop{piece.token});
  }
  piece = {head.end, head.tail, head.bytes, token};
  credit_.Receive(head.bytes);
}

absl::Status AnyReader::OnEnd(const api::LaneEnd& end) {
  const auto found = rights_.find(end.at.right);
  if (end.at.pass != pass() || found == rights_.end()) return absl::OkStatus();
  const int64_t lane = found->second.right.lane;
  if (RowsOf(lane) != lanes::kRowsMax) {
    return absl::DataLossError(
        base::StrCat("lane ", lane, " ended after ", end.rows,
                     " rows, before those that its files promise: a file has changed"));
  }
  return OnKnown(lane, {end.rows, true});
}

void AnyReader::OnFailed(WorkerId worker, const api::LaneAddress& at) {
  const auto found = rights_.find(at.right);
  if (found == rights_.end() || found->second.worker != worker) return;
  found->second.worker.reset();
  NeedsChanged();
}

void AnyReader::OnWorkerGone(WorkerId worker) {
  for (auto& [number, owned] : rights_) {
    if (owned.worker != worker) continue;
    owned.worker.reset();
    NeedsChanged();
    LoseWorkerOf(owned);
  }
  AskMore();
}

// --- Telling ---

void AnyReader::WriteState(lanes::State& state) const {
  state.step = taken_batches_;
  lanes::SetTaken(state, taken_rows_);
  if (options_.endless) state.lanes = lanes::LanesIn(taken_rows_);
}

std::vector<LaneNeed> AnyReader::Needs() const {
  std::vector<LaneNeed> needs;
  if (left_) return needs;
  const bool over = final_ && taken_batches_ >= horizon_;
  for (const auto& [number, owned] : rights_) {
    const int64_t row = ReceivedTo(owned);
    if (row >= LimitOf(owned) || owned.redo || (over && number > 0)) continue;
    needs.push_back(
        {At(owned.right), row, !owned.asks.empty(), owned.worker.has_value()});
  }
  return needs;
}

std::optional<api::LaneAddress> AnyReader::waits_for() const {
  if (ready() != Ready::kWait) return std::nullopt;
  for (const auto& [number, owned] : rights_) {
    if (!owned.asks.empty()) return At(owned.right);
  }
  return std::nullopt;
}

api::PassBeat AnyReader::Beat() const {
  api::PassBeat beat{.pass = pass()};
  int64_t tail_rows = 0;
  beat.hungry = !final_;
  for (const auto& [number, owned] : rights_) {
    if (number < 0) continue;
    beat.promises.insert(beat.promises.end(), owned.promises.begin(),
                         owned.promises.end());
    const int64_t end = EndOf(owned);
    if (HasLeft(owned)) beat.hungry = false;
    if (end < lanes::kRowsMax && owned.right.group == 0) {
      const int64_t begin = std::max(owned.taken_to, TailBegin(owned));
      tail_rows += std::max<int64_t>(0, LimitOf(owned) - begin);
    }
    if (owned.redo) {
      beat.redo.push_back({number, owned.taken_to});
    } else if (owned.taken_to == end && owned.promises.empty()) {
      beat.finished.push_back({number, end});
    } else if (options_.visit != Visit::kExactlyOnce) {
      beat.received.push_back({number, ReceivedTo(owned)});
    }
  }
  if (tail_rows >= batch_rows()) beat.hungry = false;
  return beat;
}

std::vector<api::KnownRows> AnyReader::Known() const {
  std::vector<api::KnownRows> rows;
  std::set<int64_t> told;
  for (const auto& [number, owned] : rights_) {
    const int64_t lane = owned.right.lane;
    const lanes::KnownLane known = known_.Get(lane);
    if ((known.rows == 0 && !known.ended) || !told.insert(lane).second) continue;
    rows.push_back({{pass(), lane}, known.rows, known.ended});
  }
  return rows;
}

}  // namespace millrace::delivery
