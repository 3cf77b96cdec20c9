// JPEG to RGB, through libjpeg-turbo: whole, one region, or a power of two smaller.
// Grey and CMYK become RGB as well; EXIF is ignored. Pure: any bytes give pixels or an
// error, the same on every machine, and nothing is kept between calls. libjpeg takes
// some memory of its own from the heap: a few rows, or 6 bytes a pixel when the image
// is progressive.
//
// What is damaged is an error (InvalidArgument), never grey pixels: truncated data,
// codes that do not exist, lost restart markers. What many real files have and what
// costs no pixel is accepted: bytes too many before a marker, an unknown version of
// JFIF, an unknown Adobe transform, data after the end.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Tells whether bytes begin as a JPEG does.
bool IsJpeg(std::string_view bytes);

// Reads the size from the header alone, within the limits of CheckImageSize. Costs
// less than a microsecond.
absl::StatusOr<ImageSize> JpegSize(std::string_view bytes);

// The size of an image decoded a few times smaller: every begun pixel counts.
ImageSize ScaledSize(const ImageSize& size, int64_t scale);

// Decodes all of it, `scale` (1, 2, 4 or 8) times smaller on each side by libjpeg's own
// smaller transforms. Requires: `out` holds exactly the scaled size in RGB.
absl::Status DecodeJpeg(std::string_view bytes, int64_t scale, absl::Span<uint8_t> out);

// Decodes what lies in the box: bit for bit what decoding all and cutting gives. Rows
// below the box are not decoded, so damage there is not seen; rows above and columns
// beside it cost only their entropy decoding.
// Requires: the box has pixels, and `out` holds exactly them in RGB.
absl::Status DecodeJpegRegion(std::string_view bytes, const Box& box,
                              absl::Span<uint8_t> out);

// How many bytes DecodeJpegPart needs for a box.
int64_t JpegPartBytes(const Box& box);

// Decodes what lies in the box, the pixels of DecodeJpegRegion, and leaves them in
// `room` as libjpeg gave them, with others beside them, so that none is copied.
// Requires: the box has pixels, and `room` holds JpegPartBytes(box).
absl::StatusOr<PixelView> DecodeJpegPart(std::string_view bytes, const Box& box,
                                         absl::Span<uint8_t> room);

}  // namespace millrace::kernels
