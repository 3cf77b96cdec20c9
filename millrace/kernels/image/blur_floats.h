// Gaussian blur of float32 images, of any range of values. The same kernel and the same
// edges as of bytes (blur.h), in floats added up in one order: within some 1e-6 of the
// largest value, and bit for bit the same on every machine. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/kernels/image/float_image.h"

namespace millrace::kernels {

// The weights: of the middle, then of both neighbours at 1, 2, ... Those too small to
// matter are left out. Requires: CheckBlurSize and CheckSigma say so.
std::vector<float> FloatBlurWeights(int64_t size, double sigma);

// Writes the blurred image to `out`, which must not be the image.
void BlurFloats(const FloatImage& image, const std::vector<float>& weights, float* out);

}  // namespace millrace::kernels
