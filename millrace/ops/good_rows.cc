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

absl::Status EmitGoodRows(const core::Block& rows, MakeRows make, BadRows& bad_rows,
                          Emitter& out) {
  const auto emit = [&](const core::Block&, core::Block made) {
    return made.rows() > 0 ? out.Emit(std::move(made)) : absl::OkStatus();
  };
  return UseGoodRows<core::Block>(rows, make, emit, bad_rows);
}

}  // namespace millrace::ops
