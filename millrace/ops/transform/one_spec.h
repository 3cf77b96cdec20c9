// Rows that come from one of several inputs: their spec, the same fields and types in
// all of them, sizes that differ unknown; and how many there are.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"

namespace millrace::ops {

// Fails where the inputs differ; the error names the field and both types. Requires:
// at least one input.
absl::StatusOr<core::Spec> OneSpec(absl::Span<const core::Spec> inputs);

// The rows of all inputs together.
ir::Cardinality CountOfAll(absl::Span<const ir::Cardinality> inputs);

}  // namespace millrace::ops
