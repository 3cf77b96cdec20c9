// PNG to RGB with 8 bits, through libpng. Palettes, grey, 16 bits (their upper half)
// and interlaced images become RGB; transparency is dropped, colour profiles and gamma
// are ignored, as most loaders do. Pure: any bytes give pixels or an error, the same on
// every machine.
//
// What is damaged is an error (InvalidArgument): truncated data, wrong checksums of
// what matters, pixels that do not come to their end. libpng's warnings are about what
// we do not read, and are not.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Tells whether bytes begin as a PNG does.
bool IsPng(std::string_view bytes);

// Reads the size from the header alone, within the limits of CheckImageSize.
absl::StatusOr<ImageSize> PngSize(std::string_view bytes);

// Decodes all of it. Requires: `out` holds exactly the image in RGB.
absl::Status DecodePng(std::string_view bytes, absl::Span<uint8_t> out);

}  // namespace millrace::kernels
