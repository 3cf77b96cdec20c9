#include "millrace/ops/good_rows.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/row_error.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/operator.h"

namespace millrace::ops {
namespace {

// The only row of a block, with the identities that it has or, being a batch, holds.
BadRow BadRowOf(const core::Block& row, const absl::Status& why) {
  BadRow bad = {.why = kernels::OfOnlyRow(why)};
  if (!row.has_ids()) return bad;
  const absl::StatusOr<core::Tensor> ids = row.ids()->Row(0);
  if (!ids.ok() || ids->count() == 0) return bad;
  const absl::Span<const uint64_t> words = ids->As<uint64_t>();
  bad.id = core::RowId{words[0], words[1]};
  bad.rows = ids->count() / 2;
  return bad;
}

}  // namespace

absl::Status EmitGoodRows(const core::Block& rows, MakeRows make, BadRows& bad_rows,
                          Emitter& out) {
  absl::StatusOr<core::Block> made = make(rows);
  if (made.ok()) {
    return made->rows() > 0 ? out.Emit(*std::move(made)) : absl::OkStatus();
  }
  if (!kernels::IsOfRow(made.status())) return made.status();
  if (rows.rows() == 1) {
    return bad_rows.LeaveOut(BadRowOf(rows, made.status()));
  }
  const int64_t half = rows.rows() / 2;
  TRY(EmitGoodRows(rows.Slice(0, half), make, bad_rows, out));
  return EmitGoodRows(rows.Slice(half, rows.rows() - half), make, bad_rows, out);
}

}  // namespace millrace::ops
