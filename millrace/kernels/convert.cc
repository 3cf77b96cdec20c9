#include "millrace/kernels/convert.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/ir/kernel.h"
#include "millrace/kernels/broadcast.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;

template <typename To, typename From>
int64_t ConvertLoop(absl::Span<const Values> operands, int64_t count,
                    ValueWriter& out) {
  const From* const from = operands[0].As<From>();
  To* const to = out.Take<To>(count);
  // One operand alone always lies side by side, or is one value.
  CHECK(count == 1 || operands[0].step == 1);
  for (int64_t i = 0; i < count; ++i) to[i] = ConvertValue<To>(from[i]);
  return count;
}

}  // namespace

float RoundToOdd(double value) {
  const auto nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(value)) --bits;
  return std::bit_cast<float>(bits | 1U);
}

double KeepHighBits(uint64_t magnitude) {
  const int cut = 32 - std::countl_zero(magnitude);
  if (cut <= 0) return static_cast<double>(magnitude);
  const uint64_t high = magnitude >> cut;
  const bool lost = (high << cut) != magnitude;
  return std::ldexp(static_cast<double>(lost ? high | 1U : high), cut);
}

absl::StatusOr<Column> Convert(const Column& column, DType dtype, core::Pool& pool,
                               const core::Buffer* into) {
  CHECK(!core::IsVariable(dtype));
  CHECK(!core::IsVariable(column.dtype()));
  if (column.dtype() == dtype) return column;
  const ir::Operand operand = {.column = column};
  return core::VisitDType(dtype, [&]<typename To>() {
    return core::VisitDType(column.dtype(), [&]<typename From>() {
      return Broadcast(column.rows(), {&operand, 1},
                       {.dtype = dtype, .loop = ConvertLoop<To, From>, .into = into},
                       pool);
    });
  });
}

}  // namespace millrace::kernels
