// PaddedBatch: groups consecutive rows into one, along a new leading axis; rows of
// differing shape are padded to the largest first.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/grouping.h"
#include "millrace/ops/transform/padding.h"

namespace millrace::ops {
namespace {

struct PaddedBatchArgs {
  int64_t size = 1;
  bool drop_remainder = false;
  double pad_value = 0;
  std::optional<int64_t> to_multiple_of;
};

class PaddedBatch final : public Grouping {
 public:
  PaddedBatch(const PaddedBatchArgs& args, const LaneContext& lane)
      : Grouping({.size = args.size, .drop_remainder = args.drop_remainder}, lane),
        rule_{.value = args.pad_value,
              .to_multiple_of = args.to_multiple_of,
              .leading_at_least = std::nullopt} {}

 private:
  absl::StatusOr<core::Block> MakeUniform(const core::Block& rows) const override {
    return Padded(rows, rule_, *lane_.input, lane_.pool);
  }

  const PadRule rule_;
};

}  // namespace

OperatorDef PaddedBatchDef() {
  return Define<PaddedBatch, PaddedBatchArgs>("padded_batch")
      .Doc(
          "Groups consecutive rows into one, along a new leading axis. Rows of "
          "differing shape are padded at the end of each axis, to the largest of the "
          "batch; texts are not.")
      .Arg("size", &PaddedBatchArgs::size, "Rows per batch.", AtLeast(1),
           AtMost(int64_t{1} << 40), BatchSize(), Required())
      .Arg("drop_remainder", &PaddedBatchArgs::drop_remainder,
           "Leave out a last batch that is not full.")
      .Arg("pad_value", &PaddedBatchArgs::pad_value,
           "What to fill up with; every padded field must be able to hold it.")
      .Arg("to_multiple_of", &PaddedBatchArgs::to_multiple_of,
           "Round the size of padded axes up to a multiple of this; by default not.",
           AtLeast(1), AtMost(int64_t{1} << 40))
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .batching = true,
               .keeps_fields = true,
               .stacks_runs = true})
      .Infer([](const PaddedBatchArgs& args,
                const core::Spec& in) -> absl::StatusOr<core::Spec> {
        TRY(CheckPadValue(args.pad_value, in));
        return in.Stacked(args.drop_remainder ? args.size : core::kUnknownSize);
      })
      .Count([](const PaddedBatchArgs& args, const ir::Cardinality& in) {
        return CountGroups({args.size, args.drop_remainder}, in);
      });
}

}  // namespace millrace::ops
