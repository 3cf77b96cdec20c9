#include "millrace/kernels/image/decode.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/kernels/image/decode_jpeg.h"
#include "millrace/kernels/image/decode_png.h"
#include "millrace/kernels/image/decode_webp.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/pixel_room.h"

namespace millrace::kernels {
namespace {

absl::Span<uint8_t> SpanOf(uint8_t* out, const ImageSize& size) {
  return absl::MakeSpan(out, static_cast<size_t>(size.pixels() * kColours));
}

// Of the formats that are decoded in one way only.
absl::Status DecodeWhole(std::string_view bytes, absl::Span<uint8_t> out) {
  return IsPng(bytes) ? DecodePng(bytes, out) : DecodeWebp(bytes, out);
}

}  // namespace

absl::StatusOr<ImageSize> EncodedSize(std::string_view bytes) {
  if (IsJpeg(bytes)) return JpegSize(bytes);
  if (IsPng(bytes)) return PngSize(bytes);
  if (IsWebp(bytes)) return WebpSize(bytes);
  return absl::InvalidArgumentError(
      "the bytes begin neither as JPEG nor as PNG nor as WebP do");
}

absl::StatusOr<ImageSize> DecodedSize(std::string_view bytes, int64_t scale) {
  const ImageSize size = TRY(EncodedSize(bytes));
  if (scale != 1 && !IsJpeg(bytes)) {
    return absl::InvalidArgumentError(
        "only JPEG can be decoded smaller: leave scale at 1, then resize");
  }
  return ScaledSize(size, scale);
}

absl::Status Decode(std::string_view bytes, int64_t scale, uint8_t* out) {
  const ImageSize size = TRY(DecodedSize(bytes, scale));
  if (IsJpeg(bytes)) return DecodeJpeg(bytes, scale, SpanOf(out, size));
  return DecodeWhole(bytes, SpanOf(out, size));
}

absl::Status DecodeRegion(std::string_view bytes, const Box& box, uint8_t* out) {
  const ImageSize size = TRY(EncodedSize(bytes));
  TRY(CheckBox(box, size));
  if (box.size().pixels() == 0) return absl::OkStatus();
  if (IsJpeg(bytes)) return DecodeJpegRegion(bytes, box, SpanOf(out, box.size()));
  std::vector<uint8_t> whole(static_cast<size_t>(size.pixels() * kColours));
  TRY(DecodeWhole(bytes, absl::MakeSpan(whole)));
  CopyPixels(PartOf(DenseView(whole.data(), size), box), out);
  return absl::OkStatus();
}

absl::StatusOr<PixelView> DecodePart(std::string_view bytes, const Box& box,
                                     PixelRoom& room) {
  const ImageSize size = TRY(EncodedSize(bytes));
  TRY(CheckBox(box, size));
  if (IsJpeg(bytes)) {
    return DecodeJpegPart(bytes, box, TRY(room.Take(JpegPartBytes(box))));
  }
  const absl::Span<uint8_t> whole = TRY(room.Take(size.pixels() * kColours));
  TRY(DecodeWhole(bytes, whole));
  return PartOf(DenseView(whole.data(), size), box);
}

}  // namespace millrace::kernels
