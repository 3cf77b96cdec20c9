// How row-wise operators go on without a row that is wrong. A block that fails is done
// again in halves, down to single rows: so exactly the failing rows are told apart, in
// their order, and each only after what the rows before it give has gone on. Costs
// nothing where no row fails; about 2 log(rows) further calls for one that does.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/kernels/row_error.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {

// The only row of a block, which is wrong, with the identities that it has or, being a
// batch, holds.
BadRow BadRowOf(const core::Block& row, const absl::Status& why);

// What an operator makes of rows, each for itself.
using MakeRows = absl::FunctionRef<absl::StatusOr<core::Block>(const core::Block&)>;

// Passes on what `make` gives for the rows, and asks what is to become of those it
// fails on. Errors that are no row's, such as of memory, are returned as they are.
absl::Status EmitGoodRows(const core::Block& rows, MakeRows make, BadRows& bad_rows,
                          Emitter& out);

// The same in two parts, for operators that keep something: `use` is given the rows for
// which `make` did not fail, and what it made. Only errors of `make` are a row's.
template <typename Made>
absl::Status UseGoodRows(
    const core::Block& rows,
    absl::FunctionRef<absl::StatusOr<Made>(const core::Block&)> make,
    absl::FunctionRef<absl::Status(const core::Block&, Made)> use, BadRows& bad_rows) {
  absl::StatusOr<Made> made = make(rows);
  if (made.ok()) return use(rows, *std::move(made));
  if (!kernels::IsOfRow(made.status())) return made.status();
  if (rows.rows() == 1) return bad_rows.LeaveOut(BadRowOf(rows, made.status()));
  const int64_t half = rows.rows() / 2;
  TRY(UseGoodRows(rows.Slice(0, half), make, use, bad_rows));
  return UseGoodRows(rows.Slice(half, rows.rows() - half), make, use, bad_rows);
}

}  // namespace millrace::ops
