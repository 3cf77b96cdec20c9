#include "millrace/kernels/image/flip.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "millrace/kernels/image/image.h"

// Vectors without a fixed size are left to NEON: the loop goes by blocks of 128 bits.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "millrace/kernels/image/flip.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();

namespace millrace::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Mirrors most of a row of pixels of three bytes, and gives how many it wrote: the
// first so many of the result, the last so many of the source.
int64_t FlipColours(const uint8_t* row, int64_t width, uint8_t* out) {
  int64_t done = 0;
#if HWY_TARGET != HWY_SCALAR
  // Five pixels from the 15 bytes after the first, which is of a pixel before them; the
  // byte written too many is of a pixel still to come. Both are there while six are
  // left.
  const hn::FixedTag<uint8_t, 16> bytes;
  alignas(16) static constexpr uint8_t kMirror[16] = {13, 14, 15, 10, 11, 12, 7, 8,
                                                      9,  4,  5,  6,  1,  2,  3, 0};
  const auto mirror = hn::Load(bytes, kMirror);
  for (; width - done >= 6; done += 5) {
    const auto pixels = hn::LoadU(bytes, row + 3 * (width - done - 5) - 1);
    hn::StoreU(hn::TableLookupBytes(pixels, mirror), bytes, out + 3 * done);
  }
#else
  (void)row, (void)width, (void)out;
#endif
  return done;
}

}  // namespace millrace::kernels::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace millrace::kernels {

HWY_EXPORT(FlipColours);

void FlipHorizontal(const PixelView& image, uint8_t* out) {
  const int64_t width = image.size.width;
  const int64_t pixel = image.channels;
  const auto flip_colours = HWY_DYNAMIC_DISPATCH(FlipColours);
  for (int64_t row = 0; row < image.size.height; ++row, out += width * pixel) {
    const uint8_t* source = image.Row(row);
    int64_t done = pixel == kColours ? flip_colours(source, width, out) : 0;
    for (; done < width; ++done) {
      std::memcpy(out + done * pixel, source + (width - 1 - done) * pixel,
                  static_cast<size_t>(pixel));
    }
  }
}

void FlipVertical(const PixelView& image, uint8_t* out) {
  const int64_t bytes = image.size.width * image.channels;
  if (bytes == 0) return;
  for (int64_t row = image.size.height - 1; row >= 0; --row, out += bytes) {
    std::memcpy(out, image.Row(row), static_cast<size_t>(bytes));
  }
}

}  // namespace millrace::kernels

#endif  // HWY_ONCE
