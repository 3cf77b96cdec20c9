// The least memory that a pass works with: what its operators hold at once in one lane,
// windows and batches. Known as far as the sizes of rows are: from types of fixed size,
// or from the source's mean row where fields are passed on as they were read.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "millrace/exec/pass_plan.h"

namespace millrace::exec {

// Bytes; 0 of what is not known.
int64_t LeastMemory(const PassPlan& plan);

// An error when a budget is below that: it names the operator that holds most.
absl::Status CheckBudget(const PassPlan& plan, int64_t budget_bytes);

// How many lanes may be open at once, on so many threads: two at least. Some memory is
// set aside for each, since few lanes that can go on are better than many that wait.
// More than threads where several lie in one grain of the source.
int64_t LanesAtOnce(const PassPlan& plan, int64_t budget_bytes, int threads);

}  // namespace millrace::exec
