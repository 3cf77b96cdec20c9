// Operators that are made of others, such as rebatch, are planned as those. Pure.
#pragma once

#include "absl/status/statusor.h"

#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"

namespace millrace::exec {

// Puts the operators that others are run as in their place.
absl::StatusOr<ir::Pipeline> Lowered(const ir::Pipeline& pipeline,
                                     const ops::Library& library);

}  // namespace millrace::exec
