// What happens with a row that is wrong: corrupt bytes, a missing field, a division by
// zero. By default the error ends the pass; before an `ignore_errors` the row is left
// out and counted. Operators and readers that can go on without the row ask:
//
//   if (!checksum_fits) TRY(bad_rows.LeaveOut({.why = DataLossError(...)}));
//
// Only for what is wrong with the row (DataLoss), never for what is wrong with the
// world: a disk that fails is nobody's row. They ask in the order of the rows, and only
// once all rows before the bad one have been given: so what is counted, and which error
// comes first, does not depend on how rows are cut into blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"

#include "millrace/core/block.h"

namespace millrace::ops {

struct BadRow {
  absl::Status why;
  std::optional<core::RowId> id = {};  // Of the row; of a batch, of its first row.
  int64_t rows = 1;                    // That it holds, being a batch.
};

// Asked by one thread at a time: whoever runs a reader or an operator gives it one.
class BadRows {
 public:
  virtual ~BadRows() = default;

  // Returns OK when the row is to be left out, else the error to stop with.
  virtual absl::Status LeaveOut(const BadRow& row) = 0;
};

// Leaves nothing out: every error is the pass's.
BadRows& NoBadRows();

}  // namespace millrace::ops
