// Encodes an image as JPEG, for sample data and for storing what was resized. Colours
// at half the resolution of brightness (4:2:0), as most cameras do. Pure.
#pragma once

#include <string>

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// Gives the bytes of the file. Requires: three channels, at least one pixel, no side
// above 65,500, and a quality from 1 to 100.
std::string EncodeJpeg(const PixelView& pixels, int quality);

}  // namespace millrace::kernels
