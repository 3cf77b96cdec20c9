#include "millrace/exec/chain.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_names.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"

namespace millrace::exec {

// What leaves the operator at a place and enters the next, and what it leaves out.
class Chain::Output final : public ops::Emitter, public ops::BadRows {
 public:
  Output(Chain* chain, int place)
      : chain_(chain), place_(place), ignored_(chain->plan_.Ignores(place)) {}

  absl::Status Emit(core::Block block) override {
    chain_->meters_.AddOutput(chain_->plan_.numbers[place_], block.rows(),
                              block.content_bytes());
    if (place_ < chain_->stage_.last) {
      return chain_->PushAt(place_ + 1, std::move(block));
    }
    chain_->collected_.push_back(Item::Of(std::move(block)));
    chain_->collected_.back().key = chain_->key_;
    return absl::OkStatus();
  }

  absl::Status EmitOf(int64_t key, core::Block batch) override {
    if (place_ == chain_->plan_.join) chain_->key_ = key;
    return Emit(std::move(batch));
  }

  absl::Status EmitTail(int64_t key, core::Block rows) override {
    if (place_ == chain_->plan_.last_batching) {
      const bool is_new = chain_->tails_.emplace(key, std::move(rows)).second;
      CHECK(is_new) << "an operator gave two tails of one key";
      return absl::OkStatus();
    }
    // Of several batching operators only the last has tails.
    return chain_->At(place_).FinishPass(rows, *this);
  }

  absl::Status LeaveOut(const ops::BadRow& row) override {
    if (chain_->EndedBehind(place_)) return absl::OkStatus();  // Nobody's row.
    const AtPlace here = {.place = place_, .lane = chain_->lane_number_};
    absl::Status named = NamedRow(chain_->plan_, here, row);
    chain_->named_ = !ignored_;
    if (!ignored_) return named;
    const PassPlan& plan = chain_->plan_;
    chain_->collected_.push_back(Item::LeftOut({.number = plan.numbers[place_],
                                                .by = plan.IgnoredBy(place_),
                                                .why = std::move(named)}));
    return absl::OkStatus();
  }

 private:
  Chain* chain_;
  int place_;
  bool ignored_;
};

Chain::Chain(const PassPlan& plan, const Stage& stage, const ops::Library& library,
             const ChainLane& lane, Meters& meters)
    : plan_(plan),
      stage_(stage),
      meters_(meters),
      lane_number_(lane.number),
      finishing_(stage.first) {
  for (int place = stage.first; place <= stage.last; ++place) {
    outputs_.push_back(std::make_unique<Output>(this, place));
    operators_.push_back(library.Make(
        plan.nodes[place],
        plan.ContextAt(place, lane.number, lane.context, *outputs_.back())));
  }
}

Chain::~Chain() = default;

bool Chain::EndedBehind(int place) const {
  return std::any_of(operators_.begin() + (place + 1 - stage_.first), operators_.end(),
                     [](const auto& behind) { return behind->ended(); });
}

absl::Status Chain::Push(core::Block block) {
  absl::Status status = PushAt(stage_.first, std::move(block));
  named_ = false;
  return status;
}

// Those rows have been counted in their own lane.
absl::Status Chain::PushCarry(const Tails& tails) {
  for (const auto& [key, rows] : tails) {
    TRY(Enter(stage_.first,
              [&] { return At(stage_.first).Push(rows, OutputOf(stage_.first)); }));
  }
  return absl::OkStatus();
}

absl::Status Chain::PushAt(int place, core::Block block) {
  meters_.AddInput(plan_.numbers[place], block.rows());
  return Enter(place,
               [&] { return At(place).Push(std::move(block), OutputOf(place)); });
}

// Time spent in an operator that is entered from another counts for the inner one.
template <typename Run>
absl::Status Chain::Enter(int place, const Run& run) {
  const int outer = timed_;
  SwitchTo(place);
  absl::Status status = run();
  SwitchTo(outer);
  if (status.ok() || named_) return status;
  named_ = true;
  return NamedPlace(plan_, {.place = place, .lane = lane_number_}, status);
}

void Chain::SwitchTo(int place) {
  if (!meters_.on()) return;
  const int64_t now = meters_.Now();
  if (timed_ >= 0) meters_.AddTime(plan_.numbers[timed_], now - timed_since_);
  timed_ = place;
  timed_since_ = now;
}

absl::StatusOr<ops::Held> Chain::Finish(bool ends_pass) {
  CHECK_LE(finishing_, stage_.last);
  const int place = finishing_;
  ops::Held held = ops::Held::kNothing;
  TRY(Enter(place, [&]() -> absl::Status {
    held = TRY(At(place).Finish(OutputOf(place)));
    return absl::OkStatus();
  }));
  if (held == ops::Held::kMore) return held;
  if (ends_pass && place == plan_.last_batching) TRY(FinishPass(place));
  ++finishing_;
  return finishing_ <= stage_.last ? ops::Held::kMore : ops::Held::kNothing;
}

absl::Status Chain::FinishPass(int place) {
  for (const auto& [key, rows] : std::exchange(tails_, {})) {
    TRY(Enter(place, [&] { return At(place).FinishPass(rows, OutputOf(place)); }));
  }
  return absl::OkStatus();
}

std::vector<Item> Chain::TakeOutput() { return std::exchange(collected_, {}); }

Tails Chain::TakeTails() { return std::exchange(tails_, {}); }

}  // namespace millrace::exec
