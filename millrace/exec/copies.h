// A pipeline whose pass gives all rows several times: what every one of so many workers
// would give by itself (sharding="off"). Each copy is reshuffled, with draws of its
// own. Pure.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {

// The copies follow one another before the last batching operator, so that rows that
// fill no batch of one go on into the next; where what stands behind it looks at more
// than one batch, each copy ends by itself.
absl::StatusOr<ir::Pipeline> Copied(const ir::Pipeline& pipeline, int64_t copies,
                                    const ir::Catalog& catalog);

}  // namespace millrace::exec
