// Pixels around an image that are not there: cuts out a box that may reach beyond the
// edges, which is what padding, cropping with padding and cropping the middle are.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

// What lies beyond the edge: one value; the pixel at the edge; the image mirrored, with
// the pixel at the edge once (reflect) or twice (symmetric).
enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kSymmetric };

// Requires: constant, edge, reflect or symmetric.
PadMode PadModeOf(std::string_view name);

// Where the place that lies so far from the first is found, or -1 for the constant.
// Requires: size > 0 unless constant.
int64_t PlaceWithin(int64_t place, int64_t size, PadMode mode);

// Writes what lies in a box, side by side, to `out`. The box may lie anywhere; `fill`
// is one pixel of bytes, for what is constant. Requires: the image has pixels, unless
// constant; the size of the box is one of CheckImageSize.
void CutPadded(const PixelView& image, const Box& box, PadMode mode,
               const std::vector<uint8_t>& fill, uint8_t* out);

// Checks that a mode can be used: an image without pixels has no edge.
absl::Status CheckPadded(const PixelView& image, PadMode mode);

}  // namespace millrace::kernels
