// Whether a pass needs the identities of its rows: computing them costs something.
// Pure.
#pragma once

#include <vector>

#include "millrace/ir/pipeline.h"

namespace millrace::exec {

// Tells that of the operators of a pipeline.
bool WantsIds(const std::vector<ir::Pipeline>& nodes);

// Tells whether an operator may find a row wrong.
bool MayFail(const std::vector<ir::Pipeline>& nodes);

}  // namespace millrace::exec
