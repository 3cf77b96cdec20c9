#include "millrace/kernels/split_rows.h"

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"

namespace millrace::kernels {

absl::StatusOr<ir::ValueType> InferParts(const ir::KernelTypes& types) {
  const ir::ValueType type = TRY(MeetTexts(types.operands));
  if (type.shape.ranked() && !type.shape.is_scalar()) {
    return Needs("one text per row", types.operands);
  }
  return ir::ValueType{.dtype = type.dtype, .shape = {core::kUnknownSize}};
}

absl::StatusOr<core::Level> ReadRowTexts(const ir::KernelCall& call, ReadRowText read) {
  core::Buffer offsets = TRY(call.pool.AllocateFor<int64_t>(call.rows + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::StatusOr<core::Tensor> text = RowOf(call.operands[0], row);
    if (!text.ok()) return RowErrorOf(row, text.status());
    if (!text->shape().is_scalar()) {
      return RowError(row, base::StrCat("needs one text, not a value of shape ",
                                        text->shape().ToString()));
    }
    const absl::StatusOr<int64_t> count = read(text->TextAt(0));
    if (!count.ok()) return RowErrorOf(row, count.status());
    ends[row + 1] = ends[row] + *count;
  }
  return core::Level::Variable(std::move(offsets));
}

absl::StatusOr<core::Column> SplitRows(const ir::KernelCall& call, SplitText split) {
  ValueWriter out = TRY(ValueWriter::Open(call.type.dtype, call.rows, call.pool));
  std::vector<std::string_view> parts;
  core::Level level = TRY(ReadRowTexts(call, [&](std::string_view text) {
    parts.clear();
    split(text, parts);
    for (const std::string_view part : parts) out.AddText(part);
    return std::ssize(parts);
  }));
  return std::move(out).ToColumn(call.rows, {std::move(level)});
}

}  // namespace millrace::kernels
