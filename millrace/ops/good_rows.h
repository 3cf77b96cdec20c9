// How row-wise operators go on without a row that is wrong. A block that fails is done
// again in halves, down to single rows: so exactly the failing rows are told apart, in
// their order, and each only after what the rows before it give has gone on. Costs
// nothing where no row fails; about 2 log(rows) further calls for one that does.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

// What an operator makes of rows, each for itself.
using MakeRows = absl::FunctionRef<absl::StatusOr<core::Block>(const core::Block&)>;

// Passes on what `make` gives for the rows, and asks what is to become of those it
// fails on. Errors that are no row's, such as of memory, are returned as they are.
absl::Status EmitGoodRows(const core::Block& rows, MakeRows make, BadRows& bad_rows,
                          Emitter& out);

}  // namespace millrace::ops
