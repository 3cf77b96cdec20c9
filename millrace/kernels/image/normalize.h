// Bytes to floats, (x * scale - mean) / deviation by channel, in one pass over the
// memory, into either layout. Pure, and bit for bit the same on every machine: each
// value is one product and one sum, both rounded to float.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace millrace::kernels {

// The same as x * factor + offset, for each channel.
struct ChannelLines {
  std::vector<float> factors = {};
  std::vector<float> offsets = {};

  // Computes both in double and rounds once. Requires: as many means as deviations,
  // and no deviation is 0.
  static ChannelLines Of(absl::Span<const double> means,
                         absl::Span<const double> deviations, double scale);

  int64_t channels() const { return static_cast<int64_t>(factors.size()); }
};

// Writes pixels × channels floats in the order of the bytes.
void Normalize(const uint8_t* bytes, int64_t pixels, const ChannelLines& lines,
               float* out);

// Writes a plane for each channel.
void NormalizeToPlanes(const uint8_t* bytes, int64_t pixels, const ChannelLines& lines,
                       float* out);

}  // namespace millrace::kernels
