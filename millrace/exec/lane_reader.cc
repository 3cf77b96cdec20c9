#include "millrace/exec/lane_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/clock.h"
#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

bool AllRowWise(const PassPlan& plan) {
  return std::all_of(
      plan.nodes.begin() + 1, plan.nodes.end(),
      [](const ir::Pipeline& node) { return node.schema().traits.row_wise; });
}

Stage StageOf(int first, int last) {
  return {.kind = Stage::Kind::kInOrder, .first = first, .last = last};
}

int LastPlace(const PassPlan& plan) { return static_cast<int>(plan.nodes.size()) - 1; }

// Runs row-wise operators over one block.
absl::StatusOr<core::Block> RunRowWise(core::Block block, const LaneRun& run,
                                       int64_t lane, const ops::Library& library,
                                       core::Pool& pool) {
  const PassPlan& plan = *run.plan;
  if (LastPlace(plan) == 0) return InTurn(block, run.turn, pool);
  Meters meters(plan.nodes.size(), base::RealClock());
  Chain chain(plan, StageOf(1, LastPlace(plan)), library,
              {plan.ContextOf(lane, pool), lane}, meters);
  TRY(chain.Push(std::move(block)));
  const std::vector<core::Block> made = chain.TakeOutput();
  if (made.empty()) return core::Block();
  return InTurn(TRY(core::Concatenate(made, pool)), run.turn, pool);
}

}  // namespace

absl::StatusOr<core::Block> InTurn(const core::Block& block, int64_t turn,
                                   core::Pool& pool) {
  if (turn == 0 || !block.has_ids()) return block;
  // Of batches these are the identities of their rows.
  const core::Column& ids = *block.ids();
  const absl::Span<const uint64_t> old_words = ids.values().As<uint64_t>();
  core::Buffer values = TRY(pool.AllocateFor<uint64_t>(std::ssize(old_words)));
  const absl::Span<uint64_t> words = values.MutableAs<uint64_t>();
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const base::Hash128 id = {old_words[i], old_words[i + 1]};
    const base::Hash128 hash = base::Combine(id, static_cast<uint64_t>(turn));
    words[i] = hash.hi;
    words[i + 1] = hash.lo;
  }
  return block.WithIds(TRY(core::Column::FromLevels(core::DType::kUint64, ids.rows(),
                                                    ids.levels(), std::move(values))));
}

LaneReader::LaneReader(LaneRun run, const ops::Library& library, core::Pool& pool)
    : run_(std::move(run)),
      library_(library),
      pool_(pool),
      row_wise_(AllRowWise(*run_.plan) && run_.skip == 0),
      meters_(run_.plan->nodes.size(), base::RealClock()),
      lane_(run_.begin),
      to_skip_(run_.skip) {}

absl::Status LaneReader::Fetch() {
  if (!ready_.empty()) return absl::OkStatus();
  TRY(OpenNext());
  return reader_ == nullptr ? absl::OkStatus() : reader_->Fetch();
}

absl::StatusOr<bool> LaneReader::FetchNow() {
  if (!ready_.empty() || ended_) return true;
  if (reader_ == nullptr) return !run_.plan->source->waits();
  return reader_->FetchNow();
}

absl::StatusOr<std::optional<core::Block>> LaneReader::Next() {
  std::optional<ops::BlockWork> work = TRY(Find());
  if (!work) return std::nullopt;
  return TRY((*std::move(work))());
}

absl::StatusOr<std::optional<ops::BlockWork>> LaneReader::Find() {
  if (!ready_.empty()) return TakeReady();
  TRY(OpenNext());
  if (reader_ == nullptr) return std::nullopt;
  std::optional<ops::BlockWork> work = TRY(reader_->Find());
  if (!work) {
    reader_ = nullptr;
    if (ranges_.empty()) TRY(EndLane());
    return TakeReady();
  }
  if (row_wise_) {
    return [work = *std::move(work), run = run_, lane = lane_, &library = library_,
            &pool = pool_]() mutable -> absl::StatusOr<core::Block> {
      return RunRowWise(TRY(std::move(work)()), run, lane, library, pool);
    };
  }
  TRY(Push(TRY((*std::move(work))())));
  return TakeReady();
}

// Goes on to the next range, or lane, that there is.
absl::Status LaneReader::OpenNext() {
  while (reader_ == nullptr && !ended_) {
    if (!in_lane_) TRY(BeginLane());
    if (ended_) break;
    if (ranges_.empty()) {
      TRY(EndLane());
      if (!ready_.empty()) break;
      continue;
    }
    reader_ = TRY(run_.plan->source->Open(ranges_.back()));
    ranges_.pop_back();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LaneReader::HasLane() {
  if (run_.end) return lane_ < *run_.end;
  return lane_ < run_.plan->lanes.size() || TRY(run_.plan->Grow());
}

absl::Status LaneReader::BeginLane() {
  ended_ = !TRY(HasLane());
  if (ended_) return absl::OkStatus();
  in_lane_ = true;
  const PassPlan& plan = *run_.plan;
  ranges_ = plan.lanes.Content(lane_);
  std::ranges::reverse(ranges_);
  const ChainLane lane = {plan.ContextOf(lane_, pool_), lane_};
  const auto make = [&](int first, int last) {
    return std::make_unique<Chain>(plan, StageOf(first, last), library_, lane, meters_);
  };
  const int last = LastPlace(plan);
  if (plan.join > 1) before_ = make(1, std::min(plan.join, last + 1) - 1);
  if (plan.join <= last) {
    joining_ = make(plan.join, last);
    TRY(joining_->PushCarry(std::exchange(tails_, {})));
  }
  return absl::OkStatus();
}

absl::Status LaneReader::Push(core::Block block) {
  if (block.rows() == 0) return absl::OkStatus();
  if (before_ == nullptr && joining_ == nullptr) {
    ready_.push_back(std::move(block));
  } else {
    TRY((before_ == nullptr ? joining_ : before_)->Push(std::move(block)));
  }
  if (before_ != nullptr && joining_ != nullptr) {
    for (core::Block& given : before_->TakeOutput()) {
      TRY(joining_->Push(std::move(given)));
    }
  }
  Collect();
  return absl::OkStatus();
}

void LaneReader::Collect() {
  Chain* const last = joining_ != nullptr ? joining_.get() : before_.get();
  if (last == nullptr) return;
  for (core::Block& block : last->TakeOutput()) ready_.push_back(std::move(block));
}

absl::Status LaneReader::EndLane() {
  in_lane_ = false;
  ++lane_;
  const bool is_last = !TRY(HasLane());
  if (before_ != nullptr) {
    while (TRY(before_->Finish(false)) == ops::Held::kMore) {
    }
  }
  if (before_ != nullptr && joining_ != nullptr) {
    for (core::Block& given : before_->TakeOutput()) {
      TRY(joining_->Push(std::move(given)));
    }
  }
  if (joining_ != nullptr) {
    while (TRY(joining_->Finish(is_last)) == ops::Held::kMore) {
    }
    tails_ = joining_->TakeTails();
  }
  Collect();
  before_ = nullptr;
  joining_ = nullptr;
  return absl::OkStatus();
}

// The next block, without the rows that are left out; one without rows where there is
// none at the moment.
std::optional<ops::BlockWork> LaneReader::TakeReady() {
  core::Block block;
  while (!ready_.empty() && block.rows() == 0) {
    block = std::move(ready_.front());
    ready_.pop_front();
    const int64_t skipped = std::min(to_skip_, block.rows());
    to_skip_ -= skipped;
    block = block.Slice(skipped, block.rows() - skipped);
  }
  return [block = std::move(block), turn = run_.turn,
          &pool = pool_]() -> absl::StatusOr<core::Block> {
    return InTurn(block, turn, pool);
  };
}

}  // namespace millrace::exec
