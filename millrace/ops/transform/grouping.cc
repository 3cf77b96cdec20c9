#include "millrace/ops/transform/grouping.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

absl::Status Grouping::Push(core::Block block, Emitter& out) {
  while (pending_rows_ + block.rows() >= group_.size) {
    const int64_t wanted = group_.size - pending_rows_;
    Keep(block.Slice(0, wanted));
    block = block.Slice(wanted, block.rows() - wanted);
    TRY(EmitBatch(TRY(TakePending()), out));
  }
  if (block.rows() > 0) Keep(std::move(block));
  return absl::OkStatus();
}

absl::StatusOr<Held> Grouping::Finish(Emitter& out) {
  if (pending_rows_ > 0) TRY(out.EmitTail(0, TRY(TakePending())));
  return Held::kNothing;
}

absl::Status Grouping::FinishPass(const core::Block& tail, Emitter& out) {
  if (tail.rows() == 0 || group_.drop_remainder) return absl::OkStatus();
  return EmitBatch(tail, out);
}

void Grouping::Keep(core::Block block) {
  pending_rows_ += block.rows();
  pending_.push_back(std::move(block));
}

absl::StatusOr<core::Block> Grouping::TakePending() {
  pending_rows_ = 0;
  const std::vector<core::Block> rows = std::exchange(pending_, {});
  return core::Concatenate(rows, lane_.pool);
}

absl::Status Grouping::EmitBatch(const core::Block& rows, Emitter& out) {
  const core::Block uniform = TRY(MakeUniform(rows));
  const core::Block aligned = TRY(uniform.Aligned(lane_.pool));
  return out.Emit(aligned.Stack(aligned.rows()));
}

absl::StatusOr<core::Block> Stackable(const core::Block& rows, core::Pool& pool) {
  std::vector<core::Column> columns;
  for (const core::Column& column : rows.columns()) {
    columns.push_back(TRY(core::WithoutGaps(column, pool)));
  }
  const core::Block touching(rows.rows(), rows.shared_names(), std::move(columns));
  return rows.has_ids() ? touching.WithIds(*rows.ids()) : touching;
}

ir::Cardinality CountGroups(const GroupSize& group, const ir::Cardinality& rows) {
  if (!rows.known()) return rows;
  const int64_t full = rows.rows() / group.size;
  const bool has_short = rows.rows() % group.size > 0 && !group.drop_remainder;
  return ir::Cardinality::Known(full + (has_short ? 1 : 0));
}

}  // namespace millrace::ops
