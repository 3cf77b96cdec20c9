#include "millrace/exec/lane_run.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/base/check.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/in_order_stage.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane.h"
#include "millrace/exec/lane_ids.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/pass_work.h"
#include "millrace/exec/progress.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"

namespace millrace::exec {
namespace {

constexpr int64_t kReadyItemsMax = 1024;  // Also of those that hold no bytes.

bool Joins(const PassPlan& plan) { return plan.join < std::ssize(plan.nodes); }

LaneStart StartOf(const PassPlan& plan, const LaneWork& work, int64_t buffer_bytes,
                  int64_t number) {
  // Which rows are in the batches before is not known unless they are made.
  const int64_t begin = plan.runs ? 0 : work.from_row;
  LaneStart start = {
      .range = {.lane = work.lane, .begin = begin, .end = lanes::kRowsMax},
      .ready = {.items = kReadyItemsMax, .bytes = buffer_bytes},
      .digests = true};
  if (Joins(plan)) start.position = FirstPlace(plan, number % kLanesApart);
  return start;
}

}  // namespace

LanePlan::LanePlan(Engine& engine, PassPlan plan, ir::Pipeline written,
                   const ops::Library& library,
                   std::shared_ptr<std::atomic<bool>> cancelled)
    : engine_(engine),
      written_(std::move(written)),
      plan_(std::move(plan)),
      meters_(plan_.pipeline.size(), engine.options_.clock, engine.options_.meters),
      place_({.library = library,
              .pool = engine.pool_,
              .memory = engine.memory_,
              .meters = meters_,
              .threads = std::max(1, engine.options_.threads)}),
      work_(plan_, place_),
      cancelled_(std::move(cancelled)) {}

JobFacts LanePlan::Facts() const {
  const base::MutexLock lock(&opening_);
  return FactsOf(plan_, written_);
}

absl::Status LanePlan::Grow(int64_t lanes) {
  for (bool grows = true; grows && plan_.lanes.size() < lanes;) {
    const base::MutexLock lock(&engine_.mutex_);
    grows = TRY(plan_.Grow());
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> LanePlan::CutTo(int64_t lanes) {
  const base::MutexLock opening(&opening_);
  TRY(Grow(lanes));
  return plan_.lanes.size();
}

absl::Status LanePlan::Prepare(const LaneWork& work) {
  if (work.lane < 0 || work.from_row < 0) {
    return absl::InvalidArgumentError(base::StrCat(
        "lanes and rows count from 0, not lane ", work.lane, " row ", work.from_row));
  }
  TRY(Grow(work.lane + 1));
  if (plan_.lanes.size() <= work.lane) {
    return absl::OutOfRangeError(base::StrCat("there is no lane ", work.lane,
                                              ": the pass has ", plan_.lanes.size()));
  }
  const int64_t rows = plan_.joined_rows[work.lane];
  if (work.from_row <= rows) return absl::OkStatus();
  return absl::OutOfRangeError(base::StrCat("lane ", work.lane, " has ", rows,
                                            " rows, and cannot be run from row ",
                                            work.from_row));
}

LaneRun::LaneRun(std::shared_ptr<LanePlan> plan, const LaneWork& work,
                 LaneOptions options, int64_t number)
    : plan_(std::move(plan)),
      engine_(plan_->engine_),
      work_(work),
      options_(std::move(options)),
      batch_rows_(
          Joins(plan_->plan_)
              ? BatchSizeOf(plan_->plan_.nodes[plan_->plan_.join])  // Of runs: 1.
              : 0) {
  const Lane::With with = {.plan = plan_->plan_,
                           .place = plan_->place_,
                           .work = plan_->work_,
                           .joiner = *this};
  lane_ = std::make_unique<Lane>(
      with, StartOf(plan_->plan_, work_, options_.buffer_bytes, number));
  if (joins()) lane_->joining()->SetCarry({});
}

LaneRun::~LaneRun() {
  {
    const base::MutexLock lock(&engine_.mutex_);
    NoLongerWanted();
  }
  engine_.Remove(*this);
  const base::MutexLock lock(&engine_.mutex_);
  lane_.reset();
}

void LaneRun::NoLongerWanted() {
  if (std::exchange(released_, true)) return;
  if (--plan_->wanted_ == 0) plan_->cancelled_->store(true);
}

void LaneRun::Cancel() {
  const base::MutexLock lock(&engine_.mutex_);
  NoLongerWanted();
  cancelled_ = true;
  stopped_ = true;
  changed_.NotifyAll();
  plan_->helped_.NotifyAll();
}

void LaneRun::SetNeeded(bool needed) {
  const base::MutexLock lock(&engine_.mutex_);
  if (std::exchange(needed_, needed) != needed && needed) engine_.Wake(*this);
}

bool LaneRun::Claim(bool first, Task& task) {
  if (!MayClaim() || !lane_->Claim(first && IsWaitedFor(), task)) return false;
  ++running_;
  return true;
}

bool LaneRun::ClaimFetch(bool first, Task& task) {
  if (!MayClaim() || !lane_->ClaimFetch(first && IsWaitedFor(), task)) return false;
  ++running_;
  return true;
}

bool LaneRun::MayClaim() const {
  return !stopped_ && (needed_ || plan_->place_.memory.HasRoomAhead());
}

// Only what somebody waits for may take memory that is kept for that.
bool LaneRun::IsWaitedFor() const { return needed_ && asked_ && !lane_->has_ready(); }

void LaneRun::Complete(Task task) {
  --running_;
  lane_->Complete(std::move(task));
}

bool LaneRun::HasWork() const { return MayClaim() && lane_->HasWork(); }

bool LaneRun::HasFetch() const {
  return plan_->plan_.waits() && MayClaim() && lane_->HasFetch();
}

bool LaneRun::ready() const {
  return cancelled_ || lane_->has_ready() || lane_->ended();
}

const std::function<void()>* LaneRun::BeginCall() {
  if (!call_ || !ready()) return nullptr;
  call_ = false;
  ++calling_;
  return &options_.ready;
}

void LaneRun::EndCall() {
  --calling_;
  changed_.NotifyAll();
}

void LaneRun::Ended(int64_t /*turn*/, Stream stream, Carry left) {
  for (const TurnRows& part : stream) joined_rows_ += part.rows;
  for (Tails& tails : left.tails) {
    if (runs()) {
      tails_ = std::move(tails);
      return;
    }
    for (auto& [key, rows] : tails) tail_ = std::move(rows);
  }
}

// In an engine without threads, who waits does the work; one at a time for each plan.
absl::Status LaneRun::WaitReady(absl::Time deadline) {
  const base::MutexLock lock(&engine_.mutex_);
  asked_ = true;
  engine_.Wake(*this);
  while (!ready()) {
    bool helped = false;
    if (engine_.options_.threads == 0 && !plan_->helping_) {
      plan_->helping_ = true;
      helped = engine_.Help(*this);
      plan_->helping_ = false;
      plan_->helped_.NotifyAll();
    }
    if (helped) continue;
    base::CondVar& changed = plan_->helping_ ? plan_->helped_ : changed_;
    if (!changed.WaitUntil(&engine_.mutex_, deadline)) {
      return absl::DeadlineExceededError(
          base::StrCat("lane ", work_.lane, " has nothing ready yet"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<LaneBatch>> LaneRun::Next(absl::Time deadline) {
  while (true) {
    if (!ended_ && status_.ok()) TRY(WaitReady(deadline));
    std::optional<LaneBatch> batch = TRY(Poll(false));
    if (batch || ended_) return batch;  // What was ready may be rows left out.
  }
}

absl::StatusOr<std::optional<LaneBatch>> LaneRun::Poll(bool call) {
  TRY(status_);
  if (ended_) return std::nullopt;
  Taken taken = Take(call);
  status_ = taken.status;
  TRY(status_);
  while (runs() && !taken.blocks.empty() && taken.position <= work_.from_row) {
    left_out_.clear();
    taken = Take(call);
    status_ = taken.status;
    TRY(status_);
  }
  if (taken.ended) return runs() ? GiveKeyedEnd() : GiveEnd();
  if (taken.blocks.empty()) return std::nullopt;
  absl::StatusOr<LaneBatch> batch = BatchOf(std::move(taken));
  status_ = batch.status();
  return TRY(std::move(batch));
}

LaneRun::Taken LaneRun::Take(bool call) {
  Taken taken;
  const base::MutexLock lock(&engine_.mutex_);
  if (cancelled_) {
    taken.status = absl::CancelledError("the lane was cancelled");
    return taken;
  }
  // What the operators behind made of one batch belongs together.
  const auto is_next = [&](const Item* item) {
    if (item == nullptr || !taken.status.ok()) return false;
    return taken.blocks.empty() || (joins() && item->position == taken.position);
  };
  while (is_next(lane_->front())) TakeItem(taken);
  if (joins() && !taken.blocks.empty()) {
    const bool first = !std::exchange(joined_, true);
    if (first) joined_digest_ = lane_->joining()->skipped();
    taken.digest_before = std::exchange(joined_digest_, taken.digest);
  }
  const bool nothing = taken.blocks.empty() && taken.status.ok();
  taken.ended = nothing && lane_->ended();
  asked_ = nothing && !taken.ended;
  call_ = asked_ && call && options_.ready != nullptr;
  if (!taken.status.ok()) stopped_ = true;
  if (asked_) {
    engine_.Wake(*this);
  } else {
    engine_.WakeAny();
  }
  return taken;
}

void LaneRun::TakeItem(Taken& taken) {
  Item item = lane_->Take();
  if (item.left_out) {
    left_out_.push_back(*std::move(item.left_out));
    return;
  }
  taken.status = std::move(item.status);
  if (!taken.status.ok() || item.block.rows() == 0) return;
  taken.position = item.position;
  taken.digest = item.digest;
  taken.key = item.key;
  batches_ = item.position;
  taken.blocks.push_back(std::move(item.block));
}

absl::StatusOr<LaneBatch> LaneRun::BatchOf(Taken taken) {
  LaneBatch batch = {.block = taken.blocks.size() == 1
                                  ? std::move(taken.blocks.front())
                                  : TRY(core::Concatenate(taken.blocks, engine_.pool_)),
                     .end_row = (runs() ? 0 : work_.from_row) + taken.position,
                     .digest_before = taken.digest_before,
                     .digest = taken.digest,
                     .key = taken.key,
                     .left_out = std::exchange(left_out_, {})};
  if (joins()) {
    batch.begin_row = batch.end_row - batch_rows_;
  } else {
    batch.begin_row = batch.end_row - batch.block.rows();
    if (!std::exchange(begun_, true)) digest_ = lane_->digest();
    batch.digest_before = digest_;
    AddIds(digest_, batch.block, batch.block.rows());
    batch.digest = digest_;
  }
  batch.block.LeaveBudget();
  return batch;
}

// What is left over comes first, and the end at the next call.
absl::StatusOr<std::optional<LaneBatch>> LaneRun::GiveEnd() {
  status_ = CheckSkipped(lane_->to_skip());
  TRY(status_);
  if (!begun_) digest_ = lane_->digest();
  if (tail_) return GiveTail();
  ended_ = true;
  end_ = {.rows = work_.from_row + (joins() ? joined_rows_ : lane_->given()),
          .digest = digest_,
          .left_out = std::exchange(left_out_, {})};
  return std::nullopt;
}

LaneBatch LaneRun::GiveTail() {
  LaneBatch batch = {.block = *std::exchange(tail_, std::nullopt),
                     .end_row = work_.from_row + joined_rows_,
                     .tail = true,
                     .left_out = std::exchange(left_out_, {})};
  batch.begin_row = batch.end_row - batch.block.rows();
  batch.digest_before = digest_;
  AddIds(digest_, batch.block, batch.block.rows());
  begun_ = true;
  batch.digest = digest_;
  batch.block.LeaveBudget();
  return batch;
}

// By key; all of them.
std::vector<int64_t> LaneRun::TailRows() const {
  std::vector<int64_t> rows(plan_->plan_.runs->sizes.size());
  for (const auto& [key, block] : tails_) rows[key] = block.rows();
  return rows;
}

// Rows that fill no run, key after key; and the end at the next call.
absl::StatusOr<std::optional<LaneBatch>> LaneRun::GiveKeyedEnd() {
  if (!begun_) digest_ = lane_->digest();
  const std::vector<int64_t> rows = TailRows();
  const int64_t end = std::accumulate(rows.begin(), rows.end(), batches_);
  status_ = CheckSkipped(std::max<int64_t>(0, work_.from_row - end));
  TRY(status_);
  if (end == batches_ || std::exchange(begun_, true)) return EndAt(end, rows);
  std::vector<core::Block> blocks;
  for (const auto& [key, block] : tails_) blocks.push_back(block);
  absl::StatusOr<core::Block> joined = core::Concatenate(blocks, engine_.pool_);
  status_ = joined.status();
  TRY(status_);
  const int64_t begin = std::max(batches_, work_.from_row);
  const int64_t skipped = begin - batches_;
  AddIds(digest_, *joined, skipped);
  if (begin == end) return EndAt(end, rows);
  LaneBatch batch = {.block = joined->Slice(skipped, end - begin),
                     .begin_row = begin,
                     .end_row = end,
                     .digest_before = digest_,
                     .tail = true,
                     .tails = rows,
                     .left_out = std::exchange(left_out_, {})};
  AddIds(digest_, batch.block, batch.block.rows());
  batch.digest = digest_;
  batch.block.LeaveBudget();
  return batch;
}

std::optional<LaneBatch> LaneRun::EndAt(int64_t rows, std::vector<int64_t> tails) {
  if (rows == batches_) tails.clear();
  ended_ = true;
  end_ = {.rows = rows,
          .digest = digest_,
          .tails = std::move(tails),
          .left_out = std::exchange(left_out_, {})};
  return std::nullopt;
}

absl::Status LaneRun::CheckSkipped(int64_t missing) const {
  if (missing == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      base::StrCat("lane ", work_.lane, " has ", work_.from_row - missing,
                   " rows, and is to be run from row ", work_.from_row,
                   ": the data, or what a function gives, has changed since"));
}

const LaneEnd& LaneRun::end() const {
  CHECK(ended_) << "a lane that goes on has no end yet";
  return end_;
}

}  // namespace millrace::exec
