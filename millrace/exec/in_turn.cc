#include "millrace/exec/in_turn.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ops/origins.h"

namespace millrace::exec {

absl::StatusOr<core::Block> InTurn(const core::Block& block, uint64_t turn,
                                   core::Pool& pool, ops::Origins* origins) {
  if (turn == 0 || !block.has_ids()) return block;
  // Of batches these are the identities of their rows.
  const core::Column& ids = *block.ids();
  const absl::Span<const uint64_t> old_words = ids.values().As<uint64_t>();
  core::Buffer values = TRY(pool.AllocateFor<uint64_t>(std::ssize(old_words)));
  const absl::Span<uint64_t> words = values.MutableAs<uint64_t>();
  ops::MadeRows made;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const base::Hash128 id = {old_words[i], old_words[i + 1]};
    const base::Hash128 hash = base::Combine(id, turn);
    words[i] = hash.hi;
    words[i + 1] = hash.lo;
    if (origins != nullptr) made.Add(hash, {id});
  }
  if (origins != nullptr) origins->Note(std::move(made));
  return block.WithIds(TRY(core::Column::FromLevels(core::DType::kUint64, ids.rows(),
                                                    ids.levels(), std::move(values))));
}

}  // namespace millrace::exec
