// Computes new values from the values of operands, row by row and value by value, with
// NumPy's broadcasting between the tensors of a row. The work is done by a loop over
// runs of values; this finds the longest runs that the layouts allow:
//
//   dense rows (and constants)            one run over the whole block, or one per
//                                         repetition where shapes are broadcast
//   ragged rows of the same shapes        one run over all values of the block
//   anything else                         row by row, the slow way
//
// Pure; no thread rule.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {

struct Computation {
  core::DType dtype;                   // Of the result.
  Loop loop;                           // Must outlive the call of Broadcast.
  std::string_view failure = {};       // What is wrong with a value for which it stops.
  const core::Buffer* into = nullptr;  // KernelCall::into; used where it is as large.
  const std::string* found = nullptr;  // Instead of `failure`: the loop writes it.
};

// Requires: every operand has `rows` rows or is constant, and at least one operand.
absl::StatusOr<core::Column> Broadcast(int64_t rows,
                                       absl::Span<const ir::Operand> operands,
                                       const Computation& computation,
                                       core::Pool& pool);

}  // namespace millrace::kernels
