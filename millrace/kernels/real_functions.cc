// Functions of real numbers, value by value: exp, log, log1p, power, sigmoid and tanh.
// All are computed in double by portable_math.h, with the same bits on every machine,
// and rounded once to the type of the result.

#include <array>
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
#include "millrace/kernels/convert.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/portable_math.h"
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

absl::StatusOr<ValueType> InferFloats(const KernelTypes& types) {
  ValueType met = TRY(MeetNumbers(types.operands));
  if (core::IsInteger(met.dtype)) met.dtype = DType::kFloat64;
  return met;
}

// Calls `visit.template operator()<T>()` with the C++ type of a type of floats.
template <typename Visit>
absl::StatusOr<Column> VisitFloats(DType dtype, Visit&& visit) {
  CHECK(core::IsFloat(dtype)) << dtype;
  return core::VisitDType(dtype, [&]<typename T>() {
    using Float = std::conditional_t<std::is_integral_v<T>, double, T>;
    return visit.template operator()<Float>();  // Never for integers.
  });
}

template <double (*kFunction)(double)>
absl::StatusOr<Column> RunFunction(const KernelCall& call) {
  const DType dtype = call.type.dtype;
  return VisitFloats(dtype, [&]<typename T>() {
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      const T* const x = operands[0].As<T>();
      T* const result = out.Take<T>(count);
      for (int64_t i = 0; i < count; ++i) {
        const auto value = ConvertValue<double>(x[i * operands[0].step]);
        result[i] = ConvertValue<T>(kFunction(value));
      }
      return count;
    };
    return Elementwise(call, std::array{dtype}, loop);
  });
}

KernelSchema Function(std::string name, std::string doc,
                      decltype(KernelSchema::run) run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", "Numbers of any shape; integers give float64."}},
          .elementwise = true,
          .infer = InferFloats,
          .run = std::move(run)};
}

// --- power ---

// Multiplies, wrapping around. Requires: exponent >= 0.
template <typename T>
T WholePower(T number, T exponent) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  uint64_t result = 1;
  auto factor = static_cast<uint64_t>(Wide{number});
  for (auto left = static_cast<uint64_t>(Wide{exponent}); left > 0; left >>= 1U) {
    if ((left & 1U) != 0) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

template <typename T>
int64_t PowerLoop(absl::Span<const Values> operands, int64_t count, ValueWriter& out) {
  const T* const a = operands[0].As<T>();
  const T* const b = operands[1].As<T>();
  T* const result = out.Take<T>(count);
  for (int64_t i = 0; i < count; ++i) {
    const T number = a[i * operands[0].step];
    const T exponent = b[i * operands[1].step];
    if constexpr (std::is_integral_v<T>) {
      if (exponent < 0) return i;
      result[i] = WholePower(number, exponent);
    } else {
      result[i] = ConvertValue<T>(
          Power(ConvertValue<double>(number), ConvertValue<double>(exponent)));
    }
  }
  return count;
}

absl::StatusOr<ValueType> InferPower(const KernelTypes& types) {
  return MeetNumbers(types.operands);
}

absl::StatusOr<Column> RunPower(const KernelCall& call) {
  const DType dtype = call.type.dtype;
  CHECK(core::IsNumeric(dtype)) << dtype;
  return core::VisitDType(dtype, [&]<typename T>() {
    using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      return PowerLoop<Number>(operands, count, out);
    };
    return Elementwise(call, std::array{dtype, dtype}, loop,
                       "an integer to a negative power is no integer");
  });
}

}  // namespace

KernelSchema ExpKernel() {
  return Function("exp", "Gives e to the power x.", RunFunction<Exp>);
}

KernelSchema LogKernel() {
  return Function("log",
                  "Gives the natural logarithm: of 0 minus infinity, of less NaN.",
                  RunFunction<Log>);
}

KernelSchema Log1pKernel() {
  return Function("log1p", "Gives the natural logarithm of 1 + x, also for small x.",
                  RunFunction<LogOfOnePlus>);
}

KernelSchema SigmoidKernel() {
  return Function("sigmoid", "Gives 1 / (1 + e^-x).", RunFunction<Sigmoid>);
}

KernelSchema TanhKernel() {
  return Function("tanh", "Gives the hyperbolic tangent.", RunFunction<Tanh>);
}

KernelSchema PowerKernel() {
  return {.name = "power",
          .doc =
              "Raises a to the power b. Integers wrap around, and a negative power "
              "of one is an error of the row; floats follow C's pow.",
          .operands = {{"a", "Numbers."}, {"b", "The powers, broadcast against a."}},
          .promotes = true,
          .elementwise = true,
          .fails = ir::Fails::kOnData,
          .infer = InferPower,
          .run = RunPower};
}

}  // namespace millrace::kernels
