// WebP to RGB with 8 bits, through libwebp, lossy and lossless. Transparency is
// dropped, colour profiles are ignored, and of an animation there is no one image: an
// error. Pure: any bytes give pixels or an error, the same on every machine. What is
// damaged is an error (InvalidArgument).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Tells whether bytes begin as a WebP does.
bool IsWebp(std::string_view bytes);

// Reads the size from the header alone, within the limits of CheckImageSize.
absl::StatusOr<ImageSize> WebpSize(std::string_view bytes);

// Decodes all of it. Requires: `out` holds exactly the image in RGB.
absl::Status DecodeWebp(std::string_view bytes, absl::Span<uint8_t> out);

}  // namespace millrace::kernels
