#include "millrace/core/float16.h"

#include <bit>
#include <cstdint>

namespace millrace::core {
namespace {

// Drops the low `bits` of `value`, rounding to nearest, ties to even.
uint32_t RoundedShift(uint32_t value, int bits) {
  const uint32_t half = (1U << (bits - 1)) - 1;
  const uint32_t odd = (value >> bits) & 1U;
  return (value + half + odd) >> bits;
}

}  // namespace

uint16_t FloatToHalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000U;
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);  // NaN.
  if (magnitude >= 0x47800000U) return static_cast<uint16_t>(sign | 0x7c00U);
  if (magnitude >= 0x38800000U) {  // Normal in half precision.
    return static_cast<uint16_t>(sign | RoundedShift(magnitude - 0x38000000U, 13));
  }
  const int exponent = static_cast<int>(magnitude >> 23);
  if (exponent < 102) return static_cast<uint16_t>(sign);  // Below half the least.
  const uint32_t mantissa = (magnitude & 0x007fffffU) | 0x00800000U;
  return static_cast<uint16_t>(sign | RoundedShift(mantissa, 126 - exponent));
}

float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t mantissa = bits & 0x3ffU;
  if (exponent == 0x1fU) {
    return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  }
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  const float subnormal = static_cast<float>(mantissa) * 0x1p-24F;
  return sign != 0 ? -subnormal : subnormal;
}

uint16_t FloatToBFloatBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) {
    return static_cast<uint16_t>((bits >> 16) | 0x40U);  // Quiet NaN, sign kept.
  }
  return static_cast<uint16_t>(RoundedShift(bits, 16));
}

}  // namespace millrace::core
