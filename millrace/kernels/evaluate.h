// Computes an expression over the rows of a block: term by term, each over whole
// columns. What does not depend on the row is computed once; what nobody needs any more
// is freed at once. Called by every operator that takes a row function. Pure: the same
// rows, scope and expression give the same results in whatever blocks the rows come.
// Costs a few microseconds per term and block besides the arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/ir/expression.h"

namespace millrace::kernels {

// What random kernels draw under, besides the identity of the row.
struct DrawScope {
  uint64_t seed = 0;
  uint64_t epoch = 0;
};

// Gives a column per result, each with as many rows as the block. An error names the
// kernel that failed and the first row it failed on. `into` may say, by result, where
// dense results are wanted: buffers of exactly their size, or empty ones; the kernel
// that makes a result writes there where it can.
// Requires: the rows are what the expression was typed against, and have identities
// where it is random.
absl::StatusOr<std::vector<core::Column>> Evaluate(
    const ir::Expression& expression, const core::Block& rows, const DrawScope& scope,
    core::Pool& pool, absl::Span<const core::Buffer> into = {});

// The same for an expression that gives one value, such as a filter's.
// Requires: it has one result.
absl::StatusOr<core::Column> EvaluateValue(const ir::Expression& expression,
                                           const core::Block& rows,
                                           const DrawScope& scope, core::Pool& pool);

}  // namespace millrace::kernels
