#include "millrace/exec/lane.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/lane_ids.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/nested_stage.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/read_stage.h"
#include "millrace/exec/row_wise_stage.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/cursor.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

// What waits before a stage may take a share of the budget, however many stages, and
// so many blocks for each thread: while one joins a batch the others make the next.
QueueLimits LimitsFor(const PassPlace& place) {
  constexpr int64_t kItemsPerThread = 32;
  constexpr int64_t kBytesPerThread = int64_t{8} << 20;
  return {.items = kItemsPerThread * place.threads,
          .bytes = std::min(kBytesPerThread * place.threads,
                            place.memory.budget_bytes() / 16)};
}

}  // namespace

// Leaves out the first rows of a lane, on their way into a stage.
class Lane::Skip final : public Sink {
 public:
  // `digest`: where what is skipped is noted; may be null.
  Skip(int64_t rows, lanes::Digest* digest, Sink& next)
      : rows_(rows), digest_(digest), next_(next) {}

  void Accept(Item item) override {
    const int64_t skipped = std::min(rows_.left(), item.block.rows());
    if (digest_ != nullptr && skipped > 0) AddIds(*digest_, item.block, skipped);
    if (std::optional<Item> rest = rows_.Pass(std::move(item))) {
      next_.Accept(*std::move(rest));
    }
  }

  void EndInput() override { next_.EndInput(); }

  bool HasRoom() const override { return rows_.left() > 0 || next_.HasRoom(); }

  int64_t left() const { return rows_.left(); }

 private:
  SkippedRows rows_;
  lanes::Digest* const digest_;
  Sink& next_;
};

Lane::Lane(const With& with, const LaneStart& start)
    : with_(with),
      range_(start.range),
      turn_(start.turn),
      position_(start.position),
      known_position_(start.known_position),
      digests_(start.digests),
      ready_(start.ready) {
  Build();
}

Lane::~Lane() {
  if (!position_) return;
  for (RowWiseWork* const work : row_wise_) DropSlots(*work, *position_);
}

void Lane::Accept(Item item) {
  if (ended_ || failed_) return;
  failed_ = !item.status.ok();
  ready_.Push(std::move(item));
  ++accepted_;
}

bool Lane::Claim(bool first, Task& task) {
  return ClaimBy(&StageRun::Claim, first, task);
}

bool Lane::ClaimFetch(bool first, Task& task) {
  return ClaimBy(&StageRun::ClaimFetch, first, task);
}

bool Lane::ClaimBy(ClaimOf claim, bool first, Task& task) {
  if (ended_) return false;  // What still comes is not wanted.
  for (const auto& stage : std::ranges::reverse_view(stages_)) {
    if (!((*stage).*claim)(with_.place.memory, first, task)) continue;
    if (task.stage == nullptr) task.stage = stage.get();
    ++running_;
    return true;
  }
  return false;
}

bool Lane::Owns(const StageRun* stage) const {
  return std::ranges::any_of(stages_,
                             [&](const auto& own) { return own->Owns(stage); });
}

void Lane::Complete(Task task) {
  --running_;
  const auto stage = std::ranges::find_if(
      stages_, [&](const auto& own) { return own->Owns(task.stage); });
  (*stage)->Complete(std::move(task));
}

bool Lane::HasWork() const {
  return !ended_ && std::ranges::any_of(
                        stages_, [](const auto& stage) { return stage->HasWork(); });
}

bool Lane::HasFetch() const {
  return !ended_ && std::ranges::any_of(
                        stages_, [](const auto& stage) { return stage->HasFetch(); });
}

Item Lane::Take() {
  Item item = ready_.Pop();
  if (joining_ != nullptr) return item;
  given_ += item.block.rows();
  item.position = given_;
  return item;
}

std::deque<Item> Lane::TakeReady() {
  std::deque<Item> taken;
  while (!ready_.empty()) taken.push_back(Take());
  return taken;
}

int64_t Lane::to_skip() const { return skip_ == nullptr ? 0 : skip_->left(); }

void Lane::Build() {
  const PassPlan& plan = with_.plan;
  if (range_.begin > 0) skip_place_ = DecideSkipPlace();
  const std::vector<Stage> stages =
      CutIntoStages(plan.nodes, {plan.join, std::max(skip_place_, 0)});
  Sink* next = this;
  for (const Stage& stage : std::ranges::reverse_view(stages)) {
    if (skip_place_ == stage.last + 1) next = MakeSkip(*next);
    stages_.push_back(MakeStage(stage, *next));
    next = stages_.back().get();
  }
  std::ranges::reverse(stages_);
}

// Rows that are not read can be digested only where their identities are known all the
// same.
int Lane::DecideSkipPlace() {
  const int place = SkipPlace(with_.plan);
  if (place > 0 || !digests_) return place;
  if (range_.begin == with_.plan.lanes.lane_rows()[range_.lane]) return 1;
  const std::optional<std::vector<core::RowId>> ids =
      FirstIds(with_.plan, range_.lane, range_.begin);
  if (!ids) return 1;
  for (const core::RowId& id : *ids) digest_.Add(id);
  return 0;
}

Sink* Lane::MakeSkip(Sink& next) {
  skip_ = std::make_unique<Skip>(range_.begin, digests_ ? &digest_ : nullptr, next);
  return skip_.get();
}

std::unique_ptr<StageRun> Lane::MakeStage(const Stage& stage, Sink& next) {
  const PassPlace& place = with_.place;
  const QueueLimits limits = LimitsFor(place);
  switch (stage.kind) {
    case Stage::Kind::kRead:
      return MakeReading(next);
    case Stage::Kind::kRowWise:
      row_wise_.push_back(&with_.work.Of(stage));
      return std::make_unique<RowWiseStage>(
          *row_wise_.back(),
          RowWiseStage::Place{.lane = range_.lane,
                              .turn = turn_,
                              .position = position_ ? position_ : known_position_,
                              .follows = !position_},
          next, limits, place.meters);
    case Stage::Kind::kInOrder:
    case Stage::Kind::kWrite:
      break;
  }
  auto chain = std::make_unique<Chain>(with_.plan, stage, place.library,
                                       ChainLane{Context(), range_.lane}, place.meters);
  const bool joins = stage.first == with_.plan.join;
  auto made = std::make_unique<InOrderStage>(
      std::move(chain), joins ? &with_.joiner : nullptr, turn_, next, limits);
  if (joins) joining_ = made.get();
  if (joins && digests_) made->SetDigest(&digest_);
  if (joins && with_.plan.runs) made->CountBatches();
  if (stage.kind == Stage::Kind::kWrite) made->SetWaits();
  return made;
}

std::unique_ptr<StageRun> Lane::MakeReading(Sink& next) {
  const PassPlan& plan = with_.plan;
  const PassPlace& place = with_.place;
  if (plan.nested != nullptr) {
    return std::make_unique<NestedStage>(plan, place, range_.lane, ToRead(), next);
  }
  return std::make_unique<ReadStage>(with_.work.reading(), range_.lane,
                                     PartsOf(plan, ToRead()), next, place.meters);
}

// What to read: where rows can be left out at the source, without them.
std::vector<lanes::RowRange> Lane::ToRead() const {
  const PassPlan& plan = with_.plan;
  std::vector<lanes::RowRange> ranges = ReadOrder(plan, range_.lane);
  if (skip_place_ != 0) return ranges;
  return lanes::Slice(ranges, range_.begin, plan.lanes.lane_rows()[range_.lane]);
}

ops::LaneContext Lane::Context() const {
  return with_.plan.ContextOf(range_.lane, with_.place.pool);
}

}  // namespace millrace::exec
