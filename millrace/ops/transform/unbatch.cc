// Unbatch: takes batches apart into the rows they were made of, which have their own
// identities again.

#include "absl/status/status.h"

#include "millrace/core/block.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/good_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct UnbatchArgs {};

class Unbatch final : public Operator {
 public:
  Unbatch(const UnbatchArgs& /*args*/, const LaneContext& lane) : lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    const auto make = [](const core::Block& batches) { return batches.Unstack(); };
    return EmitGoodRows(block, make, lane_.bad_rows, out);
  }

 private:
  const LaneContext lane_;
};

}  // namespace

OperatorDef UnbatchDef() {
  return Define<Unbatch, UnbatchArgs>("unbatch")
      .Doc("Takes batches apart: one row for each part along the leading axis.")
      .CanFail([](const UnbatchArgs&) { return true; })
      .Traits({.row_wise = true, .changes_cardinality = true, .unstacks = true})
      .Infer([](const UnbatchArgs&, const core::Spec& in) { return in.Unstacked(); })
      .Count([](const UnbatchArgs&, const ir::Cardinality& in) {
        if (in.known() && in.rows() == 0) return in;
        return in.infinite() ? in : ir::Cardinality::Unknown();
      });
}

}  // namespace millrace::ops
