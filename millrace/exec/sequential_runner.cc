#include "millrace/exec/sequential_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/nested_reader.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/read_parts.h"
#include "millrace/exec/row_names.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

// One lane being run: fresh operators, chained.
class SequentialRunner::Lane {
 public:
  Lane(SequentialRunner& runner, int64_t number) : runner_(runner), number_(number) {
    const PassPlan& plan = runner.plan_;
    const ops::LaneContext context = plan.ContextOf(number, runner.pool_);
    for (size_t i = 0; i < plan.nodes.size(); ++i) outputs_.emplace_back(this, i);
    for (size_t i = 1; i < plan.nodes.size(); ++i) {
      const int place = static_cast<int>(i);
      operators_.push_back(runner.library_.Make(
          plan.nodes[i], plan.ContextAt(place, number, context, outputs_[i])));
    }
  }

  absl::Status Run() {
    TRY(PushCarry());
    for (const lanes::RowRange& rows : ReadOrder(runner_.plan_, number_)) {
      TRY(Read(rows));
    }
    PassPlan& plan = runner_.plan_;
    const bool is_last = number_ + 1 == plan.lanes.size() && !TRY(plan.Grow());
    for (int place = 1; place <= static_cast<int>(operators_.size()); ++place) {
      TRY(Finish(place));
      if (is_last && place == runner_.plan_.last_batching) TRY(FinishPass(place));
    }
    return absl::OkStatus();
  }

 private:
  // What leaves the operator at a place (0 is the source) and enters the next, and what
  // it leaves out.
  class Output final : public ops::Emitter, public ops::BadRows {
   public:
    Output(Lane* lane, size_t place) : lane_(lane), place_(static_cast<int>(place)) {}

    absl::Status Emit(core::Block block) override {
      return lane_->Enter(place_ + 1, std::move(block));
    }

    absl::Status EmitTail(int64_t key, core::Block rows) override {
      if (place_ == lane_->runner_.plan_.last_batching) {
        return lane_->KeepTail(key, std::move(rows));
      }
      // Of several batching operators only the last has tails.
      return lane_->At(place_).FinishPass(rows, *this);
    }

    absl::Status LeaveOut(const ops::BadRow& row) override {
      return lane_->LeaveOut(place_, row);
    }

   private:
    Lane* lane_;
    int place_;
  };

  ops::Operator& At(int place) { return *operators_[place - 1]; }

  // Whether an operator behind this place gives nothing any more.
  bool EndedBehind(int place) const {
    return std::any_of(operators_.begin() + place, operators_.end(),
                       [](const auto& behind) { return behind->ended(); });
  }

  absl::Status Enter(int place, core::Block block) {
    if (place > static_cast<int>(operators_.size())) {
      runner_.ready_.push_back(Item::Of(std::move(block)));
      return absl::OkStatus();
    }
    return Named(place, At(place).Push(std::move(block), outputs_[place]));
  }

  absl::Status Read(const lanes::RowRange& rows) {
    if (runner_.plan_.nested != nullptr) return ReadNested(rows);
    const absl::StatusOr<std::unique_ptr<ops::Reader>> reader =
        runner_.plan_.source->Open(rows);
    TRY(Named(0, reader.status()));
    while (!EndedBehind(0)) {
      TRY(Named(0, (*reader)->Fetch()));
      absl::StatusOr<std::optional<core::Block>> block = (*reader)->Next(outputs_[0]);
      TRY(Named(0, block.status()));
      if (!block->has_value()) return absl::OkStatus();
      if ((*block)->rows() > 0) TRY(Enter(1, **std::move(block)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadNested(const lanes::RowRange& rows) {
    const PassPlan& plan = runner_.plan_;
    absl::StatusOr<Inputs> inputs = plan.nested->InputsOf(rows);
    TRY(Named(0, inputs.status()));
    NestedReader reader(*std::move(inputs), runner_.library_, runner_.pool_);
    while (!EndedBehind(0)) {
      absl::StatusOr<std::optional<Item>> item = reader.Next();
      TRY(Named(0, item.status()));
      if (!item->has_value()) return absl::OkStatus();
      if ((*item)->left_out) {
        runner_.ready_.push_back(Item::LeftOut(plan.Ignored(*(*item)->left_out)));
      } else {
        TRY(Enter(1, std::move((*item)->block)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Finish(int place) {
    while (true) {
      const absl::StatusOr<ops::Held> held = At(place).Finish(outputs_[place]);
      TRY(Named(place, held.status()));
      if (*held == ops::Held::kNothing) return absl::OkStatus();
    }
  }

  absl::Status PushCarry() {
    for (auto& [key, rows] : std::exchange(runner_.carry_, {})) {
      TRY(Enter(runner_.plan_.last_batching, rows));
    }
    return absl::OkStatus();
  }

  absl::Status KeepTail(int64_t key, core::Block rows) {
    const bool is_new = runner_.carry_.emplace(key, std::move(rows)).second;
    CHECK(is_new) << "an operator gave two tails of one key";
    return absl::OkStatus();
  }

  absl::Status FinishPass(int place) {
    for (auto& [key, rows] : std::exchange(runner_.carry_, {})) {
      TRY(Named(place, At(place).FinishPass(rows, outputs_[place])));
    }
    return absl::OkStatus();
  }

  absl::Status LeaveOut(int place, const ops::BadRow& row) {
    if (EndedBehind(place)) return absl::OkStatus();  // Nobody's row.
    absl::Status named =
        NamedRow(runner_.plan_, {.place = place, .lane = number_}, row);
    const PassPlan& plan = runner_.plan_;
    if (!plan.Ignores(place)) return named_ = named;
    runner_.ready_.push_back(Item::LeftOut({.number = plan.numbers[place],
                                            .by = plan.IgnoredBy(place),
                                            .why = std::move(named)}));
    return absl::OkStatus();
  }

  // Says where an error happened, once: an error that comes through the operators
  // behind it is already named.
  absl::Status Named(int place, const absl::Status& status) {
    if (status.ok() || !named_.ok()) return status;
    named_ = NamedPlace(runner_.plan_, {.place = place, .lane = number_}, status);
    return named_;
  }

  SequentialRunner& runner_;
  const int64_t number_;
  std::vector<std::unique_ptr<ops::Operator>> operators_;
  std::deque<Output> outputs_;  // Of the source and of each operator.
  absl::Status named_;
};

absl::StatusOr<SequentialRunner> SequentialRunner::Open(
    const rewrite::Rewritten& pipeline, const ops::Library& library,
    const PassOptions& options, core::Pool& pool) {
  return SequentialRunner(TRY(PlanPass(pipeline, library, options, pool)), library,
                          pool);
}

absl::StatusOr<std::optional<core::Block>> SequentialRunner::Next() {
  while (true) {
    while (ready_.empty() && status_.ok() && next_lane_ < plan_.lanes.size()) {
      status_ = Lane(*this, next_lane_++).Run();
    }
    if (ready_.empty()) {  // What came out before an error is still delivered.
      TRY(status_);
      return std::nullopt;
    }
    const Item item = std::move(ready_.front());
    ready_.pop_front();
    if (!item.left_out) return item.block;
    const absl::Status allowed = left_out_.Add(*item.left_out);
    if (allowed.ok()) continue;
    ready_.clear();
    status_ = allowed;
  }
}

}  // namespace millrace::exec
