// Who was refused a file: errors of permission name the operator that asked for it.
// They are about what a process may do, so the path alone does not tell whose mistake
// it is.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {

// The same result; where permission was denied, with the operator's name before it.
template <typename T>
absl::StatusOr<T> NamedIfDenied(absl::StatusOr<T> result, const ir::Pipeline& node) {
  if (!absl::IsPermissionDenied(result.status())) return result;
  return base::Annotate(result.status(), node.name());
}

}  // namespace millrace::exec
