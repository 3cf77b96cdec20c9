// The memory of a dense result: where the caller wants it (KernelCall::into), else new
// from the pool. For kernels whose result has a shape known beforehand, so that rows go
// straight to where a batch will have them.
#pragma once

#include "absl/status/statusor.h"

#include "millrace/core/buffer.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

// Gives a buffer of exactly `rows` values of the inferred type, for the kernel to fill.
// Requires: the inferred shape is known, and no text.
absl::StatusOr<core::Buffer> ResultBuffer(const ir::KernelCall& call);

}  // namespace millrace::kernels
