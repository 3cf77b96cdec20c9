// Rows that wait within an operator, in the blocks they came in, and are referred to by
// number. When most of what came has left, those that still wait move into a block of
// their own: memory stays at about twice what waits. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"

namespace millrace::ops {

class HeldRows {
 public:
  // Requires: the pool outlives it.
  explicit HeldRows(core::Pool& pool) : pool_(pool) {}

  // Keeps a block; gives the number by which its rows are referred to.
  int32_t Keep(core::Block block);

  // Gives rows that wait, in this order; they wait on until somebody forgets them.
  absl::StatusOr<core::Block> Gather(absl::Span<const core::RowRef> rows) const {
    return core::Gather(blocks_, rows, pool_);
  }

  // Visits every row that still waits, in any order but always in the same.
  using Visit = absl::FunctionRef<void(core::RowRef&)>;
  using VisitAll = absl::FunctionRef<void(Visit)>;

  // Moves what waits, if most of what is kept does not. References change.
  // Requires: `waiting` rows are visited.
  absl::Status Compact(int64_t waiting, VisitAll visit_all);

 private:
  core::Pool& pool_;
  std::vector<core::Block> blocks_;
  int64_t kept_ = 0;  // Rows in them whose memory waits for the others.
};

}  // namespace millrace::ops
