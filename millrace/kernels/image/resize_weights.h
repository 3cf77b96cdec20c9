// Where each pixel of a resized axis comes from, and with which weights, in fixed
// point: the part of resizing that is computed once per image and axis. Pure, and the
// same on every machine: integers, and double operations that IEEE 754 defines to the
// last bit. Pixels are squares: the centre of the first is at 0.5.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace millrace::kernels {

enum class ResizeMethod : uint8_t { kNearest, kBilinear, kBicubic };

// From "nearest", "bilinear" or "bicubic". Requires: one of them.
ResizeMethod ResizeMethodOf(std::string_view name);

// The source pixel under the centre of each pixel. Requires: sizes > 0, so too below.
std::vector<int64_t> NearestPlaces(int64_t from, int64_t to);

// One pixel between two neighbours: `first` and the one after it, which has the weight.
// Beyond the outermost centres the edge goes on, with weight 0.
struct Between {
  static constexpr int kBits = 15;  // A weight of 1 would be 2^15; it never is.

  int64_t first = 0;
  int16_t weight = 0;
};

std::vector<Between> BilinearPlaces(int64_t from, int64_t to);

// A pixel as a weighted sum of neighbours, for each pixel of an axis.
struct AxisWeights {
  int bits = 14;     // The weights of a pixel add up to 2^bits exactly.
  int64_t taps = 0;  // The most that a pixel needs, rounded up to groups of four;
  int64_t size = 0;  // so many weights has each of these pixels, the last ones 0.
  // By pixel: the neighbour of its first weight, and how many it has, all of them
  // inside. Where the axis has so many pixels, `taps` are inside as well.
  std::vector<int64_t> first = {};
  std::vector<int64_t> count = {};
  std::vector<int16_t> weights = {};

  const int16_t* Of(int64_t pixel) const { return weights.data() + pixel * taps; }
};

// The weights of Pillow's resize, which smooths (antialias) where pixels become fewer;
// without antialias the filter keeps the width of a source pixel.
// Requires: bilinear or bicubic.
AxisWeights FilterWeights(int64_t from, int64_t to, ResizeMethod method,
                          bool antialias);

}  // namespace millrace::kernels
