// The spec of rows that come from one of several inputs: the same fields and types in
// all of them. Sizes that differ are unknown.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/spec.h"

namespace millrace::ops {

// Fails where the inputs differ; the error names the field and both types. Requires:
// at least one input.
absl::StatusOr<core::Spec> OneSpec(absl::Span<const core::Spec> inputs);

}  // namespace millrace::ops
