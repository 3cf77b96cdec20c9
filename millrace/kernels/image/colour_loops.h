// The inner loops of changing colours, for the processor they run on (Highway chooses
// at run time). All take pixels of three bytes or floats side by side, and may write
// over what they read. Called by colour.cc alone.
#pragma once

#include <cstdint>

namespace millrace::kernels {

// A factor as 16 bits: value / 2^15 * 2^shift, the most exact that fits.
struct FixedFactor {
  int16_t value = 0;
  int shift = 0;

  // Requires: 0 <= factor < 64.
  static FixedFactor Of(double factor);
};

// Bits of fraction that a byte has where it is 16 bits.
inline constexpr int kByteFraction = 7;

// Writes factor * x + offset for each byte. `offset` has kByteFraction - shift bits of
// fraction; a half is added to it for rounding.
void ScaleBytes(const uint8_t* bytes, int64_t count, const FixedFactor& factor,
                int16_t offset, uint8_t* out);

// Writes grey + factor * (x - grey).
void BlendWithGrey(const uint8_t* bytes, int64_t pixels, const FixedFactor& factor,
                   uint8_t* out);

// Writes grey, to three channels or one.
void GreyToThree(const uint8_t* bytes, int64_t pixels, uint8_t* out);
void GreyToOne(const uint8_t* bytes, int64_t pixels, uint8_t* out);

// Adds up each channel.
void SumChannels(const uint8_t* bytes, int64_t pixels, uint64_t sums[3]);

// Turns the hue by so many sixths of a circle. Requires: 0 <= sixths < 6.
void TurnHue(const uint8_t* bytes, int64_t pixels, float sixths, uint8_t* out);
void TurnHueOfFloats(const float* values, int64_t pixels, float sixths, float* out);

}  // namespace millrace::kernels
