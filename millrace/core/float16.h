// The two 16-bit floats: IEEE half precision and bfloat16. Storage types only:
// arithmetic goes through float. Conversions round to nearest even, as hardware and
// NumPy do.
#pragma once

#include <bit>
#include <cstdint>

namespace millrace::core {

// Rounds to half precision; overflow gives infinity, NaN stays NaN.
uint16_t FloatToHalfBits(float value);
float HalfBitsToFloat(uint16_t bits);
uint16_t FloatToBFloatBits(float value);

inline float BFloatBitsToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

struct Float16 {
  uint16_t bits = 0;

  Float16() = default;

  explicit Float16(float value) : bits(FloatToHalfBits(value)) {}

  explicit operator float() const { return HalfBitsToFloat(bits); }

  friend bool operator==(Float16 a, Float16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;

  explicit BFloat16(float value) : bits(FloatToBFloatBits(value)) {}

  explicit operator float() const { return BFloatBitsToFloat(bits); }

  friend bool operator==(BFloat16 a, BFloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
};

}  // namespace millrace::core
