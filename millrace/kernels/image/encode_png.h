// Encodes an image as PNG, without loss. Pure.
#pragma once

#include <string>

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Gives the bytes of the file. Requires: three channels, at least one pixel, no side
// above 65,500.
std::string EncodePng(const PixelView& pixels);

}  // namespace millrace::kernels
