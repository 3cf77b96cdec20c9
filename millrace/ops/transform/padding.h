// Padding: rows of differing shape made equal, so that they can be stacked. Each axis
// is filled up at its end, to the largest of the rows; texts are not padded. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"

namespace millrace::ops {

struct PadRule {
  double value = 0;                            // What to fill up with.
  std::optional<int64_t> to_multiple_of = {};  // Sizes are rounded up to one of this.
  std::optional<int64_t> leading_at_least =
      {};  // The first axis is at least this long.
};

// Tells whether a type can hold a number as it is.
bool CanHold(core::DType dtype, double value);

// Gives values of a shape that are all this number. Requires: the type can hold it.
absl::StatusOr<core::Buffer> Filled(core::DType dtype, const core::Shape& shape,
                                    double value, core::Pool& pool);

// Checks that every field that may need it can hold the value.
absl::Status CheckPadValue(double value, const core::Spec& rows);

// Pads rows of a spec; what the spec knows of sizes stays as it is.
absl::StatusOr<core::Block> Padded(const core::Block& rows, const PadRule& rule,
                                   const core::Spec& spec, core::Pool& pool);

}  // namespace millrace::ops
