// An image of float32 values, side by side in rows of columns of channels. Plain data.
#pragma once

#include <cstdint>

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

struct FloatImage {
  const float* first = nullptr;
  ImageSize size;
  int64_t channels = kColours;
};

}  // namespace millrace::kernels
