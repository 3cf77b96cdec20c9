// What operators that batch have in common: they collect rows until a batch is full,
// and hand on what fills none at the end. How rows become a batch is their own.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

struct GroupSize {
  int64_t size = 1;             // Rows per batch.
  bool drop_remainder = false;  // Leave out a last batch that is not full.
};

class Grouping : public Operator {
 public:
  Grouping(const GroupSize& group, const LaneContext& lane)
      : lane_(lane), group_(group) {}

  absl::Status Push(core::Block block, Emitter& out) final;

  // A lane's leftover travels as its tail; a short last batch is made, or dropped, once
  // per pass.
  absl::StatusOr<Held> Finish(Emitter& out) final;
  absl::Status FinishPass(const core::Block& tail, Emitter& out) final;

 protected:
  // Makes all rows of one shape, so that they can be stacked.
  virtual absl::StatusOr<core::Block> MakeUniform(const core::Block& rows) const = 0;

  const LaneContext lane_;

 private:
  void Keep(core::Block block);
  absl::StatusOr<core::Block> TakePending();
  absl::Status EmitBatch(const core::Block& rows, Emitter& out);

  const GroupSize group_;
  std::vector<core::Block> pending_;
  int64_t pending_rows_ = 0;
};

// Gives rows that can be stacked although their shapes differ: texts touch.
absl::StatusOr<core::Block> Stackable(const core::Block& rows, core::Pool& pool);

// How many batches rows make.
ir::Cardinality CountGroups(const GroupSize& group, const ir::Cardinality& rows);

}  // namespace millrace::ops
