// Batch: groups consecutive rows into one, along a new leading axis.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

struct BatchArgs {
  int64_t size = 1;
  bool drop_remainder = false;
};

class Batch final : public Operator {
 public:
  Batch(const BatchArgs& args, const LaneContext& lane) : args_(args), lane_(lane) {}

  absl::Status Push(core::Block block, Emitter& out) override {
    while (pending_rows_ + block.rows() >= args_.size) {
      const int64_t wanted = args_.size - pending_rows_;
      Keep(block.Slice(0, wanted));
      block = block.Slice(wanted, block.rows() - wanted);
      TRY(EmitBatch(TRY(TakePending()), out));
    }
    if (block.rows() > 0) Keep(std::move(block));
    return absl::OkStatus();
  }

  // A lane's leftover travels as its tail; a short last batch is made, or dropped, once
  // per pass.
  absl::StatusOr<Held> Finish(Emitter& out) override {
    if (pending_rows_ > 0) TRY(out.EmitTail(0, TRY(TakePending())));
    return Held::kNothing;
  }

  absl::Status FinishPass(const core::Block& tail, Emitter& out) override {
    if (tail.rows() == 0 || args_.drop_remainder) return absl::OkStatus();
    return EmitBatch(tail, out);
  }

 private:
  void Keep(core::Block block) {
    pending_rows_ += block.rows();
    pending_.push_back(std::move(block));
  }

  absl::StatusOr<core::Block> TakePending() {
    pending_rows_ = 0;
    const std::vector<core::Block> rows = std::exchange(pending_, {});
    return core::Concatenate(rows, lane_.pool);
  }

  absl::Status EmitBatch(const core::Block& rows, Emitter& out) {
    absl::StatusOr<core::Block> uniform = rows.ToUniform(lane_.pool);
    if (!uniform.ok()) {
      return base::Annotate(uniform.status(),
                            "batch needs rows of one shape; use padded_batch or "
                            "ragged_batch, or make them equal in a map before");
    }
    const core::Block aligned = TRY(uniform->Aligned(lane_.pool));
    return out.Emit(aligned.Stack(aligned.rows()));
  }

  const BatchArgs args_;
  const LaneContext lane_;
  std::vector<core::Block> pending_;
  int64_t pending_rows_ = 0;
};

ir::Cardinality CountBatches(const BatchArgs& args, const ir::Cardinality& in) {
  if (!in.known()) return in;
  const int64_t full = in.rows() / args.size;
  const bool has_short = in.rows() % args.size > 0 && !args.drop_remainder;
  return ir::Cardinality::Known(full + (has_short ? 1 : 0));
}

}  // namespace

OperatorDef BatchDef() {
  return Define<Batch, BatchArgs>("batch")
      .Doc("Groups consecutive rows into one, along a new leading axis.")
      .Arg("size", &BatchArgs::size, "Rows per batch.", AtLeast(1),
           AtMost(int64_t{1} << 40), BatchSize(), Required())
      .Arg("drop_remainder", &BatchArgs::drop_remainder,
           "Leave out a last batch that is not full.")
      .Traits({.order_sensitive = true,
               .changes_cardinality = true,
               .batching = true,
               .keeps_fields = true,
               .stacks_runs = true})
      .Infer([](const BatchArgs& args, const core::Spec& in) {
        return in.Stacked(args.drop_remainder ? args.size : core::kUnknownSize);
      })
      .Count(CountBatches);
}

}  // namespace millrace::ops
