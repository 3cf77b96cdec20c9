// A loop that copies values as they are: what selecting and slicing are made of.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {

// Copies the values of the first operand, numbers or texts. A Loop (walk.h).
int64_t CopyValues(absl::Span<const Values> operands, int64_t count, ValueWriter& out);

// Calls `visit.template operator()<Bits>()` with an unsigned type as large as a value.
// Requires: not texts.
template <typename Visit>
decltype(auto) VisitSize(int64_t value_bytes, Visit&& visit) {
  switch (value_bytes) {
    case 1:
      return visit.template operator()<uint8_t>();
    case 2:
      return visit.template operator()<uint16_t>();
    case 4:
      return visit.template operator()<uint32_t>();
    case 8:
      return visit.template operator()<uint64_t>();
    default:
      break;
  }
  __builtin_unreachable();
}

}  // namespace millrace::kernels
