#include "millrace/exec/in_order_stage.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/lane_ids.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {
namespace {

constexpr int kItemsPerTask = 16;
constexpr int64_t kTaskBytes = int64_t{2} << 20;  // Of what a lane's end gives.

}  // namespace

void Carry::Add(Carry more) {
  std::ranges::move(more.tails, std::back_inserter(tails));
  rows.insert(rows.end(), more.rows.begin(), more.rows.end());
}

void InOrderStage::SetCarry(Carry carry) {
  stream_ = carry.rows;
  carry_ = std::move(carry);
  ready_ = true;
}

void InOrderStage::Accept(Item item) {
  if (ended_ || stopped_) return;  // After an error nothing else counts.
  queue_.Push(std::move(item));
}

bool InOrderStage::HasTask() const {
  if (busy_ || !ready_ || ended_ || !next_.HasRoom()) return false;
  if (!queue_.empty() || chain_->ended()) return true;
  return input_ended_ && (ending_ || joiner_ == nullptr || joiner_->MayEnd());
}

bool InOrderStage::Claim(const Memory& /*memory*/, bool /*first*/, Task& task) {
  if (!HasWork()) return false;
  TakeTask(task);
  return true;
}

bool InOrderStage::ClaimFetch(const Memory& /*memory*/, bool /*first*/, Task& task) {
  if (!HasFetch()) return false;
  TakeTask(task);
  return true;
}

void InOrderStage::TakeTask(Task& task) {
  busy_ = true;
  StopIfEnded();
  for (int i = 0; i < kItemsPerTask && !queue_.empty(); ++i) {
    task.in.push_back(queue_.Pop());
  }
  if (task.in.empty() && !std::exchange(ending_, true)) BeginEnd();
}

void InOrderStage::StopIfEnded() {
  if (stopped_ || !chain_->ended()) return;
  stopped_ = true;
  input_ended_ = true;
  queue_.Clear();
}

void InOrderStage::BeginEnd() {
  if (joiner_ == nullptr) return;
  Joiner::Ending ending = joiner_->End();
  ends_pass_ = ending.ends_pass;
  stream_.push_back({turn_, rows_});
  stream_.insert(stream_.end(), ending.carry.rows.begin(), ending.carry.rows.end());
  carry_.Add(std::move(ending.carry));
}

void InOrderStage::Run(Task& task, int /*thread*/) {
  absl::Status status = Work(task);
  task.in.clear();
  if (status.ok()) return;
  task.out.push_back(Item::Error(std::move(status)));
  task.done = true;
}

absl::Status InOrderStage::PushCarry() {
  for (const Tails& tails : std::exchange(carry_, {}).tails) {
    TRY(chain_->PushCarry(tails));
  }
  return absl::OkStatus();
}

absl::Status InOrderStage::Work(Task& task) {
  TRY(PushCarry());
  for (Item& item : task.in) {
    if (chain_->ended()) return absl::OkStatus();
    TRY(item.status);
    if (item.left_out) {
      task.out.push_back(std::move(item));
      continue;
    }
    rows_ += item.block.rows();
    const absl::Status status = chain_->Push(std::move(item.block));
    Collect(task, item);
    TRY(status);
  }
  if (!task.in.empty()) return absl::OkStatus();
  Collect(task, {});
  const auto bytes = [&] {
    int64_t sum = 0;
    for (const Item& item : task.out) sum += item.bytes;
    return sum;
  };
  while (!task.done && std::ssize(task.out) < kItemsPerTask && bytes() < kTaskBytes) {
    const absl::StatusOr<ops::Held> held = chain_->Finish(ends_pass_);
    Collect(task, {});
    TRY(held.status());
    task.done = *held == ops::Held::kNothing;
  }
  return absl::OkStatus();
}

// `from`: what has just come in.
void InOrderStage::Collect(Task& task, const Item& from) {
  int64_t position = from.position;
  for (Item& item : chain_->TakeOutput()) {
    const bool joins = joiner_ != nullptr && !item.left_out;
    if (joins) {
      position = position_ += counts_batches_ ? 1 : RowsInBatch(item.block);
    }
    item.position = position;
    item.digest = from.digest;
    if (joins && digest_ != nullptr) {
      if (!std::exchange(begun_, true)) skipped_ = *digest_;
      AddIds(*digest_, item.block, item.block.rows());
      item.digest = *digest_;
    }
    task.out.push_back(std::move(item));
  }
}

void InOrderStage::Complete(Task task) {
  busy_ = false;
  StopIfEnded();
  for (Item& item : task.out) next_.Accept(std::move(item));
  if (!task.done) return;
  ended_ = true;
  queue_.Clear();
  if (joiner_ != nullptr) {
    if (!ending_) stream_.push_back({turn_, rows_});  // An error ends it.
    Carry left = {.tails = {chain_->TakeTails()}, .rows = RestOf(stream_, position_)};
    joiner_->Ended(turn_, stream_, std::move(left));
  }
  next_.EndInput();
}

}  // namespace millrace::exec
