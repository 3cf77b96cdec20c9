// Rows that a repeat gives again are other rows: they have identities of their own.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"

namespace millrace::exec {

// The identities that rows have in the turn of a repeat that has this key.
absl::StatusOr<core::Block> InTurn(const core::Block& block, uint64_t turn,
                                   core::Pool& pool);

}  // namespace millrace::exec
