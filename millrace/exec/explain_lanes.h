// Says in words how a pass falls into lanes and, where it is only one, which operator
// is the reason and what to do: one lane is the work of one worker.
#pragma once

#include <string>

#include "millrace/exec/pass_plan.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

// "100 lanes of about 1000 rows".
std::string ExplainLanes(const PassPlan& plan);

// All there is to say of a pipeline before it runs: what it was rewritten to and why,
// its rows, its lanes, its fingerprint. Lists the files it reads; they may be missing.
std::string ExplainPass(const rewrite::Rewritten& pipeline,
                        const ops::Library& library);

}  // namespace millrace::exec
