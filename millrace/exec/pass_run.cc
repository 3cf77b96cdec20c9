#include "millrace/exec/pass_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/exec/ahead_limit.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/lane.h"
#include "millrace/exec/least_memory.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {
namespace {

constexpr int64_t kReadyItemsMax = 64;  // Blocks that wait for the consumer.

int64_t RowsOf(const Stream& stream) {
  int64_t rows = 0;
  for (const TurnRows& part : stream) rows += part.rows;
  return rows;
}

}  // namespace

PassRun::PassRun(PassPlan& plan, const PassPlace& place,
                 std::vector<lanes::LaneRange> lanes)
    : plan_(plan),
      place_({.library = place.library,
              .pool = place.pool,
              .memory = place.memory,
              .meters = place.meters,
              .threads = place.threads,
              .changed = place.changed != nullptr ? place.changed : &own_changed_}),
      lanes_max_(LanesAtOnce(plan, place.memory.budget_bytes(), place.threads)),
      lanes_(std::move(lanes)),
      work_(plan_, place_),
      carry_(Carry{}),
      progress_(lanes_) {}

PassRun::~PassRun() { CHECK_EQ(running_, 0); }

bool PassRun::Claim(bool first, Task& task) {
  if (stopped_ || HasEnough()) return false;
  for (size_t i = 0; i < open_.size() || OpenLane(); ++i) {
    if (open_[i]->failed()) break;  // What comes after an error is not wanted.
    if (!open_[i]->Claim(first && i == 0, task)) continue;
    ++running_;
    ++claims_;
    return true;
  }
  return false;
}

bool PassRun::ClaimFetch(bool first, Task& task) {
  if (stopped_ || HasEnough()) return false;
  for (size_t i = 0; i < open_.size() || OpenLane(); ++i) {
    if (open_[i]->failed()) break;
    if (!open_[i]->ClaimFetch(first && i == 0, task)) continue;
    ++running_;
    ++claims_;
    return true;
  }
  return false;
}

bool PassRun::HasWork() const {
  if (HasEnough()) return false;
  return MayOpenLane() ||
         std::ranges::any_of(open_, [](const auto& lane) { return lane->HasWork(); });
}

bool PassRun::HasFetch() const {
  if (!plan_.waits() || HasEnough()) return false;
  return MayOpenLane() ||
         std::ranges::any_of(open_, [](const auto& lane) { return lane->HasFetch(); });
}

bool PassRun::Owns(const StageRun* stage) const {
  return std::ranges::any_of(open_,
                             [&](const auto& lane) { return lane->Owns(stage); });
}

void PassRun::Complete(Task task) {
  --running_;
  const auto lane = std::ranges::find_if(
      open_, [&](const auto& open) { return open->Owns(task.stage); });
  CHECK(lane != open_.end()) << "a lane was dropped while a task of it ran";
  (*lane)->Complete(std::move(task));
  DropEndedLanes();
}

// Never while the consumer would have to wait, and only of the outermost: what goes
// into others is less than what comes out of them.
bool PassRun::HasEnough() const {
  const bool nested = place_.changed != &own_changed_;
  return !nested && FirstReady() != nullptr && ahead_limit_.IsEnough(ReadyNow());
}

ReadyAmount PassRun::ReadyNow() const {
  ReadyAmount ready;
  for (const std::unique_ptr<Lane>& lane : open_) {
    ready.blocks += lane->ready().blocks();
    ready.bytes += lane->ready().bytes();
  }
  return ready;
}

void PassRun::Came() {
  ahead_limit_.Found(FirstReady() == nullptr ? ReadyAmount{} : ReadyNow());
}

bool PassRun::MayOpenLane() const {
  if (next_lane_ == lanes_.size() && plan_.growing == nullptr) return false;
  if (open_.empty()) return true;
  if (std::ssize(open_) >= lanes_max_) return false;
  return place_.memory.HasRoom(0, false);
}

bool PassRun::OpenLane() {
  if (!MayOpenLane()) return false;
  // Whether a lane is the last must be known when it opens.
  while (next_lane_ + 1 >= lanes_.size() && plan_.growing != nullptr) GrowLanes();
  if (next_lane_ == lanes_.size()) return false;
  const std::optional<int64_t> known_position = KnownPosition();
  const auto turn = static_cast<int64_t>(next_lane_++);
  // In any order each lane has batches of its own.
  std::optional<int64_t> position;
  if (any_order() && joins()) position = FirstPlace(plan_, turn) + RowsOf(carry_->rows);
  const Lane::With with = {
      .plan = plan_, .place = place_, .work = work_, .joiner = *this};
  open_.push_back(std::make_unique<Lane>(
      with, LaneStart{.range = lanes_[turn],
                      .turn = turn,
                      .position = position,
                      .known_position = known_position,
                      .ready = {.items = kReadyItemsMax,
                                .bytes = place_.memory.budget_bytes() / 4}}));
  Lane& lane = *open_.back();
  if (!joins()) {
    progress_.Begin(turn, {});
  } else if (any_order()) {
    BeginJoining(lane, std::exchange(*carry_, {}));
  } else if (joined_ + 1 == next_lane_) {
    BeginJoining(lane, *std::exchange(carry_, std::nullopt));
  }
  return true;
}

// Of the first row of the next lane, where the rows of all lanes before are known.
std::optional<int64_t> PassRun::KnownPosition() {
  if (next_lane_ > 0 && position_) {
    const lanes::LaneRange& before = lanes_[next_lane_ - 1];
    const bool known = before.end < lanes::kRowsMax;
    position_ =
        known ? std::optional(*position_ + before.end - before.begin) : std::nullopt;
  }
  return position_;
}

void PassRun::BeginJoining(Lane& lane, Carry carry) {
  progress_.Begin(lane.turn(), carry.rows);
  lane.joining()->SetCarry(std::move(carry));
}

void PassRun::GrowLanes() {
  const int64_t had = plan_.lanes.size();
  const absl::StatusOr<bool> grew = plan_.Grow();
  if (!grew.ok()) {
    grown_ = grew.status();
    plan_.growing = nullptr;
  }
  if (plan_.growing == nullptr) changed().NotifyAll();  // That may be the end.
  for (int64_t lane = had; lane < plan_.lanes.size(); ++lane) {
    const int64_t rows = plan_.joined_rows[lane];
    if (rows == 0) continue;
    lanes_.push_back({.lane = lane, .begin = 0, .end = rows});
    progress_.Append(lanes_.back());
  }
}

// A lane comes to its end; in any order one at a time, so that the last of them joins
// what all others left over.
Joiner::Ending PassRun::End() {
  ending_ = true;
  const bool is_last = joined_ + 1 == lanes_.size() && plan_.growing == nullptr;
  Joiner::Ending ending = {.ends_pass = is_last};
  if (is_last && any_order()) ending.carry = std::exchange(*carry_, {});
  return ending;
}

void PassRun::Ended(int64_t turn, Stream stream, Carry left) {
  progress_.End(turn, std::move(stream));
  ending_ = false;
  ++joined_;
  if (any_order()) {
    carry_->Add(std::move(left));
    return;
  }
  // Lanes join in order, so the one after it is the next of the open ones, if any.
  const size_t first_open = next_lane_ - open_.size();
  if (joined_ < next_lane_) {
    BeginJoining(*open_[joined_ - first_open], std::move(left));
  } else {
    carry_ = std::move(left);
  }
}

// The lane to deliver: the first open one or, in any order, the first that has rows.
Lane* PassRun::FirstReady() const {
  for (const std::unique_ptr<Lane>& lane : open_) {
    if (lane->has_ready()) return lane.get();
    if (!any_order()) break;
  }
  return nullptr;
}

bool PassRun::ready() const {
  if (!open_.empty()) return FirstReady() != nullptr;
  return next_lane_ == lanes_.size() && plan_.growing == nullptr;
}

PassRun::Ready PassRun::TakeReady() {
  if (open_.empty()) {
    Ready nothing;
    if (!grown_.ok()) nothing.items.push_back(Item::Error(grown_));
    return nothing;
  }
  Lane& lane = *FirstReady();
  Ready taken = {.turn = lane.turn(), .items = lane.TakeReady()};
  stopped_ = stopped_ || lane.failed();
  DropEndedLanes();
  return taken;
}

std::vector<lanes::LaneRange> PassRun::Left(const Positions& positions) const {
  return progress_.LeftAfter(positions, !any_order());
}

// A lane without a joining operator has ended when all of it was taken. One that failed
// stays: its earlier stages may be at work still.
void PassRun::DropEndedLanes() {
  const auto is_over = [](const std::unique_ptr<Lane>& lane) {
    return lane->ended() && !lane->failed() && !lane->has_ready();
  };
  for (auto lane = open_.begin(); lane != open_.end();) {
    if (!is_over(*lane)) {
      if (!any_order()) break;
      ++lane;
      continue;
    }
    const int64_t turn = (*lane)->turn();
    if (!joins()) progress_.End(turn, {{turn, (*lane)->given()}});
    lane = open_.erase(lane);
  }
}

}  // namespace millrace::exec
