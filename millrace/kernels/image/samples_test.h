// For tests and benchmarks: sample images. Pictures drawn from a seed, JPEGs and PNGs
// of every kind made from them, and the files that tools/image_samples.py wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>  // IWYU pragma: keep: jpeglib.h needs it before itself.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "jpeglib.h"
#include "png.h"

#include "millrace/base/check.h"
#include "millrace/base/golden_file.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// An image that owns its pixels.
struct Picture {
  ImageSize size;
  int64_t channels = kColours;
  std::vector<uint8_t> pixels = {};

  PixelView view() const { return DenseView(pixels.data(), size, channels); }
};

inline Picture Blank(const ImageSize& size, int64_t channels = kColours) {
  return {.size = size,
          .channels = channels,
          .pixels = std::vector<uint8_t>(size.pixels() * channels)};
}

// Slopes, edges and some noise (0 to 255 levels of it).
inline Picture Draw(const ImageSize& size, int64_t channels = kColours,
                    int64_t noise = 60, uint64_t seed = 1) {
  base::Generator random(base::RandomKey(seed, 0, 0), {});
  Picture picture = Blank(size, channels);
  size_t place = 0;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t slope = (x * (c + 2) + y * (5 - c)) % 256 / 2;
        const int64_t edge = (x / 11 + y / 7 + c) % 2 == 0 ? 70 : 0;
        const int64_t value = slope + edge + random.Integer(0, noise + 1);
        picture.pixels[place++] = static_cast<uint8_t>(value > 255 ? 255 : value);
      }
    }
  }
  return picture;
}

// The pixels of a box.
inline Picture Cut(const Picture& picture, const Box& box) {
  Picture cut = Blank(box.size(), picture.channels);
  CopyPixels(PartOf(picture.view(), box), cut.pixels.data());
  return cut;
}

// A box with pixels, anywhere in an image.
inline Box RandomBox(const ImageSize& size, base::Generator& random) {
  Box box;
  box.height = random.Integer(1, size.height + 1);
  box.width = random.Integer(1, size.width + 1);
  box.top = random.Integer(0, size.height - box.height + 1);
  box.left = random.Integer(0, size.width - box.width + 1);
  return box;
}

// --- Encoding ---

// Kinds of JPEG. Pictures of 1, 3 and 4 channels become grey, YCbCr and YCCK or CMYK.
struct JpegKind {
  std::string name = {};
  int quality = 85;
  int across = 1;  // How many times fewer colours than pixels, along a row ...
  int down = 1;    // ... and along a column.
  bool progressive = false;
  int restarts = 0;  // MCUs between restart markers.
  bool plain_inks = false;
  bool own_codes = false;  // Made for the image, not the usual ones.
  bool by_band = false;    // Grey, progressive, all bits of a value in one scan.
};

// A scan that gives all bits may come again without harm.
inline constexpr jpeg_scan_info kScansByBand[] = {{1, {0}, 0, 0, 0, 0},
                                                  {1, {0}, 1, 63, 0, 0}};

inline void SetKind(jpeg_compress_struct& info, const JpegKind& kind) {
  jpeg_set_defaults(&info);
  if (info.num_components == 4 && !kind.plain_inks) {
    jpeg_set_colorspace(&info, JCS_YCCK);
  }
  jpeg_set_quality(&info, kind.quality, TRUE);
  for (int i = 0; i < info.num_components; ++i) {
    info.comp_info[i].h_samp_factor = i % 3 == 0 ? kind.across : 1;
    info.comp_info[i].v_samp_factor = i % 3 == 0 ? kind.down : 1;
  }
  if (kind.progressive) jpeg_simple_progression(&info);
  if (kind.by_band) {
    info.scan_info = kScansByBand;
    info.num_scans = std::size(kScansByBand);
  }
  info.restart_interval = static_cast<unsigned>(kind.restarts);
  info.optimize_coding = kind.own_codes ? TRUE : FALSE;
}

inline std::string EncodeJpeg(const Picture& picture, const JpegKind& kind = {}) {
  jpeg_compress_struct info = {};
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's own type.
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = static_cast<JDIMENSION>(picture.size.height);
  info.image_width = static_cast<JDIMENSION>(picture.size.width);
  info.input_components = static_cast<int>(picture.channels);
  const J_COLOR_SPACE spaces[] = {JCS_GRAYSCALE, JCS_UNKNOWN, JCS_RGB, JCS_CMYK};
  info.in_color_space = spaces[picture.channels - 1];
  SetKind(info, kind);
  jpeg_start_compress(&info, TRUE);
  for (int64_t row = 0; row < picture.size.height; ++row) {
    auto* line = const_cast<JSAMPROW>(picture.view().Row(row));
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string encoded(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return encoded;
}

// Pixels are as the colour type and the bits say; 16 bits are two bytes, upper first.
inline std::string EncodePng(const Picture& picture,
                             int colour_type = PNG_COLOR_TYPE_RGB, int bits = 8,
                             bool interlaced = false) {
  std::string encoded;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto write = [](png_structp into, png_bytep bytes, size_t count) {
    static_cast<std::string*>(png_get_io_ptr(into))
        ->append(reinterpret_cast<const char*>(bytes), count);
  };
  png_set_write_fn(png, &encoded, write, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.size.width),
               static_cast<png_uint_32>(picture.size.height), bits, colour_type,
               interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  rows.reserve(picture.size.height);
  for (int64_t row = 0; row < picture.size.height; ++row) {
    rows.push_back(const_cast<png_bytep>(picture.view().Row(row)));
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return encoded;
}

// --- Files ---

inline std::string ReadSample(const std::string& name) {
  const std::string path =
      base::SourcePath(base::StrCat("millrace/kernels/image/testdata/", name));
  std::ifstream file(path, std::ios::binary);
  CHECK(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace millrace::kernels
