#include "millrace/exec/pass_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/least_memory.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/nested_stage.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/read_stage.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/slots.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/rest.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

constexpr int64_t kReadyItemsMax = 64;  // Blocks that wait for the consumer.

// What waits before a stage may take a share of the budget, however many stages, and
// so many blocks for each thread: while one joins a batch the others make the next.
QueueLimits LimitsFor(const Memory& memory, int threads) {
  constexpr int64_t kItemsPerThread = 32;
  return {.items = kItemsPerThread * threads, .bytes = memory.budget_bytes() / 16};
}

int64_t RowsOf(const Stream& stream) {
  int64_t rows = 0;
  for (const TurnRows& part : stream) rows += part.rows;
  return rows;
}

// Where the batches of a lane begin that shares none with others: far apart from those
// of all others.
int64_t FirstPlace(const PassPlan& plan, int64_t turn) {
  constexpr int64_t kFar = int64_t{1} << 40;
  const int64_t batch = std::max<int64_t>(1, BatchSizeOf(plan.nodes[plan.join]));
  return (kFar / batch + 1) * batch * turn;
}

// Leaves out the first rows of a lane, on their way into a stage.
class Skip final : public Sink {
 public:
  Skip(int64_t rows, Sink& next) : rows_(rows), next_(next) {}

  void Accept(Item item) override {
    if (std::optional<Item> rest = rows_.Pass(std::move(item))) {
      next_.Accept(*std::move(rest));
    }
  }

  void EndInput() override { next_.EndInput(); }

  bool HasRoom() const override { return rows_.left() > 0 || next_.HasRoom(); }

 private:
  SkippedRows rows_;
  Sink& next_;
};

}  // namespace

// An open lane: its stages, and behind them what it has ready.
class PassRun::Lane final : public Sink, public Joiner {
 public:
  // `turn`: which of the lanes to run it is.
  // `position`: of its first row in the pass, where that is known.
  Lane(PassRun& pass, int64_t turn, std::optional<int64_t> position)
      : pass_(pass),
        range_(pass.lanes_[turn]),
        turn_(turn),
        position_(position),
        ready_(
            {.items = kReadyItemsMax, .bytes = pass.place_.memory.budget_bytes() / 4}) {
    Build();
  }

  void Accept(Item item) override {
    if (ended_ || failed_) return;
    failed_ = !item.status.ok();
    ready_.Push(std::move(item));
  }

  void EndInput() override { ended_ = true; }

  bool HasRoom() const override { return ready_.HasRoom(); }

  bool Claim(bool first, Task& task) {
    if (ended_) return false;  // What still comes is not wanted.
    for (const auto& stage : std::ranges::reverse_view(stages_)) {
      if (!stage->Claim(pass_.place_.memory, first, task)) continue;
      if (task.stage == nullptr) task.stage = stage.get();
      ++running_;
      return true;
    }
    return false;
  }

  bool ClaimFetch(bool first, Task& task) {
    StageRun& reading = *stages_.front();
    if (ended_) return false;
    if (!reading.ClaimFetch(pass_.place_.memory, first, task)) return false;
    if (task.stage == nullptr) task.stage = &reading;
    ++running_;
    return true;
  }

  bool Owns(const StageRun* stage) const {
    return std::ranges::any_of(stages_,
                               [&](const auto& own) { return own->Owns(stage); });
  }

  void Complete(Task task) {
    --running_;
    const auto stage = std::ranges::find_if(
        stages_, [&](const auto& own) { return own->Owns(task.stage); });
    (*stage)->Complete(std::move(task));
  }

  bool HasWork() const {
    return !ended_ && std::ranges::any_of(
                          stages_, [](const auto& stage) { return stage->HasWork(); });
  }

  bool HasFetch() const { return !ended_ && stages_.front()->HasFetch(); }

  int64_t turn() const { return turn_; }

  bool has_ready() const { return !ready_.empty(); }

  // Takes what is ready.
  std::deque<Item> TakeReady() {
    std::deque<Item> taken;
    while (!ready_.empty()) {
      taken.push_back(ready_.Pop());
      if (joining_ != nullptr) continue;
      given_ += taken.back().block.rows();
      taken.back().position = given_;
    }
    return taken;
  }

  // Where nothing joins lanes: rows taken.
  int64_t given() const { return given_; }

  bool MayEnd() const override { return pass_.MayEnd(); }

  Ending End() override { return pass_.End(); }

  void Ended(Stream stream, Carry left) override {
    pass_.EndJoining(turn_, std::move(stream), std::move(left));
  }

  // After an error the lane has ended, but tasks of it may still run.
  bool ended() const { return ended_ && running_ == 0; }

  bool failed() const { return failed_; }

  InOrderStage* joining() { return joining_; }

 private:
  // Makes the stages, the last one first: each needs to know where its results go.
  void Build() {
    const PassPlan& plan = pass_.plan_;
    const int skip_place = range_.begin > 0 ? SkipPlace(plan) : -1;
    const std::vector<Stage> stages =
        CutIntoStages(plan.nodes, {plan.join, std::max(skip_place, 0)});
    Sink* next = this;
    for (const Stage& stage : std::ranges::reverse_view(stages)) {
      if (skip_place == stage.last + 1) next = MakeSkip(*next);
      stages_.push_back(MakeStage(stage, *next));
      next = stages_.back().get();
    }
    std::ranges::reverse(stages_);
  }

  Sink* MakeSkip(Sink& next) {
    skip_ = std::make_unique<Skip>(range_.begin, next);
    return skip_.get();
  }

  std::unique_ptr<StageRun> MakeStage(const Stage& stage, Sink& next) {
    const PassPlace& place = pass_.place_;
    const QueueLimits limits = LimitsFor(place.memory, place.threads);
    switch (stage.kind) {
      case Stage::Kind::kRead:
        return MakeReading(next);
      case Stage::Kind::kRowWise:
        return std::make_unique<RowWiseStage>(
            pass_.WorkOf(stage), RowWiseStage::Place{range_.lane, turn_, position_},
            next, limits, place.meters);
      case Stage::Kind::kInOrder:
        break;
    }
    auto chain =
        std::make_unique<Chain>(pass_.plan_, stage, place.library,
                                ChainLane{Context(), range_.lane}, place.meters);
    const bool joins = stage.first == pass_.plan_.join;
    auto made = std::make_unique<InOrderStage>(std::move(chain), joins ? this : nullptr,
                                               turn_, next, limits);
    if (joins) joining_ = made.get();
    return made;
  }

  std::unique_ptr<StageRun> MakeReading(Sink& next) {
    const PassPlan& plan = pass_.plan_;
    const PassPlace& place = pass_.place_;
    if (plan.nested != nullptr) {
      return std::make_unique<NestedStage>(plan, place, range_.lane, ToRead(), next);
    }
    return std::make_unique<ReadStage>(pass_.read_work_, range_.lane,
                                       PartsOf(plan, ToRead()), next, place.meters);
  }

  // What to read: where rows can be left out at the source, without them.
  std::vector<lanes::RowRange> ToRead() const {
    const PassPlan& plan = pass_.plan_;
    std::vector<lanes::RowRange> ranges = ReadOrder(plan, range_.lane);
    const bool skips_here = range_.begin > 0 && SkipPlace(plan) == 0;
    if (!skips_here) return ranges;
    return lanes::Slice(ranges, range_.begin, plan.lanes.lane_rows()[range_.lane]);
  }

  ops::LaneContext Context() const {
    return pass_.plan_.ContextOf(range_.lane, pass_.place_.pool);
  }

  PassRun& pass_;
  const lanes::LaneRange range_;
  const int64_t turn_;
  const std::optional<int64_t> position_;
  int64_t given_ = 0;
  std::unique_ptr<Skip> skip_;
  std::vector<std::unique_ptr<StageRun>> stages_;
  InOrderStage* joining_ = nullptr;
  ItemQueue ready_;
  int running_ = 0;  // Tasks.
  bool ended_ = false;
  bool failed_ = false;
};

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
      read_work_({.source = *plan.source,
                  .name = plan.NameOf(0),
                  .number = plan.numbers[0],
                  .ignored = plan.Ignores(0),
                  .ignored_by = plan.IgnoredBy(0),
                  .pool = place.pool,
                  .readers = place.threads + 1}),
      carry_(Carry{}),
      progress_(lanes_) {}

PassRun::~PassRun() { CHECK_EQ(running_, 0); }

bool PassRun::Claim(bool first, Task& task) {
  if (stopped_) return false;
  for (size_t i = 0; i < open_.size() || OpenLane(); ++i) {
    if (open_[i]->failed()) break;  // What comes after an error is not wanted.
    if (!open_[i]->Claim(first && i == 0, task)) continue;
    ++running_;
    return true;
  }
  return false;
}

bool PassRun::ClaimFetch(bool first, Task& task) {
  if (stopped_) return false;
  for (size_t i = 0; i < open_.size() || OpenLane(); ++i) {
    if (open_[i]->failed()) break;
    if (!open_[i]->ClaimFetch(first && i == 0, task)) continue;
    ++running_;
    return true;
  }
  return false;
}

bool PassRun::HasWork() const {
  return MayOpenLane() ||
         std::ranges::any_of(open_, [](const auto& lane) { return lane->HasWork(); });
}

bool PassRun::HasFetch() const {
  if (!plan_.source->waits()) return false;
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
  const auto turn = static_cast<int64_t>(next_lane_++);
  // In any order each lane has batches of its own.
  std::optional<int64_t> position;
  if (any_order() && joins()) position = FirstPlace(plan_, turn) + RowsOf(carry_->rows);
  open_.push_back(std::make_unique<Lane>(*this, turn, position));
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

void PassRun::EndJoining(int64_t turn, Stream stream, Carry left) {
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

RowWiseWork& PassRun::WorkOf(const Stage& stage) {
  const auto [found, is_new] = row_wise_work_.try_emplace({stage.first, stage.last});
  if (!is_new) return found->second;
  const ops::LaneContext lane = {.pool = place_.pool,
                                 .seed = plan_.seed,
                                 .epoch = plan_.epoch,
                                 .lane = {},
                                 .cancelled = plan_.cancelled.get(),
                                 .origins = plan_.origins.get()};
  if (std::optional<SlotShape> shape = SlotsBehind(plan_, stage)) {
    found->second.slots.emplace(*std::move(shape), place_.pool);
  }
  for (int thread = 0; thread <= place_.threads; ++thread) {  // And who waits.
    found->second.chains.push_back(std::make_unique<Chain>(
        plan_, stage, place_.library, ChainLane{lane}, place_.meters));
  }
  return found->second;
}

// The lane to deliver: the first open one or, in any order, the first that has rows.
PassRun::Lane* PassRun::FirstReady() const {
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
