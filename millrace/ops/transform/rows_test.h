// For tests of operators: a block of rows with lists of differing length, and what came
// out as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"

#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/packed_rows.h"

namespace millrace::ops {

using Lists = std::vector<std::vector<int64_t>>;

// A block with the field `x`, a list in each row, and identities.
inline core::Block ListBlock(const Lists& lists, int64_t first_id = 0) {
  core::Tensors rows;
  std::vector<core::RowId> ids;
  for (const std::vector<int64_t>& list : lists) {
    rows.push_back(
        core::Tensor::FromValues<int64_t>(list, {static_cast<int64_t>(list.size())}));
    ids.push_back(SourceRowId(0, 0, first_id++));
  }
  core::Column column =
      *core::FromRows(core::DType::kInt64, std::move(rows), core::HeapPool());
  return core::Block(static_cast<int64_t>(lists.size()), core::FieldNames{"x"},
                     {std::move(column)})
      .WithIds(*core::IdColumn(ids, core::HeapPool()));
}

// What stands behind a source of such rows: "pack(%0, size=4)".
inline absl::StatusOr<ir::Pipeline> BehindLists(const std::string& text) {
  static const auto& packed = *new PackedRows(
      *PackRows({{{"x", core::Tensor::FromValues<int64_t>({1}, {1})}},
                 {{"x", core::Tensor::FromValues<int64_t>({1, 2}, {2})}}}));
  ir::Attachments attachments;
  attachments.Add(packed.values[0]);
  attachments.Add(packed.shapes[0]);
  return ir::Parse(
      base::StrCat("%0 = from_rows(names=[\"x\"], values=[@",
                   base::ToHex(packed.values[0].hash()), "], shapes=[@",
                   base::ToHex(packed.shapes[0].hash()), "])\n%1 = ", text),
      attachments, DefaultLibrary().catalog());
}

// A field of all rows of all blocks, as text: "int64[2] [1, 2]; int64[1] [3]".
inline std::string ShownRows(const std::vector<core::Block>& blocks,
                             const std::string& field = "x") {
  std::vector<std::string> texts;
  for (const core::Block& block : blocks) {
    for (int64_t row = 0; row < block.rows(); ++row) {
      const core::Column& column = *block.Find(field);
      const absl::StatusOr<core::Tensor> value = column.Row(row);
      if (value.ok()) {
        texts.push_back(value->ToString());
        continue;
      }
      const core::Column items = column.Slice(row, 1).Unstack();
      std::vector<std::string> parts;
      parts.reserve(items.rows());
      for (int64_t i = 0; i < items.rows(); ++i) {
        parts.push_back(items.Row(i)->ToString());
      }
      texts.push_back(base::StrCat("(", absl::StrJoin(parts, ", "), ")"));
    }
  }
  return absl::StrJoin(texts, "; ");
}

}  // namespace millrace::ops
