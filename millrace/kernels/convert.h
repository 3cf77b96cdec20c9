// Brings numbers from one type to another, always with a defined result: floats become
// integers by truncation, clamped to the type's range, NaN becomes 0; integers wrap
// around to smaller ones; whatever is not 0 is true; floats are rounded once, to
// nearest, ties to even. Used wherever operands of different types meet, and by `cast`.
// Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"

namespace millrace::kernels {

// Truncates and clamps; NaN becomes 0.
template <typename Integer, typename Float>
Integer FloatToInteger(Float value) {
  constexpr auto kLeast = std::numeric_limits<Integer>::lowest();
  // One more than the largest: a power of two, so exact in any float.
  constexpr int kBits = std::numeric_limits<Integer>::digits;
  constexpr auto kEnd = static_cast<Float>(Integer{1} << (kBits - 1)) * 2;
  if (value != value) return 0;
  if (value <= static_cast<Float>(kLeast)) return kLeast;
  if (value >= kEnd) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

// Rounds to a float such that rounding it once more to 11 bits or fewer gives what
// rounding the double at once would: what is cut off stays visible in the last bit.
float RoundToOdd(double value);

// The same for integers: the double keeps their first 32 bits, the last made odd where
// something was cut off.
double KeepHighBits(uint64_t magnitude);

template <typename Half, typename From>
Half ToHalf(From value) {
  if constexpr (std::is_same_v<From, float>) {
    return Half(value);
  } else if constexpr (std::is_same_v<From, double>) {
    return Half(RoundToOdd(value));
  } else if (value < From{0}) {
    return Half(-RoundToOdd(KeepHighBits(uint64_t{0} - static_cast<uint64_t>(value))));
  } else {
    return Half(RoundToOdd(KeepHighBits(static_cast<uint64_t>(value))));
  }
}

// Converts one value.
template <typename To, typename From>
To ConvertValue(From value) {
  constexpr bool kToHalf =
      std::is_same_v<To, core::Float16> || std::is_same_v<To, core::BFloat16>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_class_v<From>) {  // A half: every one is a float.
    return ConvertValue<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (kToHalf && std::is_same_v<From, bool>) {
    return To(value ? 1.0F : 0.0F);
  } else if constexpr (kToHalf) {
    return ToHalf<To>(value);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return FloatToInteger<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

// Converts a column of numbers or bools, whatever its layout; the column itself where
// there is nothing to do. `into` may say where the result is wanted. Requires: neither
// type is a text's.
absl::StatusOr<core::Column> Convert(const core::Column& column, core::DType dtype,
                                     core::Pool& pool,
                                     const core::Buffer* into = nullptr);

}  // namespace millrace::kernels
