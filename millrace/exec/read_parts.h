// What a lane reads, and in which order: its chunks one after the other, or, where rows
// are shuffled before they are read, row by row. Cut into parts, each for one reader.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/source.h"

namespace millrace::exec {

// The rows of a lane in the order they are read in.
std::vector<lanes::RowRange> ReadOrder(const PassPlan& plan, int64_t lane);

// Groups rows for readers: ranges that follow one another become one, up to a size;
// single rows that stand anywhere become groups of about a block.
std::vector<ops::RowRanges> PartsOf(const PassPlan& plan,
                                    const std::vector<lanes::RowRange>& rows);

}  // namespace millrace::exec
