// Where a random crop lies: the algorithm of torchvision's RandomResizedCrop. Pure; bit
// for bit the same on every machine.
#pragma once

#include "absl/status/status.h"

#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {

struct CropRanges {
  double scale_low = 0.08;  // The area of the box, as a share of the image's ...
  double scale_high = 1;
  double ratio_low = 0.75;  // ... and its width by its height.
  double ratio_high = 4.0 / 3;
};

// Checks that shares and ratios are above 0, in order, and not absurd.
absl::Status CheckRanges(const CropRanges& ranges);

// Draws a box: ten tries of an area (uniform) and a ratio (uniform in its logarithm);
// when none fits, the largest box in the middle whose ratio is in the range.
// Requires: CheckRanges and CheckImageSize say so.
Box DrawCropBox(const ImageSize& size, const CropRanges& ranges,
                base::Generator generator);

}  // namespace millrace::kernels
