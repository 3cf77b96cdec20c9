// The identities of a lane's rows: those that come by, and those that are skipped
// without being read. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/cursor.h"

namespace millrace::exec {

// Digests the first so many rows of a block: of batches, the rows in them.
void AddIds(lanes::Digest& digest, const core::Block& block, int64_t rows);

// Gives the identities of the first rows that a lane reads, as they come to the joining
// operator; nothing where only running it tells. Requires: they are skipped at the
// source (SkipPlace is 0), and there are so many.
std::optional<std::vector<core::RowId>> FirstIds(const PassPlan& plan, int64_t lane,
                                                 int64_t rows);

}  // namespace millrace::exec
