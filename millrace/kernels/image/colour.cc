#include "millrace/kernels/image/colour.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/colour_loops.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kThree = 3;
constexpr double kGreyWeights[] = {0.299, 0.587, 0.114};
constexpr float kRed = 0.299F;
constexpr float kGreen = 0.587F;
constexpr float kBlue = 0.114F;

float Greyness(const float* pixel) {
  return pixel[0] * kRed + pixel[1] * kGreen + pixel[2] * kBlue;
}

// Not std::clamp: what is not a number becomes 0, and the compiler uses vectors.
float WithinOne(float x) { return x > 0 ? (x < 1 ? x : 1.0F) : 0.0F; }

template <typename T>
void Copy(const Colours<T>& image, T* out) {
  if (image.first != out) std::copy_n(image.first, image.count(), out);
}

// factor * x + offset, with the offset in levels.
void Scale(const Colours<uint8_t>& image, double factor, double offset, uint8_t* out) {
  const FixedFactor fixed = FixedFactor::Of(factor);
  const double start = std::floor(offset * (1 << (kByteFraction - fixed.shift)) + 0.5);
  ScaleBytes(image.first, image.count(), fixed,
             static_cast<int16_t>(std::clamp(start, -32767.0, 32767.0)), out);
}

void Scale(const Colours<float>& image, double factor, double offset, float* out) {
  const auto slope = static_cast<float>(factor);
  const auto start = static_cast<float>(offset);
  for (int64_t i = 0; i < image.count(); ++i) {
    out[i] = WithinOne(image.first[i] * slope + start);
  }
}

// Sixths of a circle, from 0 up to 6.
float SixthsOf(double shift) {
  CHECK(CheckHueShift(shift).ok()) << shift;
  const auto sixths = static_cast<float>((shift < 0 ? shift + 1 : shift) * 6);
  return sixths < 6 ? sixths : 0;
}

}  // namespace

absl::Status CheckFactor(double factor) {
  if (factor >= 0 && factor <= kFactorMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("a factor must be from 0 to ", kFactorMost, ", not ", factor));
}

absl::Status CheckHueShift(double shift) {
  if (shift >= -0.5 && shift <= 0.5) return absl::OkStatus();
  return absl::InvalidArgumentError(
      base::StrCat("a shift of the hue must be from -0.5 to 0.5, not ", shift));
}

void AdjustBrightness(const Colours<uint8_t>& image, double factor, uint8_t* out) {
  Scale(image, factor, 0, out);
}

void AdjustBrightness(const Colours<float>& image, double factor, float* out) {
  Scale(image, factor, 0, out);
}

void AdjustContrast(const Colours<uint8_t>& image, double factor, uint8_t* out) {
  Scale(image, factor, (1 - factor) * MeanGrey(image), out);
}

void AdjustContrast(const Colours<float>& image, double factor, float* out) {
  Scale(image, factor, (1 - factor) * MeanGrey(image), out);
}

void AdjustSaturation(const Colours<uint8_t>& image, double factor, uint8_t* out) {
  if (image.channels != kThree) return Copy(image, out);
  BlendWithGrey(image.first, image.pixels, FixedFactor::Of(factor), out);
}

void AdjustSaturation(const Colours<float>& image, double factor, float* out) {
  if (image.channels != kThree) return Copy(image, out);
  const auto slope = static_cast<float>(factor);
  for (int64_t i = 0; i < image.count(); i += kThree) {
    const float grey = Greyness(image.first + i);
    for (int64_t c = i; c < i + kThree; ++c) {
      out[c] = WithinOne(grey + (image.first[c] - grey) * slope);
    }
  }
}

void AdjustHue(const Colours<uint8_t>& image, double shift, uint8_t* out) {
  if (image.channels != kThree) return Copy(image, out);
  TurnHue(image.first, image.pixels, SixthsOf(shift), out);
}

void AdjustHue(const Colours<float>& image, double shift, float* out) {
  if (image.channels != kThree) return Copy(image, out);
  TurnHueOfFloats(image.first, image.pixels, SixthsOf(shift), out);
}

void ToGrey(const Colours<uint8_t>& image, int64_t out_channels, uint8_t* out) {
  if (image.channels == kThree) {
    const auto write = out_channels == kThree ? GreyToThree : GreyToOne;
    write(image.first, image.pixels, out);
    return;
  }
  CHECK(image.first != out || out_channels == 1);
  for (int64_t i = 0; i < image.pixels; ++i) {
    std::fill_n(out + i * out_channels, out_channels, image.first[i]);
  }
}

void ToGrey(const Colours<float>& image, int64_t out_channels, float* out) {
  for (int64_t i = 0; i < image.pixels; ++i) {
    const float* pixel = image.first + i * image.channels;
    const float grey = image.channels == kThree ? Greyness(pixel) : *pixel;
    std::fill_n(out + i * out_channels, out_channels, grey);
  }
}

// The grey of sums is the sum of greys.
double MeanGrey(const Colours<uint8_t>& image) {
  if (image.pixels == 0) return 0;
  const auto pixels = static_cast<double>(image.pixels);
  if (image.channels != kThree) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < image.pixels; ++i) sum += image.first[i];
    return static_cast<double>(sum) / pixels;
  }
  uint64_t sums[3] = {};
  SumChannels(image.first, image.pixels, sums);
  double grey = 0;
  for (int c = 0; c < 3; ++c) grey += kGreyWeights[c] * static_cast<double>(sums[c]);
  return grey / pixels;
}

double MeanGrey(const Colours<float>& image) {
  if (image.pixels == 0) return 0;
  double sum = 0;
  for (int64_t i = 0; i < image.pixels; ++i) {
    const float* pixel = image.first + i * image.channels;
    sum += image.channels == kThree ? Greyness(pixel) : *pixel;
  }
  return sum / static_cast<double>(image.pixels);
}

}  // namespace millrace::kernels
