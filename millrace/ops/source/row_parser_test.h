// For tests: gives texts to a parser of rows, and shows what it makes of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/column.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {

struct ParsedTexts {
  std::vector<std::string> fields;  // Each with all its rows: "int64 1; int64 2".
  std::vector<std::string> wrong;   // What is wrong with the rows that are left out.
};

inline std::string ShownRows(const core::Column& column) {
  std::string shown;
  for (int64_t row = 0; row < column.rows(); ++row) {
    const absl::StatusOr<core::Tensor> value = column.Row(row);
    shown += row == 0 ? "" : "; ";
    shown += value.ok() ? value->ToString() : "(not rectangular)";
  }
  return shown;
}

inline ParsedTexts ParseTexts(RowParser& parser,
                              const std::vector<std::string>& texts) {
  ParsedTexts parsed;
  for (const std::string& text : texts) {
    const absl::Status added = parser.Add({.text = text});
    CHECK(added.ok() || absl::IsDataLoss(added)) << added;
    if (!added.ok()) parsed.wrong.emplace_back(added.message());
  }
  const absl::StatusOr<std::vector<core::Column>> columns = parser.Take();
  CHECK(columns.ok()) << columns.status();
  for (const core::Column& column : *columns)
    parsed.fields.push_back(ShownRows(column));
  return parsed;
}

}  // namespace millrace::ops
