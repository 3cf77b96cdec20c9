// What the functions of this folder speak of: sizes, boxes, and pixels as bytes in rows
// of columns of channels (HWC). Plain data and pure functions.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace millrace::kernels {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;

  int64_t pixels() const { return height * width; }

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// What every decoder gives: red, green and blue.
inline constexpr int64_t kColours = 3;

// No side is longer (libjpeg's own limit), and no image has more pixels: a header of a
// few bytes must not make us take gigabytes.
inline constexpr int64_t kSideMax = 65'500;
inline constexpr int64_t kPixelsMax = int64_t{1} << 27;

// Checks a size that a header claims, before any memory is taken for it.
absl::Status CheckImageSize(const ImageSize& size);

struct Box {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;

  ImageSize size() const { return {.height = height, .width = width}; }

  friend bool operator==(const Box&, const Box&) = default;
};

inline Box WholeOf(const ImageSize& size) {
  return {.top = 0, .left = 0, .height = size.height, .width = size.width};
}

// Checks that a box lies inside an image. An empty box is inside.
absl::Status CheckBox(const Box& box, const ImageSize& size);

// Pixels of somebody else, perhaps a part of a larger image.
struct PixelView {
  const uint8_t* first = nullptr;
  ImageSize size;
  int64_t channels = kColours;
  int64_t stride = 0;  // Bytes from one row of pixels to the next.

  const uint8_t* Row(int64_t row) const { return first + row * stride; }
};

// Views pixels that lie side by side.
inline PixelView DenseView(const uint8_t* first, const ImageSize& size,
                           int64_t channels = kColours) {
  return {.first = first,
          .size = size,
          .channels = channels,
          .stride = size.width * channels};
}

// Views a part, without a copy. Requires: CheckBox says so.
PixelView PartOf(const PixelView& image, const Box& box);

// Copies pixels side by side to `out`.
void CopyPixels(const PixelView& image, uint8_t* out);

}  // namespace millrace::kernels
