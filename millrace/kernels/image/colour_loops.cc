#include "millrace/kernels/image/colour_loops.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "millrace/base/check.h"

// Vectors without a fixed size are left to NEON, as in the other loops of this folder.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/colour_loops.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Shorts = hn::ScalableTag<int16_t>;
using Bytes = hn::Rebind<uint8_t, Shorts>;
using Short = hn::Vec<Shorts>;
using Floats = hn::ScalableTag<float>;
using Float = hn::Vec<Floats>;
using FloatBytes = hn::Rebind<uint8_t, Floats>;
using WholeBytes = hn::ScalableTag<uint8_t>;

// Goes over pixels of three values, a vector of each channel at a time. What is left
// at the end goes through a vector as well, so that there is one way to compute.
template <typename Tag, typename Change>
HWY_INLINE void ForPixels(Tag tag, const hn::TFromD<Tag>* values, int64_t pixels,
                          hn::TFromD<Tag>* out, const Change& change) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  hn::Vec<Tag> red;
  hn::Vec<Tag> green;
  hn::Vec<Tag> blue;
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::LoadInterleaved3(tag, values + 3 * i, red, green, blue);
    change(red, green, blue);
    hn::StoreInterleaved3(red, green, blue, tag, out + 3 * i);
  }
  if (i == pixels) return;
  hn::TFromD<Tag> rest[3 * hn::MaxLanes(Tag())] = {};
  std::copy_n(values + 3 * i, 3 * (pixels - i), rest);
  hn::LoadInterleaved3(tag, rest, red, green, blue);
  change(red, green, blue);
  hn::StoreInterleaved3(red, green, blue, tag, rest);
  std::copy_n(rest, 3 * (pixels - i), out + 3 * i);
}

// --- 16 bits ---

// A byte with its fraction, which is 0.
HWY_INLINE Short Widened(hn::Vec<Bytes> bytes) {
  return hn::ShiftLeft<kByteFraction>(hn::PromoteTo(Shorts(), bytes));
}

// The weights are those of Rec. 601 in 2^15ths; together they are exactly one.
HWY_INLINE Short GreyOf(Short red, Short green, Short blue) {
  const Shorts shorts;
  return hn::Add(hn::Add(hn::MulFixedPoint15(red, hn::Set(shorts, 9798)),
                         hn::MulFixedPoint15(green, hn::Set(shorts, 19235))),
                 hn::MulFixedPoint15(blue, hn::Set(shorts, 3735)));
}

HWY_INLINE hn::Vec<Bytes> GreyBytes(hn::Vec<Bytes> red, hn::Vec<Bytes> green,
                                    hn::Vec<Bytes> blue) {
  const auto half = hn::Set(Shorts(), int16_t{1} << (kByteFraction - 1));
  const auto grey = GreyOf(Widened(red), Widened(green), Widened(blue));
  return hn::DemoteTo(Bytes(), hn::ShiftRight<kByteFraction>(hn::Add(grey, half)));
}

void ScaleBytes(const uint8_t* bytes, int64_t count, const FixedFactor& factor,
                int16_t offset, uint8_t* out) {
  const Shorts shorts;
  const Bytes tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  const auto slope = hn::Set(shorts, factor.value);
  const auto start = hn::Set(shorts, offset);
  const int bits = kByteFraction - factor.shift;
  const auto scaled = [&](hn::Vec<Bytes> x) HWY_ATTR {
    const auto y = hn::SaturatedAdd(hn::MulFixedPoint15(Widened(x), slope), start);
    return hn::DemoteTo(tag, hn::ShiftRightSame(y, bits));
  };
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(scaled(hn::LoadU(tag, bytes + i)), tag, out + i);
  }
  if (i == count) return;
  uint8_t rest[hn::MaxLanes(Bytes())] = {};
  std::copy_n(bytes + i, count - i, rest);
  hn::StoreU(scaled(hn::LoadU(tag, rest)), tag, rest);
  std::copy_n(rest, count - i, out + i);
}

void BlendWithGrey(const uint8_t* bytes, int64_t pixels, const FixedFactor& factor,
                   uint8_t* out) {
  const Shorts shorts;
  const auto slope = hn::Set(shorts, factor.value);
  const int bits = kByteFraction - factor.shift;
  const auto half = hn::Set(shorts, static_cast<int16_t>((1 << bits) / 2));
  using Byte = hn::Vec<Bytes>;
  const auto blend = [&](Byte& red, Byte& green, Byte& blue) HWY_ATTR {
    const auto grey = GreyOf(Widened(red), Widened(green), Widened(blue));
    const auto start = hn::Add(hn::ShiftRightSame(grey, factor.shift), half);
    for (Byte* channel : {&red, &green, &blue}) {
      const auto away = hn::Sub(Widened(*channel), grey);
      const auto y = hn::SaturatedAdd(hn::MulFixedPoint15(away, slope), start);
      *channel = hn::DemoteTo(Bytes(), hn::ShiftRightSame(y, bits));
    }
  };
  ForPixels(Bytes(), bytes, pixels, out, blend);
}

void GreyToThree(const uint8_t* bytes, int64_t pixels, uint8_t* out) {
  using Byte = hn::Vec<Bytes>;
  ForPixels(Bytes(), bytes, pixels, out,
            [](Byte& red, Byte& green, Byte& blue) HWY_ATTR {
              red = GreyBytes(red, green, blue);
              green = red;
              blue = red;
            });
}

void GreyToOne(const uint8_t* bytes, int64_t pixels, uint8_t* out) {
  const Bytes tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  hn::Vec<Bytes> red;
  hn::Vec<Bytes> green;
  hn::Vec<Bytes> blue;
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) {
    hn::LoadInterleaved3(tag, bytes + 3 * i, red, green, blue);
    hn::StoreU(GreyBytes(red, green, blue), tag, out + i);
  }
  if (i == pixels) return;
  uint8_t rest[3 * hn::MaxLanes(Bytes())] = {};
  std::copy_n(bytes + 3 * i, 3 * (pixels - i), rest);
  hn::LoadInterleaved3(tag, rest, red, green, blue);
  hn::StoreU(GreyBytes(red, green, blue), tag, rest);
  std::copy_n(rest, pixels - i, out + i);
}

// Whole vectors; gives how many pixels they were.
int64_t SumVectors(const uint8_t* bytes, int64_t pixels, uint64_t sums[3]) {
  const WholeBytes tag;
  const hn::Repartition<uint64_t, WholeBytes> sum_tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(tag));
  auto red_sum = hn::Zero(sum_tag);
  auto green_sum = red_sum;
  auto blue_sum = red_sum;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + lanes <= pixels; i += lanes) {
    hn::Vec<WholeBytes> red;
    hn::Vec<WholeBytes> green;
    hn::Vec<WholeBytes> blue;
    hn::LoadInterleaved3(tag, bytes + 3 * i, red, green, blue);
    red_sum = hn::Add(red_sum, hn::SumsOf8(red));
    green_sum = hn::Add(green_sum, hn::SumsOf8(green));
    blue_sum = hn::Add(blue_sum, hn::SumsOf8(blue));
  }
#else
  (void)bytes, (void)pixels, (void)lanes;
#endif
  sums[0] = hn::GetLane(hn::SumOfLanes(sum_tag, red_sum));
  sums[1] = hn::GetLane(hn::SumOfLanes(sum_tag, green_sum));
  sums[2] = hn::GetLane(hn::SumOfLanes(sum_tag, blue_sum));
  return i;
}

// --- Floats: hue ---

HWY_INLINE Float Clamped(Float x) {
  return hn::Min(hn::Max(x, hn::Zero(Floats())), hn::Set(Floats(), 1.0F));
}

// What is no number becomes 0: processors do not agree on what is larger than it.
HWY_INLINE Float Tamed(Float x) { return Clamped(hn::IfThenElseZero(hn::Eq(x, x), x)); }

// With the largest and the smallest channel kept, the hue in sixths, from red over
// green and blue back to red, says how far each channel is between the two.
HWY_INLINE void Turn(Float sixths, Float& red, Float& green, Float& blue) {
  const Floats floats;
  const auto one = hn::Set(floats, 1.0F);
  const auto two = hn::Set(floats, 2.0F);
  const auto four = hn::Set(floats, 4.0F);
  const auto six = hn::Set(floats, 6.0F);
  const auto most = hn::Max(red, hn::Max(green, blue));
  const auto least = hn::Min(red, hn::Min(green, blue));
  const auto range = hn::Sub(most, least);
  const auto is_red = hn::Eq(most, red);
  const auto is_green = hn::Eq(most, green);
  const auto beside =
      hn::IfThenElse(is_red, hn::Sub(green, blue),
                     hn::IfThenElse(is_green, hn::Sub(blue, red), hn::Sub(red, green)));
  const auto from =
      hn::IfThenElse(is_red, hn::Zero(floats), hn::IfThenElse(is_green, two, four));
  const auto divisor = hn::IfThenElse(hn::Eq(range, hn::Zero(floats)), one, range);
  auto hue = hn::Add(hn::Add(from, hn::Div(beside, divisor)), sixths);
  hue = hn::Sub(hue, hn::IfThenElseZero(hn::Ge(hue, six), six));
  hue = hn::Add(hue, hn::IfThenElseZero(hn::Lt(hue, hn::Zero(floats)), six));
  const auto far = [&](float middle) HWY_ATTR {
    return hn::Abs(hn::Sub(hue, hn::Set(floats, middle)));
  };
  red = hn::Add(least, hn::Mul(range, Clamped(hn::Sub(far(3), one))));
  green = hn::Add(least, hn::Mul(range, Clamped(hn::Sub(two, far(2)))));
  blue = hn::Add(least, hn::Mul(range, Clamped(hn::Sub(two, far(4)))));
}

HWY_INLINE Float FloatOf(hn::Vec<FloatBytes> bytes) {
  const hn::Rebind<int32_t, Floats> whole;
  return hn::ConvertTo(Floats(), hn::PromoteTo(whole, bytes));
}

HWY_INLINE hn::Vec<FloatBytes> ByteOf(Float x) {
  const hn::Rebind<int32_t, Floats> whole;
  const auto rounded = hn::ConvertTo(whole, hn::Add(x, hn::Set(Floats(), 0.5F)));
  return hn::DemoteTo(FloatBytes(), rounded);
}

void TurnHue(const uint8_t* bytes, int64_t pixels, float sixths, uint8_t* out) {
  const auto turn = hn::Set(Floats(), sixths);
  using Byte = hn::Vec<FloatBytes>;
  ForPixels(FloatBytes(), bytes, pixels, out,
            [&](Byte& red, Byte& green, Byte& blue) HWY_ATTR {
              Float r = FloatOf(red);
              Float g = FloatOf(green);
              Float b = FloatOf(blue);
              Turn(turn, r, g, b);
              red = ByteOf(r);
              green = ByteOf(g);
              blue = ByteOf(b);
            });
}

void TurnHueOfFloats(const float* values, int64_t pixels, float sixths, float* out) {
  const auto turn = hn::Set(Floats(), sixths);
  ForPixels(Floats(), values, pixels, out,
            [&](Float& red, Float& green, Float& blue) HWY_ATTR {
              for (Float* x : {&red, &green, &blue}) *x = Tamed(*x);
              Turn(turn, red, green, blue);
            });
}

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(ScaleBytes);
HWY_EXPORT(BlendWithGrey);
HWY_EXPORT(GreyToThree);
HWY_EXPORT(GreyToOne);
HWY_EXPORT(SumVectors);
HWY_EXPORT(TurnHue);
HWY_EXPORT(TurnHueOfFloats);

FixedFactor FixedFactor::Of(double factor) {
  CHECK(factor >= 0 && factor < 64) << factor;
  constexpr double kMost = 32767;
  FixedFactor fixed;
  double value = std::floor(factor * 32768 + 0.5);
  for (; value > kMost; ++fixed.shift) {
    value = std::floor(factor * (32768 >> (fixed.shift + 1)) + 0.5);
  }
  fixed.value = static_cast<int16_t>(value);
  return fixed;
}

void ScaleBytes(const uint8_t* bytes, int64_t count, const FixedFactor& factor,
                int16_t offset, uint8_t* out) {
  const int half = (1 << (kByteFraction - factor.shift)) / 2;
  const auto start = static_cast<int16_t>(std::min(offset + half, 32767));
  HWY_DYNAMIC_DISPATCH(ScaleBytes)(bytes, count, factor, start, out);
}

void BlendWithGrey(const uint8_t* bytes, int64_t pixels, const FixedFactor& factor,
                   uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(BlendWithGrey)(bytes, pixels, factor, out);
}

void GreyToThree(const uint8_t* bytes, int64_t pixels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(GreyToThree)(bytes, pixels, out);
}

void GreyToOne(const uint8_t* bytes, int64_t pixels, uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(GreyToOne)(bytes, pixels, out);
}

void SumChannels(const uint8_t* bytes, int64_t pixels, uint64_t sums[3]) {
  int64_t i = HWY_DYNAMIC_DISPATCH(SumVectors)(bytes, pixels, sums);
  for (; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) sums[c] += bytes[3 * i + c];
  }
}

void TurnHue(const uint8_t* bytes, int64_t pixels, float sixths, uint8_t* out) {
  CHECK(sixths >= 0 && sixths < 6) << sixths;
  HWY_DYNAMIC_DISPATCH(TurnHue)(bytes, pixels, sixths, out);
}

void TurnHueOfFloats(const float* values, int64_t pixels, float sixths, float* out) {
  CHECK(sixths >= 0 && sixths < 6) << sixths;
  HWY_DYNAMIC_DISPATCH(TurnHueOfFloats)(values, pixels, sixths, out);
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
