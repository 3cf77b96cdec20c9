// Blocks as Arrow's C structs, for files that the module writes. Nothing is copied but
// bools, which Arrow has eight in a byte, and what is laid out otherwise than the spec
// says: a size that a spec knows is a list of that size, one that it does not know a
// list with offsets.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/arrow/c_data.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"

namespace millrace::arrow {

// Tells why Arrow cannot hold rows of a spec, and what to do then.
absl::Status CheckHolds(const core::Spec& spec);

// Both give a struct whose children are the fields. Whoever takes it releases it.
// Requires: Arrow can hold such rows.
ArrowSchema ExportSchema(const core::Spec& spec);
absl::StatusOr<ArrowArray> ExportRows(const core::Spec& spec, const core::Block& rows,
                                      core::Pool& pool);

}  // namespace millrace::arrow
