#include "millrace/exec/lane_reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/in_turn.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/nested_reader.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/row_names.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"

namespace millrace::exec {
namespace {

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

}  // namespace

LaneReader::LaneReader(LaneSeries run, const ops::Library& library, core::Pool& pool)
    : run_(std::move(run)),
      library_(library),
      pool_(pool),
      meters_(std::make_unique<Meters>(run_.plan->pipeline.size(), base::RealClock())),
      lane_(run_.begin),
      to_skip_(run_.skip) {}

LaneReader::LaneReader(LaneReader&& other) noexcept = default;

LaneReader::~LaneReader() = default;

// Notes the rows that a source leaves out.
class LaneReader::Notes final : public ops::BadRows {
 public:
  explicit Notes(LaneReader* reader) : reader_(reader) {}

  absl::Status LeaveOut(const ops::BadRow& row) override {
    if (reader_->EndedBefore()) return absl::OkStatus();  // Nobody's row.
    const PassPlan& plan = *reader_->run_.plan;
    absl::Status named = NamedRow(plan, {.place = 0, .lane = reader_->lane_}, row);
    if (!plan.Ignores(0)) return reader_->named_ = named;
    reader_->ready_.push_back(Item::LeftOut(
        {.number = plan.numbers[0], .by = plan.IgnoredBy(0), .why = std::move(named)}));
    return absl::OkStatus();
  }

 private:
  LaneReader* reader_;
};

absl::StatusOr<std::optional<Item>> LaneReader::Next() {
  while (true) {
    while (!ready_.empty()) {
      Item item = std::move(ready_.front());
      ready_.pop_front();
      TRY(item.status);
      std::optional<Item> rest = to_skip_.Pass(std::move(item));
      if (!rest) continue;
      if (rest->left_out) return rest;
      return Item::Of(
          TRY(InTurn(rest->block, run_.turn, pool_, run_.plan->origins.get())));
    }
    if (ended_) return std::nullopt;
    TRY(ReadOn());
  }
}

bool LaneReader::EndedBefore() const { return before_ != nullptr && before_->ended(); }

absl::Status LaneReader::ReadOn() {
  TRY(OpenNext());
  absl::Status status;
  if (nested_ != nullptr) {
    status = ReadNested();
  } else if (reader_ != nullptr) {
    status = ReadRows();
  }
  if (!status.ok()) ready_.push_back(Item::Error(std::move(status)));
  return absl::OkStatus();
}

absl::Status LaneReader::ReadRows() {
  TRY(Named(reader_->Fetch()));
  Notes notes(this);
  absl::StatusOr<std::optional<core::Block>> block = reader_->Next(notes);
  TRY(Named(block.status()));
  return *block ? Push(**std::move(block)) : EndPart();
}

absl::Status LaneReader::ReadNested() {
  absl::StatusOr<std::optional<Item>> next = nested_->Next();
  TRY(Named(next.status()));
  if (!*next) return EndPart();
  Item& item = **next;
  if (!item.left_out) return Push(std::move(item.block));
  ready_.push_back(Item::LeftOut(run_.plan->Ignored(*std::move(item.left_out))));
  return absl::OkStatus();
}

// Says where reading failed; of a row that is wrong that has been said.
absl::Status LaneReader::Named(const absl::Status& status) const {
  if (status.ok() || !named_.ok()) return status;
  return NamedPlace(*run_.plan, {.place = 0, .lane = lane_}, status);
}

absl::Status LaneReader::EndPart() {
  reader_ = nullptr;
  nested_ = nullptr;
  return parts_.empty() ? EndLane() : absl::OkStatus();
}

// Pushes what a source gives through the operators of the lane, in order.
absl::Status LaneReader::Push(core::Block block) {
  if (block.rows() == 0) return absl::OkStatus();
  Chain* const first = (before_ != nullptr ? before_ : joining_).get();
  if (first == nullptr) {
    ready_.push_back(Item::Of(std::move(block)));
    return absl::OkStatus();
  }
  absl::Status status = first->Push(std::move(block));
  absl::Status joined = PushJoining();
  Collect();
  if (EndedBefore()) {
    parts_.clear();
    TRY(joined);
    TRY(status);
    return EndPart();
  }
  return joined.ok() ? status : joined;  // What failed behind did so earlier.
}

// Goes on to the next part, or lane, that there is.
absl::Status LaneReader::OpenNext() {
  while (reader_ == nullptr && nested_ == nullptr && !ended_) {
    if (!in_lane_) TRY(BeginLane());
    if (ended_) break;
    if (EndedBefore()) parts_.clear();
    if (parts_.empty()) {
      TRY(EndLane());
      if (!ready_.empty()) break;
      continue;
    }
    const ops::RowRanges part = std::move(parts_.back());
    parts_.pop_back();
    const PassPlan& plan = *run_.plan;
    if (plan.nested == nullptr) {
      reader_ = TRY(ops::OpenAll(*plan.source, part, pool_));
    } else {
      nested_ = std::make_unique<NestedReader>(TRY(plan.nested->InputsOf(part[0])),
                                               library_, pool_);
    }
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
  const std::vector<lanes::RowRange> rows = ReadOrder(plan, lane_);
  if (plan.nested == nullptr) parts_ = PartsOf(plan, rows);
  if (plan.nested != nullptr) {
    for (const lanes::RowRange& part : rows) parts_.push_back({part});
  }
  std::ranges::reverse(parts_);
  const ChainLane lane = {plan.ContextOf(lane_, pool_), lane_};
  const auto make = [&](int first, int last) {
    return std::make_unique<Chain>(plan, StageOf(first, last), library_, lane,
                                   *meters_);
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

}  // namespace millrace::exec
