// Says in words how a pass falls into lanes and, where it is only one, which operator
// is the reason and what to do: one lane is the work of one worker.
#pragma once

#include <string>

#include "millrace/exec/pass_plan.h"

namespace millrace::exec {

// "100 lanes of about 1000 rows".
std::string ExplainLanes(const PassPlan& plan);

}  // namespace millrace::exec
