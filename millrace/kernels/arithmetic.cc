// Arithmetic, value by value, by NumPy's rules. Integers wrap around. Division of
// integers by zero is an error of the row; floats follow IEEE 754.

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
#include "millrace/kernels/divisor.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/loops.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using ir::Fails;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

template <typename T>
auto Wrap(T value) {
  if constexpr (sizeof(T) < sizeof(uint32_t)) {
    return static_cast<uint32_t>(value);
  } else {
    return static_cast<std::make_unsigned_t<T>>(value);
  }
}

struct Sum {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Wrap(a) + Wrap(b));
    } else {
      return a + b;
    }
  }
};

struct Difference {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Wrap(a) - Wrap(b));
    } else {
      return a - b;
    }
  }
};

struct Product {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(Wrap(a) * Wrap(b));
    } else {
      return a * b;
    }
  }
};

// NaN wins, as in NumPy; of two that are equal, the first.
struct Lesser {
  template <typename T>
  T operator()(T a, T b) const {
    return a <= b || IsNan(a) ? a : b;
  }
};

struct Larger {
  template <typename T>
  T operator()(T a, T b) const {
    return a >= b || IsNan(a) ? a : b;
  }
};

struct Quotient {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

// The remainder with the divisor's sign. Requires of integers: b is not 0.
struct Remainder {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(a % b);
    } else if constexpr (std::is_integral_v<T>) {
      if (b == -1) return 0;  // Where a % b would overflow.
      const auto rest = static_cast<T>(a % b);
      return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
    } else {
      const T rest = std::fmod(a, b);
      if (rest == 0) return std::copysign(rest, b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
  }

  static int64_t By(const Divisor& divisor, int64_t a) { return divisor.Remainder(a); }
};

// The quotient rounded down. Requires of integers: b is not 0.
struct FloorQuotient {
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(a / b);
    } else if constexpr (std::is_integral_v<T>) {
      if (b == -1) return Difference()(T{0}, a);  // Wraps where a / b would overflow.
      const auto quotient = static_cast<T>(a / b);
      return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    } else {
      return OfFloats(a, b);
    }
  }

  static int64_t By(const Divisor& divisor, int64_t a) { return divisor.Quotient(a); }

 private:
  // Like NumPy and Python: consistent with the remainder, so that a is about
  // floor_divide(a, b) * b + modulo(a, b) even where a / b rounds up to a whole number.
  template <typename T>
  static T OfFloats(T a, T b) {
    if (b == 0) return a / b;
    const T rest = std::fmod(a, b);
    T quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T{0}, a / b);
    const T floor = std::floor(quotient);
    return quotient - floor > T{0.5} ? floor + 1 : floor;
  }
};

struct Opposite {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(0U - Wrap(a));
    } else {
      return -a;
    }
  }
};

struct Magnitude {
  template <typename T>
  T operator()(T a) const {
    if constexpr (std::is_unsigned_v<T>) {
      return a;
    } else if constexpr (std::is_integral_v<T>) {
      return a < 0 ? Opposite()(a) : a;
    } else {
      return std::abs(a);
    }
  }
};

struct SquareRoot {
  template <typename T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};

// Calls `visit.template operator()<T>()` with the C++ type of a numeric type.
template <typename Visit>
absl::StatusOr<Column> VisitNumeric(DType dtype, Visit&& visit) {
  CHECK(core::IsNumeric(dtype)) << dtype;
  return core::VisitDType(dtype, [&]<typename T>() {
    using Number = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    return visit.template operator()<Number>();  // Never for bool: it is no number.
  });
}

template <typename Function>
absl::StatusOr<Column> RunUnary(const KernelCall& call) {
  return VisitNumeric(call.type.dtype, [&]<typename T>() {
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      return UnaryLoop<T, T>(operands, count, out, Function());
    };
    return Elementwise(call, std::array{call.type.dtype}, loop);
  });
}

template <typename Function>
absl::StatusOr<Column> RunBinary(const KernelCall& call) {
  return VisitNumeric(call.type.dtype, [&]<typename T>() {
    const auto loop = [](absl::Span<const Values> operands, int64_t count,
                         ValueWriter& out) {
      return BinaryLoop<T, T, T>(operands, count, out, Function());
    };
    return Elementwise(call, std::array{call.type.dtype, call.type.dtype}, loop);
  });
}

// Integers that a Divisor takes.
template <typename T>
inline constexpr bool kDividesFast =
    std::is_integral_v<T> && (std::is_signed_v<T> || sizeof(T) < sizeof(int64_t));

// result[i] = function(a[i], by) for one divisor.
template <typename T, typename Function>
int64_t DivideAll(const Values& values, const Divisor& by, int64_t count,
                  ValueWriter& out) {
  const T* const a = values.As<T>();
  T* const result = out.Take<T>(count);
  for (int64_t i = 0; i < count; ++i) {
    result[i] = static_cast<T>(Function::By(by, a[i * values.step]));
  }
  return count;
}

// Stops where the divisor is 0.
template <typename T, typename Function>
int64_t DivisionLoop(absl::Span<const Values> operands, int64_t count,
                     ValueWriter& out) {
  if constexpr (kDividesFast<T>) {
    const T divisor = *operands[1].As<T>();
    if (operands[1].step == 0 && divisor > 1) {
      return DivideAll<T, Function>(operands[0], Divisor(divisor), count, out);
    }
  }
  const auto allowed = [](T, T divisor) { return divisor != 0; };
  return CheckedBinaryLoop<T>(operands, count, out, allowed, Function());
}

// Of integers, an error where the divisor is 0.
template <typename Function>
absl::StatusOr<Column> RunDivision(const KernelCall& call) {
  if (!core::IsInteger(call.type.dtype)) return RunBinary<Function>(call);
  return VisitNumeric(call.type.dtype, [&]<typename T>() -> absl::StatusOr<Column> {
    if constexpr (!std::is_integral_v<T>) {
      return RunBinary<Function>(call);
    } else {
      const auto loop = [](absl::Span<const Values> operands, int64_t count,
                           ValueWriter& out) {
        return DivisionLoop<T, Function>(operands, count, out);
      };
      return Elementwise(call, std::array{call.type.dtype, call.type.dtype}, loop,
                         "division by zero");
    }
  });
}

absl::StatusOr<ValueType> InferNumbers(const KernelTypes& types) {
  return MeetNumbers(types.operands);
}

// As numbers, but integers become float64.
absl::StatusOr<ValueType> InferFloats(const KernelTypes& types) {
  ValueType met = TRY(MeetNumbers(types.operands));
  if (core::IsInteger(met.dtype)) met.dtype = DType::kFloat64;
  return met;
}

using Run = decltype(KernelSchema::run);

KernelSchema Binary(std::string name, std::string doc, Run run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"a", "Numbers."}, {"b", "Numbers, broadcast against a."}},
          .promotes = true,
          .elementwise = true,
          .fails = Fails::kOnUnknownShapes,
          .infer = InferNumbers,
          .run = std::move(run)};
}

KernelSchema Division(std::string name, std::string doc, Run run) {
  KernelSchema schema = Binary(std::move(name), std::move(doc), std::move(run));
  schema.operands = {{"a", "The dividend."}, {"b", "The divisor."}};
  return schema;
}

KernelSchema Unary(std::string name, std::string doc, Run run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", "Numbers of any shape."}},
          .elementwise = true,
          .infer = InferNumbers,
          .run = std::move(run)};
}

}  // namespace

KernelSchema AddKernel() {
  return Binary("add", "Adds numbers; integers wrap around.", RunBinary<Sum>);
}

KernelSchema SubtractKernel() {
  return Binary("subtract", "Subtracts b from a; integers wrap around.",
                RunBinary<Difference>);
}

KernelSchema MultiplyKernel() {
  return Binary("multiply", "Multiplies numbers; integers wrap around.",
                RunBinary<Product>);
}

KernelSchema DivideKernel() {
  KernelSchema schema =
      Division("divide",
               "Divides a by b; integers give float64, and division by "
               "zero an infinity or NaN.",
               RunBinary<Quotient>);
  schema.infer = InferFloats;
  return schema;
}

KernelSchema FloorDivideKernel() {
  KernelSchema schema =
      Division("floor_divide",
               "Divides a by b and rounds down; dividing an integer by "
               "zero is an error of the row.",
               RunDivision<FloorQuotient>);
  schema.fails = Fails::kOnZero;
  return schema;
}

KernelSchema ModuloKernel() {
  KernelSchema schema =
      Division("modulo",
               "Gives the rest of floor_divide, which has the sign of "
               "b; an integer modulo zero is an error of the row.",
               RunDivision<Remainder>);
  schema.fails = Fails::kOnZero;
  return schema;
}

KernelSchema NegateKernel() {
  return Unary("negate", "Changes the sign; integers wrap around.", RunUnary<Opposite>);
}

KernelSchema AbsoluteKernel() {
  return Unary("absolute",
               "Gives the distance from 0; the least signed integer stays itself.",
               RunUnary<Magnitude>);
}

KernelSchema MinimumKernel() {
  return Binary("minimum", "Gives the lesser of two numbers; NaN where one of them is.",
                RunBinary<Lesser>);
}

KernelSchema MaximumKernel() {
  return Binary("maximum", "Gives the larger of two numbers; NaN where one of them is.",
                RunBinary<Larger>);
}

KernelSchema SqrtKernel() {
  KernelSchema schema = Unary(
      "sqrt", "Gives the square root; integers give float64, negative numbers NaN.",
      RunUnary<SquareRoot>);
  schema.infer = InferFloats;
  return schema;
}

}  // namespace millrace::kernels
