#include "millrace/kernels/image/colour_loops.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

TEST(ColourLoopsTest, FactorsAreAsExactAsFits) {
  for (double factor = 0; factor < 64; factor += 0.013) {
    const FixedFactor fixed = FixedFactor::Of(factor);
    const double read = std::ldexp(fixed.value, fixed.shift - 15);
    EXPECT_NEAR(read, factor, std::ldexp(1.0, fixed.shift - 16)) << factor;
    EXPECT_TRUE(fixed.shift == 0 || fixed.value >= 16384) << factor;
  }
  EXPECT_DEATH(FixedFactor::Of(64), "");
  EXPECT_DEATH(FixedFactor::Of(-1), "");
  EXPECT_DEATH(FixedFactor::Of(std::nan("")), "");
}

// Nothing is written beyond the last pixel.
TEST(ColourLoopsTest, WritesNoByteTooMany) {
  for (int64_t pixels = 0; pixels < 70; ++pixels) {
    const Picture picture = Draw({1, pixels}, 3, 255);
    const size_t count = picture.pixels.size();
    ForEachTarget([&](const char* target) {
      std::vector<uint8_t> out(count + 1, 77);
      BlendWithGrey(picture.pixels.data(), pixels, FixedFactor::Of(1.5), out.data());
      ASSERT_EQ(out[count], 77) << target;
      GreyToThree(picture.pixels.data(), pixels, out.data());
      ASSERT_EQ(out[count], 77) << target;
      TurnHue(picture.pixels.data(), pixels, 1.5F, out.data());
      ASSERT_EQ(out[count], 77) << target;
      ScaleBytes(picture.pixels.data(), pixels * 3, FixedFactor::Of(1.5), 0,
                 out.data());
      ASSERT_EQ(out[count], 77) << target;
      std::vector<uint8_t> grey(pixels + 1, 77);
      GreyToOne(picture.pixels.data(), pixels, grey.data());
      ASSERT_EQ(grey[pixels], 77) << target;
    });
  }
}

TEST(ColourLoopsTest, SumsEveryChannel) {
  for (const int64_t pixels : {0, 1, 15, 16, 17, 64, 200}) {
    const Picture picture = Draw({1, pixels}, 3, 255);
    uint64_t expected[3] = {};
    for (size_t i = 0; i < picture.pixels.size(); ++i) {
      expected[i % 3] += picture.pixels[i];
    }
    ForEachTarget([&](const char* target) {
      uint64_t sums[3] = {};
      SumChannels(picture.pixels.data(), pixels, sums);
      for (int c = 0; c < 3; ++c) EXPECT_EQ(sums[c], expected[c]) << target;
    });
  }
}

}  // namespace
}  // namespace millrace::kernels
