// What happens with a row that is wrong: corrupt bytes, a missing field, a division by
// zero. By default the error ends the pass; behind an `ignore_errors` the row is left
// out and counted. Operators and readers that can go on without the row ask:
//
//   if (!checksum_fits) TRY(context.bad_rows.LeaveOut(DataLossError(...)));
//
// Only for what is wrong with the row (DataLoss), never for what is wrong with the
// world: a disk that fails is nobody's row.
#pragma once

#include "absl/status/status.h"

namespace millrace::ops {

// Safe to ask from any thread.
class BadRows {
 public:
  virtual ~BadRows() = default;

  // Returns OK when the row is to be left out, else the error to stop with.
  virtual absl::Status LeaveOut(const absl::Status& why) = 0;
};

// Leaves nothing out: every error is the pass's.
BadRows& NoBadRows();

}  // namespace millrace::ops
