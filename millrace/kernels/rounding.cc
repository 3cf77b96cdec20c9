// floor, ceil, round and clip, is_nan and is_finite: where a number lies, value by
// value.

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/loops.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

struct Down {
  template <typename T>
  T operator()(T x) const {
    return std::floor(x);
  }
};

struct Up {
  template <typename T>
  T operator()(T x) const {
    return std::ceil(x);
  }
};

// The nearest whole number, of two the even one.
struct Nearest {
  template <typename T>
  T operator()(T x) const {
    return std::nearbyint(x);
  }
};

struct Nan {
  template <typename T>
  bool operator()(T x) const {
    return IsNan(x);
  }
};

struct Finite {
  template <typename T>
  bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>) return std::isfinite(x);
    return true;
  }
};

absl::StatusOr<ValueType> InferNumbers(const KernelTypes& types) {
  return MeetNumbers(types.operands);
}

template <typename Function>
absl::StatusOr<Column> RunRounding(const KernelCall& call) {
  const DType dtype = call.type.dtype;
  if (core::IsInteger(dtype)) return call.operands[0].column;
  return core::VisitDType(dtype, [&]<typename T>() -> absl::StatusOr<Column> {
    if constexpr (!std::is_integral_v<T>) {
      const auto loop = [](absl::Span<const Values> operands, int64_t count,
                           ValueWriter& out) {
        return UnaryLoop<T, T>(operands, count, out, Function());
      };
      return Elementwise(call, std::array{dtype}, loop);
    }
    CHECK(false) << dtype;
  });
}

absl::StatusOr<ValueType> InferTest(const KernelTypes& types) {
  ValueType type = TRY(MeetNumbers(types.operands));
  return ValueType{.dtype = DType::kBool, .shape = type.shape};
}

template <typename Function>
absl::StatusOr<Column> RunTest(const KernelCall& call) {
  const DType dtype = call.operands[0].column.dtype();
  return core::VisitDType(dtype, [&]<typename T>() {
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      return UnaryLoop<T, bool>(operands, count, out, Function());
    };
    return Elementwise(call, std::array{dtype}, loop);
  });
}

// --- clip ---

template <typename T>
int64_t ClipLoop(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  using C = Computed<T>;
  T* const result = out.Take<T>(count);
  const auto at = [&](int operand, int64_t i) {
    const Values& values = operands[operand];
    return static_cast<C>(values.As<T>()[i * values.step]);
  };
  for (int64_t i = 0; i < count; ++i) {
    const C x = at(0, i);
    const C low = at(1, i);
    const C high = at(2, i);
    const C raised = x >= low || IsNan(x) ? x : low;
    result[i] = static_cast<T>(raised <= high || IsNan(raised) ? raised : high);
  }
  return count;
}

absl::StatusOr<Column> RunClip(const KernelCall& call) {
  const DType dtype = call.type.dtype;
  CHECK(core::IsNumeric(dtype)) << dtype;
  return core::VisitDType(dtype, [&]<typename T>() {
    using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      return ClipLoop<Number>(operands, count, out);
    };
    return Elementwise(call, std::array{dtype, dtype, dtype}, loop);
  });
}

KernelSchema Schema(std::string name, std::string doc,
                    decltype(KernelSchema::infer) infer,
                    decltype(KernelSchema::run) run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", "Numbers of any shape."}},
          .elementwise = true,
          .infer = std::move(infer),
          .run = std::move(run)};
}

}  // namespace

KernelSchema FloorKernel() {
  return Schema("floor", "Rounds down to a whole number, of the same type.",
                InferNumbers, RunRounding<Down>);
}

KernelSchema CeilKernel() {
  return Schema("ceil", "Rounds up to a whole number, of the same type.", InferNumbers,
                RunRounding<Up>);
}

KernelSchema RoundKernel() {
  return Schema("round",
                "Rounds to the nearest whole number, of the same type; of two the "
                "even one.",
                InferNumbers, RunRounding<Nearest>);
}

KernelSchema IsNanKernel() {
  return Schema("is_nan", "Tells whether numbers are NaN.", InferTest, RunTest<Nan>);
}

KernelSchema IsFiniteKernel() {
  return Schema("is_finite", "Tells whether numbers are neither infinite nor NaN.",
                InferTest, RunTest<Finite>);
}

KernelSchema ClipKernel() {
  return {.name = "clip",
          .doc = "Raises numbers to low, then lowers them to high; NaN stays.",
          .operands = {{"x", "Numbers."},
                       {"low", "The least, broadcast against x."},
                       {"high", "The most, broadcast against x."}},
          .promotes = true,
          .elementwise = true,
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferNumbers,
          .run = RunClip};
}

}  // namespace millrace::kernels
