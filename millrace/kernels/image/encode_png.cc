#include "millrace/kernels/image/encode_png.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "png.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

// With the preconditions libpng has nothing to fail on but memory.
[[noreturn]] void EndProcess(png_structp, png_const_charp why) {
  CHECK(false) << why;
  __builtin_unreachable();
}

void AppendBytes(png_structp png, png_bytep bytes, size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), count);
}

}  // namespace

std::string EncodePng(const PixelView& pixels) {
  CHECK_EQ(pixels.channels, kColours);
  CHECK(pixels.size.height >= 1 && pixels.size.height <= kSideMax);
  CHECK(pixels.size.width >= 1 && pixels.size.width <= kSideMax);
  std::string encoded;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, EndProcess, nullptr);
  png_infop info = png_create_info_struct(png);
  CHECK(png != nullptr && info != nullptr) << "no memory for libpng";
  png_set_write_fn(png, &encoded, AppendBytes, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.size.width),
               static_cast<png_uint_32>(pixels.size.height), 8, PNG_COLOR_TYPE_RGB,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (int64_t row = 0; row < pixels.size.height; ++row) {
    png_write_row(png, pixels.Row(row));
  }
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return encoded;
}

}  // namespace millrace::kernels
