// RaggedBatch: groups consecutive rows into one, along a new leading axis; rows of
// differing shape stay as they are.

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/transform/grouping.h"

namespace millrace::ops {
namespace {

class RaggedBatch final : public Grouping {
 public:
  using Grouping::Grouping;

 private:
  absl::StatusOr<core::Block> MakeUniform(const core::Block& rows) const override {
    return Stackable(rows, lane_.pool);
  }
};

}  // namespace

OperatorDef RaggedBatchDef() {
  return Define<RaggedBatch, GroupSize>("ragged_batch")
      .Doc(
          "Groups consecutive rows into one, along a new leading axis. Rows of "
          "differing shape stay as they are: values, and where each row begins.")
      .Arg("size", &GroupSize::size, "Rows per batch.", AtLeast(1),
           AtMost(int64_t{1} << 40), BatchSize(), Required())
      .Arg("drop_remainder", &GroupSize::drop_remainder,
           "Leave out a last batch that is not full.")
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .batching = true,
               .keeps_fields = true,
               .stacks_runs = true})
      .Infer([](const GroupSize& args, const core::Spec& in) {
        return in.Stacked(args.drop_remainder ? args.size : core::kUnknownSize);
      })
      .Count(CountGroups);
}

}  // namespace millrace::ops
