#include "millrace/kernels/image/decode_png.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "png.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/escape.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n";

absl::Status Corrupt(std::string_view why) {
  return absl::InvalidArgumentError(base::StrCat("not a whole PNG: ", why));
}

// What is left to read.
struct Source {
  std::string_view rest;
};

[[noreturn]] void StopOnError(png_structp png, png_const_charp why) {
  auto& escape = *static_cast<Escape*>(png_get_error_ptr(png));
  std::strncpy(escape.message, why, sizeof(escape.message) - 1);
  EscapeFrom(escape);
}

void IgnoreWarning(png_structp, png_const_charp) {}

void ReadBytes(png_structp png, png_bytep out, size_t count) {
  auto& source = *static_cast<Source*>(png_get_io_ptr(png));
  if (source.rest.size() < count) png_error(png, "it is cut off");
  std::memcpy(out, source.rest.data(), count);
  source.rest.remove_prefix(count);
}

// Nothing beside the pixels is read: it would cost time, and a few bytes of a packed
// profile could become megabytes. Transparency is among it, since it is dropped.
void SkipTheRest(png_structp png) {
  static constexpr png_byte kChunks[] =
      "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0"
      "sPLT\0sRGB\0tEXt\0tIME\0tRNS\0zTXt";
  constexpr int kChunkBytes = 5;
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, kChunks,
                              sizeof(kChunks) / kChunkBytes);
}

// Reads the header and asks for RGB. May escape, like what follows.
void Start(png_structp png, png_infop info) {
  SkipTheRest(png);
  png_set_user_limits(png, kSideMax, kSideMax);
  png_read_info(png, info);
  png_set_palette_to_rgb(png);
  png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
}

void Decode(png_structp png, png_infop info, const ImageSize& size, uint8_t* out) {
  Start(png, info);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  if (png_get_image_height(png, info) != size.height ||
      row_bytes != static_cast<size_t>(size.width * kColours)) {
    png_error(png, "its header gives two sizes");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t row = 0; row < size.height; ++row) {
      png_read_row(png, out + row * static_cast<int64_t>(row_bytes), nullptr);
    }
  }
  png_read_end(png, nullptr);
}

int64_t Number(std::string_view bytes, size_t place) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) {
    number = number * 256 + static_cast<uint8_t>(bytes[place + i]);
  }
  return number;
}

}  // namespace

bool IsPng(std::string_view bytes) { return bytes.starts_with(kSignature); }

absl::StatusOr<ImageSize> PngSize(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 24;  // Signature, length, "IHDR", width, height.
  if (!IsPng(bytes)) return Corrupt("it does not begin as one");
  if (bytes.size() < kHeaderBytes || bytes.substr(12, 4) != "IHDR") {
    return Corrupt("its header has no size");
  }
  const ImageSize size = {.height = Number(bytes, 20), .width = Number(bytes, 16)};
  TRY(CheckImageSize(size));
  return size;
}

absl::Status DecodePng(std::string_view bytes, absl::Span<uint8_t> out) {
  const ImageSize size = TRY(PngSize(bytes));
  CHECK_EQ(static_cast<int64_t>(out.size()), size.pixels() * kColours);
  Escape escape = {};
  Source source = {.rest = bytes};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &escape, StopOnError,
                                           IgnoreWarning);
  if (png == nullptr) return absl::ResourceExhaustedError("no memory for libpng");
  png_infop info = png_create_info_struct(png);
  const bool done = info != nullptr && RunWithEscape(escape, [&] {
                      png_set_read_fn(png, &source, ReadBytes);
                      Decode(png, info, size, out.data());
                    });
  png_destroy_read_struct(&png, &info, nullptr);
  return done ? absl::OkStatus() : Corrupt(escape.message);
}

}  // namespace millrace::kernels
