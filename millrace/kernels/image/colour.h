// Changes of colour: brightness, contrast, saturation, hue, and no colour at all. What
// they mean is torchvision's; how they round is ours: to the nearest, within one level
// of the exact value (hue: two). Bytes are computed in 16-bit integers and floats
// without fused products, so that every machine gives the same bits. Pure. Of 224 x 224
// bytes a change takes some 5 to 20 µs, hue 100.
//
// Bytes go from 0 to 255, floats from 0 to 1. Pixels lie side by side and have three
// channels, or one: that is grey already.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace millrace::kernels {

// Pixels of somebody else. A result may be written over them.
template <typename T>
struct Colours {
  const T* first = nullptr;
  int64_t pixels = 0;
  int64_t channels = 3;

  int64_t count() const { return pixels * channels; }
};

// Beyond, an image has no more than black and white.
inline constexpr double kFactorMost = 20;

// Checks a factor of brightness, contrast or saturation: from 0 to kFactorMost.
absl::Status CheckFactor(double factor);

// Checks a turn of the hue: from -0.5 to 0.5 of the whole circle.
absl::Status CheckHueShift(double shift);

// Every value times a factor: 0 is black, 1 changes nothing.
// Requires, like the next three: CheckFactor or CheckHueShift says so.
void AdjustBrightness(const Colours<uint8_t>& image, double factor, uint8_t* out);
void AdjustBrightness(const Colours<float>& image, double factor, float* out);

// Away from the mean of the grey image: 0 is all that grey, 1 changes nothing.
void AdjustContrast(const Colours<uint8_t>& image, double factor, uint8_t* out);
void AdjustContrast(const Colours<float>& image, double factor, float* out);

// Away from the grey of the pixel: 0 is grey, 1 changes nothing.
void AdjustSaturation(const Colours<uint8_t>& image, double factor, uint8_t* out);
void AdjustSaturation(const Colours<float>& image, double factor, float* out);

// Turns the hue; brightest and darkest channel of a pixel keep their values.
void AdjustHue(const Colours<uint8_t>& image, double shift, uint8_t* out);
void AdjustHue(const Colours<float>& image, double shift, float* out);

// Grey by the weights of Rec. 601, 0.299, 0.587 and 0.114, to as many channels as are
// asked for: one, or three that are alike.
void ToGrey(const Colours<uint8_t>& image, int64_t out_channels, uint8_t* out);
void ToGrey(const Colours<float>& image, int64_t out_channels, float* out);

// The mean of the grey image; 0 of no pixels.
double MeanGrey(const Colours<uint8_t>& image);
double MeanGrey(const Colours<float>& image);

}  // namespace millrace::kernels
