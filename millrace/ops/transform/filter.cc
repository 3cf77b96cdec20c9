// Filter: keeps the rows for which a condition holds.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct FilterArgs {
  ValueFunction predicate;
  std::optional<int64_t> seed;
};

class Filter final : public Operator {
 public:
  Filter(FilterArgs args, const LaneContext& lane)
      : args_(std::move(args)), lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto make = [this](const core::Block& rows) { return KeptOf(rows); };
    return EmitGoodRows(block, make, lane_.bad_rows, out);
  }

 private:
  absl::StatusOr<core::Block> KeptOf(const core::Block& block) const {
    const kernels::DrawScope draws = {SeedOf(args_.seed, lane_), lane_.epoch};
    const core::Column kept =
        TRY(kernels::EvaluateValue(*args_.predicate, block, draws, lane_.pool));
    const absl::Span<const bool> keep = kept.As<bool>();
    std::vector<int64_t> rows(block.rows());
    int64_t kept_rows = 0;
    for (int64_t row = 0; row < block.rows(); ++row) {
      rows[kept_rows] = row;  // Without a branch: what is kept is hard to foresee.
      kept_rows += keep[row] ? 1 : 0;
    }
    rows.resize(kept_rows);
    if (kept_rows == block.rows()) return block;
    return core::Gather(block, rows, lane_.pool);
  }

  const FilterArgs args_;
  const LaneContext lane_;
};

absl::StatusOr<core::Spec> InferFilter(const FilterArgs& args, const core::Spec& in) {
  const ir::ValueType& type = args.predicate->type_of(args.predicate->results()[0]);
  if (type.dtype == core::DType::kBool && type.shape.is_scalar()) return in;
  return absl::InvalidArgumentError(base::StrCat(
      "argument predicate must give one bool per row, not ", ir::ToString(type)));
}

std::string KeepsAllReason(const FilterArgs& args, const core::Spec& /*in*/) {
  const ir::Term& term = (*args.predicate)[args.predicate->results()[0].term];
  const bool constant = term.kind == ir::Term::Kind::kLiteral;
  return constant && term.literal.As<bool>()[0] ? "its condition always holds" : "";
}

}  // namespace

OperatorDef FilterDef() {
  return Define<Filter, FilterArgs>("filter")
      .Doc("Keeps the rows for which a condition holds.")
      .Arg("predicate", &FilterArgs::predicate, "From the row to a bool.")
      .Arg("seed", &FilterArgs::seed, "For random numbers; by default the job's.",
           AtLeast(0), Seed())
      .Traits({.row_wise = true, .changes_cardinality = true, .keeps_fields = true})
      .NoOp(KeepsAllReason)
      .Random([](const FilterArgs& args) { return args.predicate->IsRandom(); })
      .CanFail([](const FilterArgs& args) { return args.predicate->CanFail(); })
      .Infer(InferFilter)
      .Count([](const FilterArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
