#include "millrace/exec/nested_stage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/exec/in_turn.h"
#include "millrace/exec/kept_rows.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_place.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_run.h"
#include "millrace/exec/row_names.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/chunks.h"
#include "millrace/lanes/rest.h"
#include "millrace/ops/merger.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

constexpr int64_t kItemsPerTask = 16;

// Tells whether rows can be left out where the run begins: they come from one lane, and
// none of those before them is missing.
bool SkipsInLane(const LaneSeries& run) {
  return run.end == run.begin + 1 && run.plan->last_batching < 0 &&
         !run.plan->ignored_behind;
}

std::vector<lanes::LaneRange> LanesOf(const LaneSeries& run) {
  const PassPlan& plan = *run.plan;
  const int64_t begin = SkipsInLane(run) ? run.skip : 0;
  std::vector<lanes::LaneRange> lanes;
  for (int64_t lane = run.begin; lane < run.end.value_or(plan.lanes.size()); ++lane) {
    const int64_t rows = plan.joined_rows[lane];
    if (begin < rows) lanes.push_back({.lane = lane, .begin = begin, .end = rows});
  }
  return lanes;
}

// A pass whose rows are wanted, and what it has given.
struct Input {
  Input(LaneSeries what, const PassPlace& place)
      : run(std::move(what)),
        pass(*run.plan, place, LanesOf(run)),
        to_skip(SkipsInLane(run) ? 0 : run.skip) {}

  // Brings over what is ready.
  void Bring() {
    if (ended || !items.empty() || !pass.ready()) return;
    items = pass.TakeReady().items;
    ended = items.empty();
  }

  bool HasNext() const { return !items.empty() || ended || pass.ready(); }

  const LaneSeries run;
  PassRun pass;
  SkippedRows to_skip;
  std::deque<Item> items;  // Of whoever merges, while somebody does.
  bool ended = false;
};

}  // namespace

// What one range stands for, at work.
class NestedStage::Part final : private ops::Emitter {
 public:
  Part(Inputs inputs, const NestedStage& stage)
      : stage_(stage),
        merger_(std::move(inputs.merger)),
        to_skip_(inputs.skip),
        recorder_(std::move(inputs.recorder)),
        ended_(std::move(inputs.ended)) {
    for (LaneSeries& run : inputs.runs) {
      inputs_.push_back(std::make_unique<Input>(std::move(run), stage.place_));
    }
    wanted_ = wants_ = merger_ == nullptr ? 0 : merger_->Wants();
  }

  bool Owns(const StageRun* stage) const {
    return std::ranges::any_of(
        inputs_, [&](const auto& input) { return input->pass.Owns(stage); });
  }

  // The input that is wanted comes first, and is the one being delivered.
  bool Claim(bool first, bool fetch, Task& task) {
    if (wanted_ != ops::Merger::kNone && ClaimOf(wanted_, first, fetch, task)) {
      return true;
    }
    for (int i = 0; i < std::ssize(inputs_); ++i) {
      if (i != wanted_ && ClaimOf(i, false, fetch, task)) return true;
    }
    return false;
  }

  void Complete(Task task) {
    for (const auto& input : inputs_) {
      if (!input->pass.Owns(task.stage)) continue;
      input->pass.Complete(std::move(task));
      return;
    }
  }

  bool IsPlanOf(const ir::Pipeline& head) const {
    return inputs_.front()->run.plan->nodes[0] == head;
  }

  bool HasWork() const {
    return std::ranges::any_of(inputs_,
                               [](const auto& input) { return input->pass.HasWork(); });
  }

  bool HasFetch() const {
    return std::ranges::any_of(
        inputs_, [](const auto& input) { return input->pass.HasFetch(); });
  }

  bool idle() const {
    return std::ranges::all_of(
        inputs_, [](const auto& input) { return input->pass.running() == 0; });
  }

  void Stop() {
    for (const auto& input : inputs_) input->pass.Stop();
  }

  // Tells whether there is something to merge, or to find out that there is not.
  bool HasNext() const {
    return wanted_ == ops::Merger::kNone || inputs_[wanted_]->HasNext();
  }

  void Bring() {
    for (const auto& input : inputs_) input->Bring();
  }

  // Merges what was brought over, as far as that goes; without the lock.
  absl::Status Merge(Task& task) {
    out_ = &task.out;
    while (std::ssize(task.out) < kItemsPerTask && !task.done) {
      task.done = wants_ == ops::Merger::kNone;
      if (task.done) break;
      Input& input = *inputs_[wants_];
      if (input.items.empty() && !input.ended) break;
      TRY(input.items.empty() ? EndInput() : Take(input));
      if (merger_ != nullptr) wants_ = merger_->Wants();
    }
    return absl::OkStatus();
  }

  void EndMerging() { wanted_ = wants_; }

  // All of it was given.
  void End() {
    if (ended_ != nullptr) ended_(any_);
  }

 private:
  bool ClaimOf(int input, bool first, bool fetch, Task& task) {
    PassRun& pass = inputs_[input]->pass;
    return fetch ? pass.ClaimFetch(first, task) : pass.Claim(first, task);
  }

  absl::Status EndInput() {
    if (merger_ != nullptr) return merger_->End(*this);
    if (recorder_ != nullptr) recorder_->End();
    wants_ = ops::Merger::kNone;
    return absl::OkStatus();
  }

  absl::Status Take(Input& input) {
    Item item = std::move(input.items.front());
    input.items.pop_front();
    TRY(item.status);
    std::optional<Item> rest = input.to_skip.Pass(std::move(item));
    if (!rest) return absl::OkStatus();
    if (recorder_ != nullptr) recorder_->Add(*rest);
    if (rest->left_out) {
      Give(Item::LeftOut(stage_.plan_.Ignored(*std::move(rest->left_out))));
      return absl::OkStatus();
    }
    core::Block rows = TRY(InTurn(rest->block, input.run.turn, stage_.place_.pool,
                                  stage_.plan_.origins.get()));
    return merger_ == nullptr ? Emit(std::move(rows))
                              : merger_->Push(std::move(rows), *this);
  }

  absl::Status Emit(core::Block block) override {
    if (block.rows() > 0) Give(Item::Of(std::move(block)));
    return absl::OkStatus();
  }

  absl::Status EmitTail(int64_t /*key*/, core::Block /*rows*/) override {
    CHECK(false) << "a merger has no tails";
    return absl::OkStatus();
  }

  void Give(Item item) {
    std::optional<Item> rest = to_skip_.Pass(std::move(item));
    if (!rest) return;
    any_ = any_ || rest->block.rows() > 0;
    out_->push_back(*std::move(rest));
  }

  const NestedStage& stage_;
  std::vector<std::unique_ptr<Input>> inputs_;
  const std::unique_ptr<ops::Merger> merger_;
  SkippedRows to_skip_;
  const std::unique_ptr<Recorder> recorder_;
  const std::function<void(bool any)> ended_;
  // The input whose rows are needed next, kNone when there is no more to come: as known
  // to who merges, and to all others.
  int wants_ = 0;
  int wanted_ = 0;
  bool any_ = false;
  std::vector<Item>* out_ = nullptr;
};

NestedStage::NestedStage(const PassPlan& plan, const PassPlace& place, int64_t lane,
                         std::vector<lanes::RowRange> parts, Sink& next)
    : plan_(plan), place_(place), lane_(lane), parts_(std::move(parts)), next_(next) {
  CHECK(!parts_.empty());
}

NestedStage::~NestedStage() = default;

absl::Status NestedStage::Named(const absl::Status& status) const {
  return NamedPlace(plan_, {.place = 0, .lane = lane_}, status);
}

bool NestedStage::CanMerge() const {
  if (merging_ || ended_ || !next_.HasRoom()) return false;
  return open_.empty() ? !opening_.ok() : open_.front()->HasNext();
}

bool NestedStage::HasWork() const {
  if (ended_) return false;
  return CanMerge() || MayOpenPart() ||
         std::ranges::any_of(open_, [](const auto& part) { return part->HasWork(); });
}

bool NestedStage::HasFetch() const {
  if (ended_ || !plan_.source->waits()) return false;
  return MayOpenPart() ||
         std::ranges::any_of(open_, [](const auto& part) { return part->HasFetch(); });
}

bool NestedStage::MayOpenPart() const {
  if (ended_ || next_part_ == parts_.size() || !opening_.ok()) return false;
  if (open_.empty()) return true;
  return std::ssize(open_) <= place_.threads && place_.memory.HasRoom(0, false);
}

bool NestedStage::OpenPart() {
  if (!MayOpenPart()) return false;
  absl::StatusOr<Inputs> inputs = plan_.nested->InputsOf(parts_[next_part_]);
  opening_ = inputs.status();
  if (!opening_.ok()) return false;
  ++next_part_;
  open_.push_back(std::make_unique<Part>(*std::move(inputs), *this));
  return true;
}

bool NestedStage::Claim(const Memory& /*memory*/, bool first, Task& task) {
  if (ended_) return false;
  if (open_.empty()) OpenPart();
  if (ClaimMerging()) return true;
  for (size_t i = 0; i < open_.size() || OpenPart(); ++i) {
    if (open_[i]->Claim(first && i == 0, false, task)) return true;
  }
  return ClaimMerging();  // Looking for work may have shown that there is none left.
}

bool NestedStage::ClaimMerging() {
  if (!CanMerge()) return false;
  merging_ = true;
  merged_ = open_.empty() ? nullptr : open_.front().get();
  if (merged_ != nullptr) merged_->Bring();
  return true;
}

bool NestedStage::ClaimFetch(const Memory& /*memory*/, bool first, Task& task) {
  if (ended_) return false;
  for (size_t i = 0; i < open_.size() || OpenPart(); ++i) {
    if (open_[i]->Claim(first && i == 0, true, task)) return true;
  }
  return false;
}

bool NestedStage::Owns(const StageRun* stage) const {
  const auto owns = [&](const auto& part) { return part->Owns(stage); };
  return stage == this || std::ranges::any_of(open_, owns) ||
         std::ranges::any_of(closed_, owns);
}

void NestedStage::Run(Task& task, int /*thread*/) {
  const int64_t start = place_.meters.Now();
  const absl::Status status = merged_ == nullptr ? opening_ : merged_->Merge(task);
  place_.meters.AddTime(plan_.numbers[0], place_.meters.Now() - start);
  // What a cache has kept is counted where it is read.
  const bool is_read = merged_ != nullptr && merged_->IsPlanOf(plan_.nodes[0]);
  for (const Item& item : task.out) {
    if (item.left_out || is_read) continue;
    place_.meters.AddInput(plan_.numbers[0], 0);
    place_.meters.AddOutput(plan_.numbers[0], item.block.rows(), item.bytes);
  }
  if (!status.ok()) task.out.push_back(Item::Error(Named(status)));
}

void NestedStage::Complete(Task task) {
  if (task.stage == this) {
    CompleteMerging(std::move(task));
    return;
  }
  const StageRun* const stage = task.stage;
  const auto complete = [&](auto& parts) {
    const auto found = std::ranges::find_if(
        parts, [&](const auto& part) { return part->Owns(stage); });
    if (found != parts.end()) (*found)->Complete(std::move(task));
    return found != parts.end();
  };
  if (!complete(open_)) complete(closed_);
  DropClosed();
}

void NestedStage::CompleteMerging(Task task) {
  merging_ = false;
  if (merged_ != nullptr) merged_->EndMerging();
  bool failed = false;
  for (Item& item : task.out) {
    failed = failed || !item.status.ok();
    next_.Accept(std::move(item));
  }
  if (failed) {
    End();
    return;
  }
  if (!task.done) return;
  open_.front()->End();
  Close();
  if (open_.empty() && next_part_ == parts_.size()) End();
}

// Tasks of it may still run: of a zip that ended with its shortest input.
void NestedStage::Close() {
  open_.front()->Stop();
  closed_.push_back(std::move(open_.front()));
  open_.pop_front();
  DropClosed();
}

void NestedStage::DropClosed() {
  std::erase_if(closed_, [](const auto& part) { return part->idle(); });
}

void NestedStage::End() {
  ended_ = true;
  while (!open_.empty()) Close();
  next_.EndInput();
}

}  // namespace millrace::exec
