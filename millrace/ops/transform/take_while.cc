// TakeWhile: the rows of the pass up to the first for which a condition does not hold.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/evaluate.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct TakeWhileArgs {
  ValueFunction predicate;
  std::optional<int64_t> seed;
};

class TakeWhile final : public Operator {
 public:
  TakeWhile(TakeWhileArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    if (ended_) return absl::OkStatus();
    const auto holds = [this](const core::Block& rows) -> absl::StatusOr<core::Column> {
      if (ended_) return core::Column();  // Rows behind the end are nobody's.
      const kernels::DrawScope draws = {SeedOf(args_.seed, lane_), lane_.epoch};
      return kernels::EvaluateValue(*args_.predicate, rows, draws, lane_.pool);
    };
    const auto emit = [&](const core::Block& rows, const core::Column& held) {
      return EmitWhile(rows, held, out);
    };
    return UseGoodRows<core::Column>(block, holds, emit, lane_.bad_rows);
  }

  bool ended() const override { return ended_; }

 private:
  absl::Status EmitWhile(const core::Block& rows, const core::Column& held,
                         Emitter& out) {
    if (ended_) return absl::OkStatus();
    const absl::Span<const bool> holds = held.As<bool>();
    const int64_t taken = std::ranges::find(holds, false) - holds.begin();
    ended_ = taken < rows.rows();
    return taken > 0 ? out.Emit(rows.Slice(0, taken)) : absl::OkStatus();
  }

  const TakeWhileArgs args_;
  const LaneContext lane_;
  bool ended_ = false;
};

absl::StatusOr<core::Spec> InferTakeWhile(const TakeWhileArgs& args,
                                          const core::Spec& in) {
  const ir::ValueType& type = args.predicate->type_of(args.predicate->results()[0]);
  if (type.dtype == core::DType::kBool && type.shape.is_scalar()) return in;
  return absl::InvalidArgumentError(base::StrCat(
      "argument predicate must give one bool per row, not ", ir::ToString(type)));
}

}  // namespace

OperatorDef TakeWhileDef() {
  return Define<TakeWhile, TakeWhileArgs>("take_while")
      .Doc("Gives the rows up to the first for which a condition does not hold.")
      .Arg("predicate", &TakeWhileArgs::predicate, "From the row to a bool.")
      .Arg("seed", &TakeWhileArgs::seed, "For random numbers; by default the job's.",
           AtLeast(0), Seed())
      .Traits(
          {.order_sensitive = true, .changes_cardinality = true, .keeps_fields = true})
      .AcrossLanes([](const TakeWhileArgs&) { return true; })
      .Random([](const TakeWhileArgs& args) { return args.predicate->IsRandom(); })
      .CanFail([](const TakeWhileArgs& args) { return args.predicate->CanFail(); })
      .Infer(InferTakeWhile)
      .Count([](const TakeWhileArgs&, const ir::Cardinality& in) {
        return in.known() && in.rows() == 0 ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
