// Encodes an image as WebP, lossy, for storing what was resized. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// The longest side that the format knows.
inline constexpr int64_t kWebpSideMax = 16383;

// Gives the bytes of the file. An error when a side is too long.
// Requires: three channels, at least one pixel, and a quality from 1 to 100.
absl::StatusOr<std::string> EncodeWebp(const PixelView& pixels, int quality);

}  // namespace millrace::kernels
