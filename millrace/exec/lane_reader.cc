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
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/row_names.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/bad_rows.h"
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

// Lets the operators give all that they hold back.
absl::Status FinishAll(Chain& chain, bool ends_pass) {
  while (TRY(chain.Finish(ends_pass)) == ops::Held::kMore) {
  }
  return absl::OkStatus();
}

int LastPlace(const PassPlan& plan) { return static_cast<int>(plan.nodes.size()) - 1; }

// Passes on what came out, in its order, as rows of a turn.
absl::Status PassOn(std::vector<Item> items, uint64_t turn, core::Pool& pool,
                    ops::RowsSink& sink) {
  for (Item& item : items) {
    if (item.left_out) {
      TRY(sink.LeaveOut({.why = item.left_out->why}));
    } else {
      TRY(sink.Give(TRY(InTurn(item.block, turn, pool))));
    }
  }
  return absl::OkStatus();
}

// Runs row-wise operators over the rows that a source gives.
class RowWise final : public ops::RowsSink {
 public:
  RowWise(const LaneRun& run, const ChainLane& lane, const ops::Library& library,
          ops::RowsSink& next)
      : run_(run),
        lane_(lane),
        meters_(run.plan->nodes.size(), base::RealClock()),
        next_(next) {
    const int last = LastPlace(*run.plan);
    if (last == 0) return;
    chain_.emplace(*run.plan, StageOf(1, last), library, lane, meters_);
  }

  absl::Status Give(core::Block block) override {
    std::vector<Item> items;
    absl::Status status;
    if (chain_) {
      status = chain_->Push(std::move(block));
      items = chain_->TakeOutput();
    } else {
      items.push_back(Item::Of(std::move(block)));
    }
    TRY(PassOn(std::move(items), run_.turn, lane_.context.pool, next_));
    return status;
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    return next_.LeaveOut(
        {.why = NamedRow(*run_.plan, {.place = 0, .lane = lane_.number}, row)});
  }

 private:
  const LaneRun& run_;
  const ChainLane lane_;
  Meters meters_;  // Of nobody.
  ops::RowsSink& next_;
  std::optional<Chain> chain_;
};

}  // namespace

absl::StatusOr<core::Block> InTurn(const core::Block& block, uint64_t turn,
                                   core::Pool& pool) {
  if (turn == 0 || !block.has_ids()) return block;
  // Of batches these are the identities of their rows.
  const core::Column& ids = *block.ids();
  const absl::Span<const uint64_t> old_words = ids.values().As<uint64_t>();
  core::Buffer values = TRY(pool.AllocateFor<uint64_t>(std::ssize(old_words)));
  const absl::Span<uint64_t> words = values.MutableAs<uint64_t>();
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const base::Hash128 id = {old_words[i], old_words[i + 1]};
    const base::Hash128 hash = base::Combine(id, turn);
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

std::shared_ptr<ops::FetchAhead> LaneReader::Ahead() {
  return reader_ == nullptr ? nullptr : reader_->Ahead();
}

int64_t LaneReader::ahead() const { return reader_ == nullptr ? 0 : reader_->ahead(); }

// Pushes what a source gives through the operators of the lane, in order.
class LaneReader::Pushes final : public ops::RowsSink {
 public:
  explicit Pushes(LaneReader* reader) : reader_(reader) {}

  absl::Status Give(core::Block block) override {
    Chain* const first =
        (reader_->before_ != nullptr ? reader_->before_ : reader_->joining_).get();
    if (first == nullptr) {
      reader_->ready_.push_back(Item::Of(std::move(block)));
      return absl::OkStatus();
    }
    const absl::Status status = first->Push(std::move(block));
    const absl::Status joined = reader_->PushJoining();
    reader_->Collect();
    return joined.ok() ? status : joined;  // What failed behind did so earlier.
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    reader_->ready_.push_back(
        Item::LeftOut({.place = 0,
                       .why = NamedRow(*reader_->run_.plan,
                                       {.place = 0, .lane = reader_->lane_}, row)}));
    return absl::OkStatus();
  }

 private:
  LaneReader* reader_;
};

absl::StatusOr<std::optional<ops::FoundWork>> LaneReader::Find() {
  if (!ready_.empty()) return TakeReady();
  TRY(OpenNext());
  if (reader_ == nullptr && ready_.empty()) return std::nullopt;
  if (reader_ == nullptr) return TakeReady();
  std::optional<ops::FoundWork> work = TRY(reader_->Find());
  if (!work) {
    reader_ = nullptr;
    if (parts_.empty()) TRY(EndLane());
    return TakeReady();
  }
  if (row_wise_) {
    const ChainLane lane = {run_.plan->ContextOf(lane_, pool_), lane_};
    return (*std::move(work))
        .GivenBy([run = run_, lane, &library = library_](ops::FoundWork found,
                                                         ops::RowsSink& sink) {
          RowWise row_wise(run, lane, library, sink);
          return std::move(found)(row_wise);
        });
  }
  Pushes pushes(this);
  absl::Status status = (*std::move(work))(pushes);
  if (!status.ok()) ready_.push_back(Item::Error(std::move(status)));
  return TakeReady();
}

// Goes on to the next part, or lane, that there is.
absl::Status LaneReader::OpenNext() {
  while (reader_ == nullptr && !ended_) {
    if (!in_lane_) TRY(BeginLane());
    if (ended_) break;
    if (parts_.empty()) {
      TRY(EndLane());
      if (!ready_.empty()) break;
      continue;
    }
    reader_ = TRY(ops::OpenAll(*run_.plan->source, std::move(parts_.back()), pool_));
    parts_.pop_back();
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
  parts_ = PartsOf(plan, ReadOrder(plan, lane_));
  std::ranges::reverse(parts_);
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

// Passes on what the operators before the joining one gave.
absl::Status LaneReader::PushJoining() {
  if (before_ == nullptr || joining_ == nullptr) return absl::OkStatus();
  for (Item& item : before_->TakeOutput()) {
    if (item.left_out) {
      Collect();
      ready_.push_back(std::move(item));
    } else {
      TRY(joining_->Push(std::move(item.block)));
    }
  }
  return absl::OkStatus();
}

void LaneReader::Collect() {
  Chain* const last = joining_ != nullptr ? joining_.get() : before_.get();
  if (last == nullptr) return;
  for (Item& item : last->TakeOutput()) ready_.push_back(std::move(item));
}

absl::Status LaneReader::EndLane() {
  in_lane_ = false;
  ++lane_;
  absl::Status status = FinishOperators(!TRY(HasLane()));
  Collect();
  if (!status.ok()) ready_.push_back(Item::Error(std::move(status)));
  before_ = nullptr;
  joining_ = nullptr;
  return absl::OkStatus();
}

absl::Status LaneReader::FinishOperators(bool is_last) {
  absl::Status status;
  // Where no place joins lanes, a batching operator is among those before.
  if (before_ != nullptr) status = FinishAll(*before_, is_last && joining_ == nullptr);
  TRY(PushJoining());
  TRY(status);
  if (joining_ == nullptr) return absl::OkStatus();
  TRY(FinishAll(*joining_, is_last));
  tails_ = joining_->TakeTails();
  return absl::OkStatus();
}

// What is ready, without the rows to leave out and what is noted between them.
std::optional<ops::FoundWork> LaneReader::TakeReady() {
  std::vector<Item> items;
  absl::Status error;
  for (Item& item : std::exchange(ready_, {})) {
    if (!item.status.ok()) error = item.status;
    if (!error.ok()) continue;
    if (std::optional<Item> rest = to_skip_.Pass(std::move(item))) {
      items.push_back(*std::move(rest));
    }
  }
  return [items = std::move(items), error, turn = run_.turn,
          &pool = pool_](ops::RowsSink& sink) mutable {
    TRY(PassOn(std::move(items), turn, pool, sink));
    return error;
  };
}

}  // namespace millrace::exec
