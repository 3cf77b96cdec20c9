#include "millrace/core/float16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"

namespace millrace::core {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A 16-bit float format, described by its fields alone.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  uint32_t exponent_mask() const { return (1U << exponent_bits) - 1; }

  uint32_t infinity() const { return exponent_mask() << mantissa_bits; }

  bool IsNan(uint32_t bits) const { return (bits & 0x7fffU) > infinity(); }

  // What the bits mean, by the definition of IEEE 754, in double.
  double Value(uint32_t bits) const {
    const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto exponent = static_cast<int>((bits & 0x7fffU) >> mantissa_bits);
    const auto mantissa = static_cast<int>(bits & ((1U << mantissa_bits) - 1));
    if (exponent == static_cast<int>(exponent_mask())) return sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign *
           std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  }
};

constexpr Format kHalf = {.exponent_bits = 5, .mantissa_bits = 10};
constexpr Format kBrain = {.exponent_bits = 8, .mantissa_bits = 7};

// Rounds by search: the nearest of all finite values of the format, the even one of
// two. What lies beyond the largest by half a step or more is infinite.
class NearestBySearch {
 public:
  explicit NearestBySearch(Format format) : format_(format) {
    for (uint32_t bits = 0; bits < format.infinity(); ++bits) {
      values_.push_back(format.Value(bits));
    }
    const double step = values_.back() - values_[values_.size() - 2];
    values_.push_back(values_.back() +
                      step);  // Stands for infinity; its bits are even.
  }

  uint16_t Round(double value) const {
    const uint32_t sign = std::signbit(value) ? 0x8000U : 0;
    const double magnitude = std::fabs(value);
    const auto above = std::ranges::partition_point(
        values_, [&](double other) { return other < magnitude; });
    if (above == values_.end()) return static_cast<uint16_t>(sign | format_.infinity());
    auto bits = static_cast<uint32_t>(above - values_.begin());
    if (bits > 0) {
      const double up = values_[bits] - magnitude;
      const double down = magnitude - values_[bits - 1];
      if (down < up || (down == up && bits % 2 == 1)) --bits;
    }
    return static_cast<uint16_t>(sign | bits);
  }

 private:
  const Format format_;
  std::vector<double> values_;
};

// Every value, every middle between two neighbours, and the floats on either side.
std::vector<float> CriticalFloats(Format format) {
  std::vector<float> floats;
  for (uint32_t bits = 0; bits + 1 < format.infinity(); ++bits) {
    const double here = format.Value(bits);
    const auto middle = static_cast<float>((here + format.Value(bits + 1)) / 2);
    for (const float value : {static_cast<float>(here), middle}) {
      floats.push_back(value);
      floats.push_back(std::nextafter(value, kInfinity));
      floats.push_back(std::nextafter(value, 0.0F));
    }
  }
  return floats;
}

std::vector<float> AnyFloats(uint64_t seed, int count) {
  base::Generator random(base::RandomKey(seed, 0, 0), base::Hash128{});
  std::vector<float> floats;
  while (static_cast<int>(floats.size()) < count) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random.Next64()));
    if (!std::isnan(value)) floats.push_back(value);
  }
  return floats;
}

TEST(Float16Test, EveryHalfMeansWhatIeee754Says) {
  for (uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const float value = HalfBitsToFloat(static_cast<uint16_t>(bits));
    if (kHalf.IsNan(bits)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), kHalf.Value(bits)) << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000U) << bits;
    }
  }
}

TEST(Float16Test, EveryBFloatMeansWhatIeee754Says) {
  for (uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const float value = BFloatBitsToFloat(static_cast<uint16_t>(bits));
    if (kBrain.IsNan(bits)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(value), kBrain.Value(bits)) << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000U) << bits;
    }
  }
}

TEST(Float16Test, EveryPatternSurvivesTheWayThroughFloat) {
  for (uint32_t i = 0; i <= 0xffffU; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const uint16_t half = FloatToHalfBits(HalfBitsToFloat(bits));
    const uint16_t brain = FloatToBFloatBits(BFloatBitsToFloat(bits));
    if (kHalf.IsNan(bits)) {
      ASSERT_TRUE(kHalf.IsNan(half)) << bits;
      ASSERT_EQ(half & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(half, bits);
    }
    if (kBrain.IsNan(bits)) {
      ASSERT_TRUE(kBrain.IsNan(brain)) << bits;
      ASSERT_EQ(brain & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(brain, bits);
    }
  }
}

TEST(Float16Test, HalvesAreTheNearestAndOfTwoTheEven) {
  const NearestBySearch nearest(kHalf);
  for (const float value : CriticalFloats(kHalf)) {
    ASSERT_EQ(FloatToHalfBits(value), nearest.Round(value)) << value;
    ASSERT_EQ(FloatToHalfBits(-value), nearest.Round(-value)) << -value;
  }
  for (const float value : AnyFloats(1, 100'000)) {
    ASSERT_EQ(FloatToHalfBits(value), nearest.Round(value)) << value;
  }
}

TEST(Float16Test, BFloatsAreTheNearestAndOfTwoTheEven) {
  const NearestBySearch nearest(kBrain);
  for (const float value : CriticalFloats(kBrain)) {
    ASSERT_EQ(FloatToBFloatBits(value), nearest.Round(value)) << value;
    ASSERT_EQ(FloatToBFloatBits(-value), nearest.Round(-value)) << -value;
  }
  for (const float value : AnyFloats(2, 100'000)) {
    ASSERT_EQ(FloatToBFloatBits(value), nearest.Round(value)) << value;
  }
}

TEST(Float16Test, WhatIsTooLargeBecomesInfinite) {
  EXPECT_EQ(FloatToHalfBits(65504), 0x7bff);  // The largest half.
  EXPECT_EQ(FloatToHalfBits(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(FloatToHalfBits(65520), 0x7c00);
  EXPECT_EQ(FloatToHalfBits(1e30F), 0x7c00);
  EXPECT_EQ(FloatToHalfBits(-kInfinity), 0xfc00);
  EXPECT_EQ(FloatToBFloatBits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(FloatToBFloatBits(-kInfinity), 0xff80);
}

TEST(Float16Test, WhatIsTooSmallBecomesZeroOfItsSign) {
  EXPECT_EQ(FloatToHalfBits(0x1p-24F), 0x0001);  // The least half.
  EXPECT_EQ(FloatToHalfBits(0x1p-25F), 0x0000);  // A tie, to even.
  EXPECT_EQ(FloatToHalfBits(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(FloatToHalfBits(-1e-30F), 0x8000);
  EXPECT_EQ(FloatToBFloatBits(-0.0F), 0x8000);
}

TEST(Float16Test, NanStaysNanWhateverItsPayload) {
  for (const uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U}) {
    const auto nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(kHalf.IsNan(FloatToHalfBits(nan))) << bits;
    EXPECT_TRUE(kBrain.IsNan(FloatToBFloatBits(nan))) << bits;
  }
}

TEST(Float16Test, TheTypesConvertAndCompareAsFloats) {
  EXPECT_EQ(static_cast<float>(Float16(1.5F)), 1.5F);
  EXPECT_EQ(static_cast<float>(BFloat16(-2.5F)), -2.5F);
  EXPECT_EQ(static_cast<float>(Float16()), 0.0F);
  EXPECT_TRUE(Float16(0.0F) == Float16(-0.0F));
  EXPECT_TRUE(BFloat16(0.0F) == BFloat16(-0.0F));
  EXPECT_FALSE(Float16(1.0F) == Float16(1.5F));
  EXPECT_FALSE(Float16(NAN) == Float16(NAN));
  EXPECT_FALSE(BFloat16(NAN) == BFloat16(NAN));
}

}  // namespace
}  // namespace millrace::core
