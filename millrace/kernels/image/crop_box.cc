#include "millrace/kernels/image/crop_box.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"

#include "millrace/base/check.h"
#include "millrace/base/portable_exp.h"
#include "millrace/base/portable_log.h"
#include "millrace/base/random.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

constexpr int kTries = 10;
constexpr double kLeast = 1e-9;  // Beyond, a share or ratio means no pixel at all.
constexpr double kMost = 1e9;

int64_t Rounded(double value) { return static_cast<int64_t>(std::floor(value + 0.5)); }

absl::Status CheckRange(const char* what, double low, double high) {
  if (low >= kLeast && low <= high && high <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "the range of ", what, " must go from above 0 up, not from ", low, " to ", high));
}

// The middle of the image, as large as the ratio may be.
Box Middle(const ImageSize& size, const CropRanges& ranges) {
  const auto height = static_cast<double>(size.height);
  const auto width = static_cast<double>(size.width);
  Box box = WholeOf(size);
  if (width / height < ranges.ratio_low) {
    box.height = std::clamp<int64_t>(Rounded(width / ranges.ratio_low), 1, size.height);
  } else if (width / height > ranges.ratio_high) {
    box.width = std::clamp<int64_t>(Rounded(height * ranges.ratio_high), 1, size.width);
  }
  box.top = (size.height - box.height) / 2;
  box.left = (size.width - box.width) / 2;
  return box;
}

}  // namespace

absl::Status CheckRanges(const CropRanges& ranges) {
  absl::Status status = CheckRange("scales", ranges.scale_low, ranges.scale_high);
  status.Update(CheckRange("ratios", ranges.ratio_low, ranges.ratio_high));
  return status;
}

Box DrawCropBox(const ImageSize& size, const CropRanges& ranges,
                base::Generator generator) {
  CHECK(CheckImageSize(size).ok());
  const auto area = static_cast<double>(size.pixels());
  const double log_low = base::PortableLog(ranges.ratio_low);
  const double log_high = base::PortableLog(ranges.ratio_high);
  for (int i = 0; i < kTries; ++i) {
    const double share = generator.Uniform(ranges.scale_low, ranges.scale_high);
    const double ratio = base::PortableExp(generator.Uniform(log_low, log_high));
    Box box = {.height = Rounded(std::sqrt(area * share / ratio)),
               .width = Rounded(std::sqrt(area * share * ratio))};
    const bool fits = box.height > 0 && box.height <= size.height && box.width > 0 &&
                      box.width <= size.width;
    if (!fits) continue;
    box.top = generator.Integer(0, size.height - box.height + 1);
    box.left = generator.Integer(0, size.width - box.width + 1);
    return box;
  }
  return Middle(size, ranges);
}

}  // namespace millrace::kernels
