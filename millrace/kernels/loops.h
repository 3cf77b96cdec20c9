// The inner loops of kernels that compute value by value. Each is written so that the
// compiler can vectorise what matters: both operands side by side, or one of them the
// same value throughout. The 16-bit floats are computed in float and rounded; with + -
// * / and sqrt that gives the same bits as computing in them. Templates over C++ types;
// the operands and the result were brought to these types before.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "absl/types/span.h"

#include "millrace/core/float16.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {

template <typename T>
inline constexpr bool kIsHalf =
    std::is_same_v<T, core::Float16> || std::is_same_v<T, core::BFloat16>;

// What values of a type are computed in.
template <typename T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

template <typename T>
bool IsNan(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

// result[i] = function(a[i]).
template <typename A, typename R, typename Function>
int64_t UnaryLoop(absl::Span<const Values> operands, int64_t count, ValueWriter& out,
                  Function function) {
  const A* const a = operands[0].As<A>();
  R* const result = out.Take<R>(count);
  const int64_t step = operands[0].step;
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) {
      result[i] = static_cast<R>(function(static_cast<Computed<A>>(a[i])));
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      result[i] = static_cast<R>(function(static_cast<Computed<A>>(a[i * step])));
    }
  }
  return count;
}

// result[i] = function(a[i], b[i]).
template <typename A, typename B, typename R, typename Function>
int64_t BinaryLoop(absl::Span<const Values> operands, int64_t count, ValueWriter& out,
                   Function function) {
  const A* const a = operands[0].As<A>();
  const B* const b = operands[1].As<B>();
  R* const result = out.Take<R>(count);
  const auto compute = [&](A left, B right) {
    return static_cast<R>(
        function(static_cast<Computed<A>>(left), static_cast<Computed<B>>(right)));
  };
  const int64_t step_a = operands[0].step;
  const int64_t step_b = operands[1].step;
  if (step_a == 1 && step_b == 1) {
    for (int64_t i = 0; i < count; ++i) result[i] = compute(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const B same = *b;
    for (int64_t i = 0; i < count; ++i) result[i] = compute(a[i], same);
  } else if (step_a == 0 && step_b == 1) {
    const A same = *a;
    for (int64_t i = 0; i < count; ++i) result[i] = compute(same, b[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) {
      result[i] = compute(a[i * step_a], b[i * step_b]);
    }
  }
  return count;
}

// The same, but stops before the first value for which `allowed(a[i], b[i])` is false.
template <typename T, typename Allowed, typename Function>
int64_t CheckedBinaryLoop(absl::Span<const Values> operands, int64_t count,
                          ValueWriter& out, Allowed allowed, Function function) {
  const T* const a = operands[0].As<T>();
  const T* const b = operands[1].As<T>();
  T* const result = out.Take<T>(count);
  for (int64_t i = 0; i < count; ++i) {
    const T left = a[i * operands[0].step];
    const T right = b[i * operands[1].step];
    if (!allowed(left, right)) return i;
    result[i] = function(left, right);
  }
  return count;
}

}  // namespace millrace::kernels
