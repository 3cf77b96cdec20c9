#include "millrace/kernels/image/image.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/text.h"

namespace millrace::kernels {
namespace {

std::string Shown(const ImageSize& size) {
  return base::StrCat(size.height, " x ", size.width);
}

}  // namespace

absl::Status CheckImageSize(const ImageSize& size) {
  if (size.height <= 0 || size.width <= 0) {
    return absl::InvalidArgumentError(
        base::StrCat("an image has no pixels: it is ", Shown(size)));
  }
  if (size.height > kSideMax || size.width > kSideMax || size.pixels() > kPixelsMax) {
    return absl::InvalidArgumentError(
        base::StrCat("an image is too large: a side may have ", kSideMax,
                     " pixels and all ", kPixelsMax, ", but it is ", Shown(size)));
  }
  return absl::OkStatus();
}

absl::Status CheckBox(const Box& box, const ImageSize& size) {
  // Compared by differences: the sums could be too large for an int64.
  const bool inside = box.top >= 0 && box.left >= 0 && box.height >= 0 &&
                      box.width >= 0 && box.height <= size.height &&
                      box.width <= size.width && box.top <= size.height - box.height &&
                      box.left <= size.width - box.width;
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "the box does not lie inside the image: top ", box.top, ", left ", box.left,
      ", height ", box.height, ", width ", box.width, " of ", Shown(size)));
}

PixelView PartOf(const PixelView& image, const Box& box) {
  CHECK(CheckBox(box, image.size).ok());
  PixelView part = image;
  part.size = box.size();
  if (box.size().pixels() == 0) return part;
  part.first = image.Row(box.top) + box.left * image.channels;
  return part;
}

void CopyPixels(const PixelView& image, uint8_t* out) {
  const int64_t bytes = image.size.width * image.channels;
  if (image.size.height == 0 || bytes == 0) return;
  if (image.stride == bytes) {
    std::memcpy(out, image.first, static_cast<size_t>(image.size.height * bytes));
    return;
  }
  for (int64_t row = 0; row < image.size.height; ++row) {
    std::memcpy(out + row * bytes, image.Row(row), static_cast<size_t>(bytes));
  }
}

}  // namespace millrace::kernels
