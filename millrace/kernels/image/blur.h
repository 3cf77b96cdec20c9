// Gaussian blur of bytes. The kernel is torchvision's: so many samples of the bell
// curve, made to add up to one; images are reflected at their edges. Along rows, then
// along columns, in 16-bit integers: within one level of the exact value, and bit for
// bit the same on every machine. Pure. Weights too small to matter cost nothing, so
// that 224 x 224 takes some 40 to 170 µs.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// A wider kernel would add up too many rounded products.
inline constexpr int64_t kBlurSizeMax = 99;

// Checks a kernel size: odd, from 1 to kBlurSizeMax.
absl::Status CheckBlurSize(int64_t size);

// Checks a deviation of the bell curve: above 0 and finite.
absl::Status CheckSigma(double sigma);

// The bell curve, of which all samples add up to one: of the middle, then of both
// neighbours at 1, 2, ... Requires: CheckBlurSize and CheckSigma say so.
std::vector<double> BlurCurve(int64_t size, double sigma);

// Where a place outside of 0 .. size - 1 is mirrored to; the edge itself comes once.
int64_t Reflected(int64_t place, int64_t size);

// The weights in 2^15ths: of the middle, halved, then of both neighbours at 1, 2, ...
// Twice their sum is exactly one; trailing zeros are left out.
// Requires: CheckBlurSize and CheckSigma say so.
std::vector<int16_t> BlurWeights(int64_t size, double sigma);

// Writes the blurred image, side by side, to `out`, which must not be the image.
void Blur(const PixelView& image, const std::vector<int16_t>& weights, uint8_t* out);

}  // namespace millrace::kernels
