// Rows that a repeat gives again are other rows: they have identities of their own.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/origins.h"

namespace millrace::exec {

// The identities that rows have in the turn of a repeat that has this key, noted where
// somebody wants to know.
absl::StatusOr<core::Block> InTurn(const core::Block& block, uint64_t turn,
                                   core::Pool& pool, ops::Origins* origins = nullptr);

}  // namespace millrace::exec
