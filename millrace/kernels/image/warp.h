// Images turned, moved, scaled and sheared. For each pixel of the result it is computed
// where it comes from; what lies outside of the image is a fill colour. Coordinates are
// torchvision's: angles in degrees, pixels are squares, all is done around the middle
// of the image. Pure; places are computed in integers, so that every machine gives the
// same bits.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

#include "millrace/kernels/image/float_image.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Where a place of the result lies in the image, both counted from the upper left
// corner in widths of a pixel: x = xx * x + xy * y + x0, and y likewise.
struct AffineMap {
  double xx = 1;
  double xy = 0;
  double x0 = 0;
  double yx = 0;
  double yy = 1;
  double y0 = 0;
};

// What to do with an image.
struct Affine {
  double angle = 0;        // Degrees, clockwise.
  double translate_x = 0;  // Pixels, to the right ...
  double translate_y = 0;  // ... and down.
  double scale = 1;
  double shear_x = 0;  // Degrees.
  double shear_y = 0;
};

// Checks that an Affine can be computed: angles finite, scale from 0.001 to 1000, shear
// within 85 degrees, translation within a million pixels.
absl::Status CheckAffine(const Affine& affine);

// Around the middle, to a result of perhaps another size. Requires: CheckAffine.
AffineMap MapOf(const Affine& affine, const ImageSize& from, const ImageSize& to);

// How large a turned image must be to hold all of it.
ImageSize TurnedSize(const ImageSize& size, double angle);

// Sine and cosine of degrees, the same bits on every machine, exact at quarter turns.
struct SineCosine {
  double sine = 0;
  double cosine = 0;

  // Requires: finite.
  static SineCosine Of(double degrees);
};

struct WarpOptions {
  bool bilinear = false;           // Else the nearest pixel.
  std::vector<uint8_t> fill = {};  // One pixel, also of floats.
};

// Writes the warped image, side by side, to `out`, which must not be the image.
// Requires: both sizes pass CheckImageSize, and the map came from above.
void Warp(const PixelView& image, const AffineMap& map, const WarpOptions& options,
          const ImageSize& size, uint8_t* out);
void Warp(const FloatImage& image, const AffineMap& map, const WarpOptions& options,
          const ImageSize& size, float* out);

}  // namespace millrace::kernels
