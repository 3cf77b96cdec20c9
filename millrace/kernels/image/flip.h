// Mirrors images left to right, or top to bottom. Pixels of three bytes go five at a
// time, others one by one: about the cost of a copy. Pure.
#pragma once

#include <cstdint>

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Writes the mirrored image, side by side, to `out`. A pixel may be of any bytes: for
// values of several bytes, count them all as channels.
void FlipHorizontal(const PixelView& image, uint8_t* out);

// The same top to bottom.
void FlipVertical(const PixelView& image, uint8_t* out);

}  // namespace millrace::kernels
