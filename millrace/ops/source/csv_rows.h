// Rows of CSV: their cells become the fields of a block. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/csv_cells.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"

namespace millrace::ops {

struct CsvPlan {
  std::vector<std::string> columns;  // Of a row, in order.
  core::Spec fields;                 // The columns that are read.
  CsvSyntax syntax = {};
  Missing missing = Missing::kError;
};

// Checks that rows can have such fields: each is a column, and has no shape.
absl::Status CheckCsvFields(const CsvPlan& plan);

// The names of the columns, by a file's header. Those without get one.
absl::StatusOr<std::vector<std::string>> ReadCsvHeader(std::string_view header,
                                                       const CsvSyntax& syntax);

// Makes a parser for about so many rows. A cell that is empty, not quoted and of no
// text is missing. Requires: CheckCsvFields.
std::unique_ptr<RowParser> MakeCsvRows(const CsvPlan& plan, int64_t rows,
                                       core::Pool& pool);

// Tells by some rows what types the columns have: int64, float64, bool or string, the
// first that fits all. Rows with another number of cells are passed over.
core::Spec TellCsvFields(const std::vector<std::string>& rows, const CsvPlan& plan);

}  // namespace millrace::ops
