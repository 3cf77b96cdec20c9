// Rows in memory as a pipeline carries them: by field, the values of all rows one after
// another and the shape of each row, as attachments. Rows as people have them are
// packed by PackRows; `from_rows` reads them again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"

namespace millrace::ops {

// A row by field. All rows have the same fields, of the same types and numbers of axes.
using GivenRow = std::vector<std::pair<std::string, core::Tensor>>;

struct PackedRows {
  std::vector<std::string> names;
  std::vector<ir::Attachment> values;  // By field: [values of all rows].
  std::vector<ir::Attachment> shapes;  // By field: int64[rows, axes].
};

// Packs rows. An error names the row and the field that does not fit the first row.
absl::StatusOr<PackedRows> PackRows(absl::Span<const GivenRow> rows);

// The shape of every row of a field. An error when it is no such list.
absl::StatusOr<std::vector<core::Shape>> ReadShapes(const ir::Attachment& shapes);

// The rows of a field. An error when values and shapes do not fit together.
absl::StatusOr<core::Column> ReadColumn(const ir::Attachment& values,
                                        absl::Span<const core::Shape> shapes);

}  // namespace millrace::ops
