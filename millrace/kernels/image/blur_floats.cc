#include "millrace/kernels/image/blur_floats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "millrace/base/check.h"
#include "millrace/kernels/image/blur.h"
#include "millrace/kernels/image/float_image.h"

namespace millrace::kernels {
namespace {

// Adds what both neighbours at a distance give.
void AddBoth(const float* before, const float* after, float weight, int64_t count,
             float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += weight * (before[i] + after[i]);
}

void Start(const float* middle, float weight, int64_t count, float* sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] = weight * middle[i];
}

// Blurs a row along itself. `padded` has room for the row and what is mirrored.
void BlurRow(const float* row, const FloatImage& image,
             const std::vector<float>& weights, std::vector<float>& padded,
             float* out) {
  const int64_t channels = image.channels;
  const int64_t width = image.size.width;
  const auto reach = std::ssize(weights) - 1;
  float* const middle = padded.data() + reach * channels;
  for (int64_t place = -reach; place < width + reach; ++place) {
    std::copy_n(row + Reflected(place, width) * channels, channels,
                middle + place * channels);
  }
  Start(middle, weights[0], width * channels, out);
  for (int64_t k = 1; k <= reach; ++k) {
    AddBoth(middle - k * channels, middle + k * channels, weights[k], width * channels,
            out);
  }
}

}  // namespace

std::vector<float> FloatBlurWeights(int64_t size, double sigma) {
  constexpr double kNothing = 1e-10;  // 99 of them are lost in a float's rounding.
  std::vector<float> weights;
  for (const double weight : BlurCurve(size, sigma)) {
    if (weight < kNothing) break;
    weights.push_back(static_cast<float>(weight));
  }
  return weights;
}

void BlurFloats(const FloatImage& image, const std::vector<float>& weights,
                float* out) {
  CHECK(!weights.empty());
  const int64_t height = image.size.height;
  const int64_t count = image.size.width * image.channels;
  if (image.size.pixels() == 0) return;
  const auto reach = std::ssize(weights) - 1;
  std::vector<float> padded(static_cast<size_t>(count + 2 * reach * image.channels));
  std::vector<float> along(static_cast<size_t>(height * count));
  for (int64_t row = 0; row < height; ++row) {
    BlurRow(image.first + row * count, image, weights, padded,
            along.data() + row * count);
  }
  const auto at = [&](int64_t row) {
    return along.data() + Reflected(row, height) * count;
  };
  for (int64_t row = 0; row < height; ++row, out += count) {
    Start(at(row), weights[0], count, out);
    for (int64_t k = 1; k <= reach; ++k) {
      AddBoth(at(row - k), at(row + k), weights[k], count, out);
    }
  }
}

}  // namespace millrace::kernels
