// where: chooses between two values, value by value. Both are computed; what fails in
// one that is not chosen fails all the same.

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/copy_values.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::DType;
using ir::KernelSchema;
using ir::ValueType;

absl::StatusOr<ValueType> InferWhere(const ir::KernelTypes& types) {
  const ValueType& condition = types.operands[0];
  if (condition.dtype != DType::kBool) {
    return Needs("a bool as condition", {&condition, 1}, "compare first, as in x != 0");
  }
  ValueType met = TRY(Meet(types.operands[1], types.operands[2]));
  met.shape = TRY(MeetShapes(types.operands));
  return met;
}

template <typename Bits>
void ChooseFixed(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  const bool* const condition = operands[0].As<bool>();
  const Bits* const a = operands[1].As<Bits>();
  const Bits* const b = operands[2].As<Bits>();
  Bits* const result = out.Take<Bits>(count);
  for (int64_t i = 0; i < count; ++i) {
    result[i] = condition[i * operands[0].step] ? a[i * operands[1].step]
                                                : b[i * operands[2].step];
  }
}

int64_t Choose(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  if (operands[1].offsets == nullptr) {
    VisitSize(operands[1].value_bytes,
              [&]<typename Bits>() { ChooseFixed<Bits>(operands, count, out); });
    return count;
  }
  const bool* const condition = operands[0].As<bool>();
  for (int64_t i = 0; i < count; ++i) {
    out.AddText(operands[condition[i * operands[0].step] ? 1 : 2].TextAt(i));
  }
  return count;
}

absl::StatusOr<core::Column> RunWhere(const ir::KernelCall& call) {
  return Elementwise(call, std::array{DType::kBool, call.type.dtype, call.type.dtype},
                     Choose);
}

}  // namespace

KernelSchema WhereKernel() {
  return {.name = "where",
          .doc = "Takes a where the condition is true, b where it is false.",
          .operands = {{"condition", "Bools, broadcast against a and b."},
                       {"a", "Values of any type."},
                       {"b", "Values that go with those of a."}},
          .promotes = true,
          .elementwise = true,
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferWhere,
          .run = RunWhere};
}

}  // namespace millrace::kernels
