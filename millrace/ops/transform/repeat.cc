// Repeat: all rows again and again. Each turn is a pass of its own over what stands
// before, reshuffled, with draws of its own; rows of later turns are other rows.

#include <cstdint>
#include <optional>

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/define.h"

namespace millrace::ops {
namespace {

struct RepeatArgs {
  std::optional<int64_t> count;
};

ir::Cardinality CountRepeated(const RepeatArgs& args, const ir::Cardinality& in) {
  const bool nothing = in.known() && in.rows() == 0;
  if (nothing || args.count == 0) return ir::Cardinality::Known(0);
  if (!args.count || in.infinite()) return ir::Cardinality::Infinite();
  if (!in.known()) return in;
  int64_t rows = 0;
  const bool absurd = __builtin_mul_overflow(in.rows(), *args.count, &rows);
  return absurd ? ir::Cardinality::Unknown() : ir::Cardinality::Known(rows);
}

}  // namespace

OperatorDef RepeatDef() {
  return Define<ByLanes, RepeatArgs>("repeat")
      .Doc(
          "Gives all rows again and again, each time reshuffled. Before a batch, "
          "batches go on from one turn into the next; behind it, each turn ends with "
          "its own last batch.")
      .Arg("count", &RepeatArgs::count, "How often; by default without end.",
           AtLeast(0), AtMost(lanes::kRowsMax))
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .keeps_fields = true,
               .repeats = true})
      .Infer([](const RepeatArgs&, const core::Spec& in) { return in; })
      .Count(CountRepeated);
}

}  // namespace millrace::ops
