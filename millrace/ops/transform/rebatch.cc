// Rebatch: makes batches of another size of batches. It is run as unbatch and batch, so
// that rows are counted, resumed and carried from lane to lane as theirs are.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/transform/grouping.h"

namespace millrace::ops {
namespace {

std::vector<Step> StepsOf(const GroupSize& args) {
  return {
      {.name = "unbatch", .arguments = {}},
      {.name = "batch",
       .arguments = {{"size", args.size}, {"drop_remainder", args.drop_remainder}}}};
}

absl::StatusOr<core::Spec> InferRebatch(const GroupSize& args, const core::Spec& in) {
  const core::Spec rows = TRY(in.Unstacked());
  return rows.Stacked(args.drop_remainder ? args.size : core::kUnknownSize);
}

}  // namespace

OperatorDef RebatchDef() {
  return Define<MadeOfOthers, GroupSize>("rebatch")
      .Doc(
          "Makes batches of another size, with the rows in the same order: as unbatch "
          "and batch do.")
      .Arg("size", &GroupSize::size, "Rows per batch.", AtLeast(1),
           AtMost(int64_t{1} << 40), BatchSize(), Required())
      .Arg("drop_remainder", &GroupSize::drop_remainder,
           "Leave out a last batch that is not full.")
      .Steps(StepsOf)
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .batching = true,
               .keeps_fields = true,
               .unstacks = true})
      .Infer(InferRebatch)
      .Count([](const GroupSize&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
