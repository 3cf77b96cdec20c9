// Makes a block of rows that were found, field by field: the quick way, for rows that
// are as nearly all are.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/found_rows.h"

namespace millrace::ops {

// Nothing where there are no rows, or one is long or not as it should be: what is wrong
// with it, and where, is found out row by row.
absl::StatusOr<std::optional<core::Block>> MakeByField(const FoundRows& found,
                                                       const RowsPlan& plan,
                                                       const SourceContext& context);

}  // namespace millrace::ops
