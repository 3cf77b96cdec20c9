// From rows of columns of channels (HWC) to a plane for each channel (CHW) and back, of
// values of 1, 2, 4 or 8 bytes. Three channels go at the speed of memory, others value
// by value. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::kernels {

// So many channels of so many pixels.
struct Planes {
  int64_t channels = 0;
  int64_t pixels = 0;
  int64_t value_bytes = 1;
};

// Writes planes from pixels. Requires: aligned as the values are, so too below.
void ToPlanes(const std::byte* pixels, const Planes& shape, std::byte* out);

// Writes pixels from planes.
void FromPlanes(const std::byte* planes, const Planes& shape, std::byte* out);

}  // namespace millrace::kernels
