// Which shuffles are done by reading rows in their order, before any of them is in
// memory: a global shuffle always, one within a window where rows are worth a read of
// their own and can be reached by themselves. What comes out is the same.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "millrace/exec/pass_plan.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/manifest.h"

namespace millrace::exec {

bool PermutesAll(const ir::Pipeline& node);

// A global shuffle decides in which order rows are read, so only row-wise operators may
// stand before it: they can as well come after. Says what stands there instead.
absl::Status CheckPermutesFirst(const std::vector<ir::Pipeline>& nodes);

// A global shuffle reads each row by itself: says which split does not allow that.
absl::Status CheckCanPermute(const std::vector<ir::Pipeline>& nodes,
                             const lanes::Manifest& manifest);

// Takes shuffles that are done by reading out of a plan's operators. `windows`: also
// those within a window.
void ShuffleByReading(PassPlan& plan, bool windows);

}  // namespace millrace::exec
