#include "millrace/kernels/image/crop_box.h"

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

base::Generator GeneratorOf(uint64_t row) {
  return {base::RandomKey(1, 2, 3), {.hi = 0, .lo = row}};
}

TEST(CropBoxTest, LiesInsideWithAreaAndRatioInTheirRanges) {
  const ImageSize size = {375, 500};
  const CropRanges ranges;
  double area = 0;
  double log_ratio = 0;
  constexpr int kRows = 5'000;
  for (uint64_t row = 0; row < kRows; ++row) {
    const Box box = DrawCropBox(size, ranges, GeneratorOf(row));
    ASSERT_THAT(CheckBox(box, size), base::IsOk());
    const double share =
        static_cast<double>(box.size().pixels()) / static_cast<double>(size.pixels());
    const double ratio =
        static_cast<double>(box.width) / static_cast<double>(box.height);
    EXPECT_GT(share, 0.079);
    EXPECT_GT(ratio, 0.73);
    EXPECT_LT(ratio, 1.37);
    area += share;
    log_ratio += std::log(ratio);
  }
  // What torchvision's algorithm gives, in Python: boxes that do not fit are drawn
  // again, and those are the large and, in a wide image, the high ones.
  EXPECT_NEAR(area / kRows, 0.430, 0.01);
  EXPECT_NEAR(log_ratio / kRows, 0.031, 0.01);
}

TEST(CropBoxTest, IsTheSameForTheSameRow) {
  EXPECT_EQ(DrawCropBox({90, 80}, {}, GeneratorOf(4)),
            DrawCropBox({90, 80}, {}, GeneratorOf(4)));
  EXPECT_NE(DrawCropBox({90, 80}, {}, GeneratorOf(4)),
            DrawCropBox({90, 80}, {}, GeneratorOf(5)));
}

// Draws of stored jobs depend on it.
TEST(CropBoxTest, IsWhatItAlwaysWas) {
  EXPECT_EQ(DrawCropBox({375, 500}, {}, GeneratorOf(1)), (Box{43, 109, 308, 347}));
  EXPECT_EQ(DrawCropBox({375, 500}, {}, GeneratorOf(2)), (Box{9, 77, 348, 384}));
}

TEST(CropBoxTest, TakesTheMiddleOfLongImages) {
  const CropRanges large = {.scale_low = 0.99, .scale_high = 1};
  EXPECT_EQ(DrawCropBox({10, 1000}, large, GeneratorOf(1)), (Box{0, 493, 10, 13}));
  EXPECT_EQ(DrawCropBox({1000, 10}, large, GeneratorOf(1)), (Box{493, 0, 13, 10}));
  const CropRanges wide = {.scale_low = 1.5, .scale_high = 2};
  EXPECT_EQ(DrawCropBox({30, 30}, wide, GeneratorOf(1)), (Box{0, 0, 30, 30}));
}

TEST(CropBoxTest, FindsABoxInThinnestImages) {
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{1, kSideMax},
                               ImageSize{kSideMax, 1}, ImageSize{2, 3}}) {
    for (uint64_t row = 0; row < 100; ++row) {
      const Box box = DrawCropBox(size, {}, GeneratorOf(row));
      EXPECT_THAT(CheckBox(box, size), base::IsOk());
      EXPECT_GT(box.size().pixels(), 0);
    }
  }
}

TEST(CropBoxTest, RefusesRangesThatMakeNoSense) {
  EXPECT_THAT(CheckRanges({}), base::IsOk());
  for (const CropRanges& ranges :
       {CropRanges{.scale_low = 0}, CropRanges{.scale_low = 2},
        CropRanges{.ratio_low = -1}, CropRanges{.ratio_low = std::nan("")},
        CropRanges{.ratio_high = 1e300}}) {
    EXPECT_EQ(CheckRanges(ranges).code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace millrace::kernels
