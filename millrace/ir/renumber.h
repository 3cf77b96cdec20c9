// Gives a pipeline's sources and random calls other numbers, so that it can be joined
// with another that was built apart from it: numbers tell draws and rows apart.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"

namespace millrace::ir {

// Adds `by` to every number. Requires: by >= 0.
absl::StatusOr<Pipeline> Renumbered(const Pipeline& pipeline, int64_t by,
                                    const Catalog& catalog);

}  // namespace millrace::ir
