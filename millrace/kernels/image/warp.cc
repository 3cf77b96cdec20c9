#include "millrace/kernels/image/warp.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/float_image.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

constexpr double kShearMost = 85;
constexpr double kScaleMost = 1000;
constexpr double kTranslateMost = 1e6;
constexpr double kPi = 3.14159265358979323846;

// Places have this many bits of fraction. With the limits of CheckAffine and of sizes
// none comes near 2^63.
constexpr int kFraction = 24;
constexpr int kWeightBits = 10;

int64_t Fixed(double x) {
  return static_cast<int64_t>(std::floor(x * (1 << kFraction) + 0.5));
}

// Series around 0, for at most an eighth of a turn.
double SmallSine(double x) {
  const double square = x * x;
  double sum = 0;
  for (int n = 17; n >= 3; n -= 2) sum = (1 - sum) * square / (n * (n - 1));
  return x * (1 - sum);
}

double SmallCosine(double x) {
  const double square = x * x;
  double sum = 0;
  for (int n = 18; n >= 2; n -= 2) sum = (1 - sum) * square / (n * (n - 1));
  return 1 - sum;
}

// One image being read: pixels beyond its edge are the fill colour.
template <typename T>
struct Source {
  const T* first;
  ImageSize size;
  int64_t channels;
  int64_t stride;  // Values from one row of pixels to the next.
  const T* fill;

  const T* At(int64_t x, int64_t y) const {
    const bool inside = x >= 0 && x < size.width && y >= 0 && y < size.height;
    return inside ? first + y * stride + x * channels : fill;
  }
};

// The value between four, by how far it is to the right and down, in 2^-kWeightBits.
uint8_t Between(const std::array<uint8_t, 4>& values, int right, int down) {
  constexpr int kOne = 1 << kWeightBits;
  const int upper = values[0] * (kOne - right) + values[1] * right;
  const int lower = values[2] * (kOne - right) + values[3] * right;
  const int sum = upper * (kOne - down) + lower * down;
  return static_cast<uint8_t>((sum + (1 << (2 * kWeightBits - 1))) >>
                              (2 * kWeightBits));
}

float Between(const std::array<float, 4>& values, int right, int down) {
  constexpr float kOne = 1 << kWeightBits;
  const float across = static_cast<float>(right) / kOne;
  const float along = static_cast<float>(down) / kOne;
  const float upper = values[0] * (1 - across) + values[1] * across;
  const float lower = values[2] * (1 - across) + values[3] * across;
  return upper * (1 - along) + lower * along;
}

template <typename T>
void TakeNearest(const Source<T>& source, int64_t x, int64_t y, T* out) {
  const T* pixel = source.At(x >> kFraction, y >> kFraction);
  for (int64_t c = 0; c < source.channels; ++c) out[c] = pixel[c];
}

template <typename T>
void TakeBetween(const Source<T>& source, int64_t x, int64_t y, T* out) {
  constexpr int64_t kHalf = int64_t{1} << (kFraction - 1);
  constexpr int kOne = 1 << kWeightBits;
  const auto weight = [](int64_t place) {
    return static_cast<int>((place >> (kFraction - kWeightBits)) & (kOne - 1));
  };
  x -= kHalf;  // From the corners of pixels to their middles.
  y -= kHalf;
  const int64_t left = x >> kFraction;
  const int64_t top = y >> kFraction;
  const int right_weight = weight(x);
  const int lower_weight = weight(y);
  const T* pixels[] = {source.At(left, top), source.At(left + 1, top),
                       source.At(left, top + 1), source.At(left + 1, top + 1)};
  for (int64_t c = 0; c < source.channels; ++c) {
    out[c] = Between(
        std::array<T, 4>{pixels[0][c], pixels[1][c], pixels[2][c], pixels[3][c]},
        right_weight, lower_weight);
  }
}

template <typename T>
using Take = void (*)(const Source<T>& source, int64_t x, int64_t y, T* out);

template <typename T, Take<T> kTake>
void WarpAll(const Source<T>& source, const AffineMap& map, const ImageSize& size,
             T* out) {
  const int64_t xx = Fixed(map.xx);
  const int64_t yx = Fixed(map.yx);
  for (int64_t row = 0; row < size.height; ++row) {
    const double down = static_cast<double>(row) + 0.5;
    int64_t x = Fixed(map.xx * 0.5 + map.xy * down + map.x0);
    int64_t y = Fixed(map.yx * 0.5 + map.yy * down + map.y0);
    for (int64_t column = 0; column < size.width; ++column) {
      kTake(source, x, y, out);
      x += xx;
      y += yx;
      out += source.channels;
    }
  }
}

}  // namespace

absl::Status CheckAffine(const Affine& affine) {
  const bool right = std::isfinite(affine.angle) && affine.scale >= 1 / kScaleMost &&
                     affine.scale <= kScaleMost &&
                     std::abs(affine.shear_x) <= kShearMost &&
                     std::abs(affine.shear_y) <= kShearMost &&
                     std::abs(affine.translate_x) <= kTranslateMost &&
                     std::abs(affine.translate_y) <= kTranslateMost;
  if (right) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "cannot turn by ", affine.angle, " degrees, move by ", affine.translate_x,
      " and ", affine.translate_y, " pixels, scale by ", affine.scale, " and shear by ",
      affine.shear_x, " and ", affine.shear_y,
      " degrees: numbers must be finite, a scale from 0.001 to 1000, a shear from -85 "
      "to 85"));
}

SineCosine SineCosine::Of(double degrees) {
  CHECK(std::isfinite(degrees)) << degrees;
  double rest = std::fmod(degrees, 360.0);  // Exact, as is what follows.
  if (rest < 0) rest += 360;
  const int quarter = static_cast<int>(std::floor((rest + 45) / 90)) % 4;
  rest -= rest >= 315 ? 360 : 90 * quarter;
  const double sine = SmallSine(rest / 180 * kPi);
  const double cosine = SmallCosine(rest / 180 * kPi);
  switch (quarter) {
    case 0:
      return {.sine = sine, .cosine = cosine};
    case 1:
      return {.sine = cosine, .cosine = -sine};
    case 2:
      return {.sine = -sine, .cosine = -cosine};
    default:
      return {.sine = -cosine, .cosine = sine};
  }
}

// The matrix of torchvision's affine, inverted: shear along x, then along y, then turn,
// then scale; a determinant of one makes the inverse a swap of places and signs.
AffineMap MapOf(const Affine& affine, const ImageSize& from, const ImageSize& to) {
  CHECK(CheckAffine(affine).ok());
  const SineCosine turn = SineCosine::Of(affine.angle);
  const SineCosine both = SineCosine::Of(affine.angle - affine.shear_y);
  const SineCosine across = SineCosine::Of(affine.shear_x);
  const double stretch = 1 / SineCosine::Of(affine.shear_y).cosine;
  const double tangent = across.sine / across.cosine;
  const double a = both.cosine * stretch;
  const double b = -both.cosine * stretch * tangent - turn.sine;
  const double c = both.sine * stretch;
  const double d = -both.sine * stretch * tangent + turn.cosine;
  AffineMap map = {.xx = d / affine.scale,
                   .xy = -b / affine.scale,
                   .yx = -c / affine.scale,
                   .yy = a / affine.scale};
  const double middle_x = static_cast<double>(to.width) / 2 + affine.translate_x;
  const double middle_y = static_cast<double>(to.height) / 2 + affine.translate_y;
  map.x0 = static_cast<double>(from.width) / 2 - map.xx * middle_x - map.xy * middle_y;
  map.y0 = static_cast<double>(from.height) / 2 - map.yx * middle_x - map.yy * middle_y;
  return map;
}

// Corners are rounded to a ten thousandth of a pixel first, as in torchvision; quarter
// turns move whole pixels.
ImageSize TurnedSize(const ImageSize& size, double angle) {
  const SineCosine turn = SineCosine::Of(angle);
  if (turn.sine == 0) return size;
  if (turn.cosine == 0) return {.height = size.width, .width = size.height};
  const double width = static_cast<double>(size.width) / 2;
  const double height = static_cast<double>(size.height) / 2;
  const auto side = [](double middle, double reach) {
    const auto rounded = [](double x) { return std::trunc(x * 1e4) / 1e4; };
    return static_cast<int64_t>(std::ceil(rounded(middle + reach)) -
                                std::floor(rounded(middle - reach)));
  };
  const double sine = std::abs(turn.sine);
  const double cosine = std::abs(turn.cosine);
  return {.height = side(height, width * sine + height * cosine),
          .width = side(width, width * cosine + height * sine)};
}

namespace {

template <typename T>
void WarpAs(const Source<T>& source, const AffineMap& map, bool bilinear,
            const ImageSize& size, T* out) {
  CHECK(CheckImageSize(source.size).ok() && CheckImageSize(size).ok());
  if (bilinear) {
    WarpAll<T, TakeBetween<T>>(source, map, size, out);
  } else {
    WarpAll<T, TakeNearest<T>>(source, map, size, out);
  }
}

}  // namespace

void Warp(const PixelView& image, const AffineMap& map, const WarpOptions& options,
          const ImageSize& size, uint8_t* out) {
  CHECK_EQ(static_cast<int64_t>(options.fill.size()), image.channels);
  const Source<uint8_t> source = {.first = image.first,
                                  .size = image.size,
                                  .channels = image.channels,
                                  .stride = image.stride,
                                  .fill = options.fill.data()};
  WarpAs(source, map, options.bilinear, size, out);
}

void Warp(const FloatImage& image, const AffineMap& map, const WarpOptions& options,
          const ImageSize& size, float* out) {
  CHECK_EQ(static_cast<int64_t>(options.fill.size()), image.channels);
  const std::vector<float> fill(options.fill.begin(), options.fill.end());
  const Source<float> source = {.first = image.first,
                                .size = image.size,
                                .channels = image.channels,
                                .stride = image.size.width * image.channels,
                                .fill = fill.data()};
  WarpAs(source, map, options.bilinear, size, out);
}

}  // namespace millrace::kernels
