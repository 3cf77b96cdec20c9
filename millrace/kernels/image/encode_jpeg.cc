#include "millrace/kernels/image/encode_jpeg.h"

#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <cstdlib>
#include <string>

#include "jpeglib.h"

#include "millrace/base/check.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

void SetForm(const PixelView& pixels, int quality, jpeg_compress_struct& info) {
  info.image_height = static_cast<JDIMENSION>(pixels.size.height);
  info.image_width = static_cast<JDIMENSION>(pixels.size.width);
  info.input_components = static_cast<int>(kColours);
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
}

}  // namespace

// With these preconditions libjpeg has nothing to fail on but memory, where its own way
// out (the process ends) is as good as any.
std::string EncodeJpeg(const PixelView& pixels, int quality) {
  CHECK_EQ(pixels.channels, kColours);
  CHECK(pixels.size.height >= 1 && pixels.size.height <= kSideMax);
  CHECK(pixels.size.width >= 1 && pixels.size.width <= kSideMax);
  CHECK(quality >= 1 && quality <= 100) << quality;
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's own type.
  jpeg_mem_dest(&info, &bytes, &size);
  SetForm(pixels, quality, info);
  jpeg_start_compress(&info, TRUE);
  for (int64_t row = 0; row < pixels.size.height; ++row) {
    auto* line = const_cast<JSAMPROW>(pixels.Row(row));
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string encoded(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return encoded;
}

}  // namespace millrace::kernels
