#include "millrace/ops/source.h"

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"

namespace millrace::ops {

absl::StatusOr<core::Block> WithSourceIds(const core::Block& block, int64_t split,
                                          int64_t begin, const SourceContext& context) {
  if (!context.with_ids) return block;
  core::Buffer ids = TRY(context.pool.AllocateFor<uint64_t>(2 * block.rows()));
  const absl::Span<uint64_t> words = ids.MutableAs<uint64_t>();
  for (int64_t row = 0; row < block.rows(); ++row) {
    const core::RowId id = SourceRowId(context.call_number, split, begin + row);
    words[2 * row] = id.hi;
    words[2 * row + 1] = id.lo;
  }
  return block.WithIds(
      core::Column::Dense(core::DType::kUint64, block.rows(), {2}, std::move(ids)));
}

}  // namespace millrace::ops
