#include "millrace/kernels/image/tone.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/colour.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using testing::ElementsAre;

using Bytes = std::vector<uint8_t>;

Colours<uint8_t> Of(const Bytes& bytes, int64_t channels = 1) {
  return {.first = bytes.data(),
          .pixels = static_cast<int64_t>(bytes.size()) / channels,
          .channels = channels};
}

TEST(ToneTest, InvertsEveryValue) {
  const Bytes bytes = {0, 1, 128, 255};
  Bytes out(4);
  Invert(Of(bytes), out.data());
  EXPECT_THAT(out, ElementsAre(255, 254, 127, 0));
}

TEST(ToneTest, PosterizeKeepsTheUpperBits) {
  const Bytes bytes = {0, 1, 0b10110111, 255};
  Bytes out(4);
  Posterize(Of(bytes), 3, out.data());
  EXPECT_THAT(out, ElementsAre(0, 0, 0b10100000, 0b11100000));
  Posterize(Of(bytes), 8, out.data());
  EXPECT_EQ(out, bytes);
  Posterize(Of(bytes), 0, out.data());
  EXPECT_THAT(out, testing::Each(0));
}

TEST(ToneTest, SolarizeInvertsFromTheThresholdOn) {
  const Bytes bytes = {0, 127, 128, 255};
  Bytes out(4);
  Solarize(Of(bytes), 128, out.data());
  EXPECT_THAT(out, ElementsAre(0, 127, 127, 0));
  Solarize(Of(bytes), 127.5, out.data());
  EXPECT_THAT(out, ElementsAre(0, 127, 127, 0));
  Solarize(Of(bytes), 1e300, out.data());
  EXPECT_EQ(out, bytes);
  Solarize(Of(bytes), -1e300, out.data());
  EXPECT_THAT(out, ElementsAre(255, 128, 127, 0));
}

TEST(ToneTest, AutoContrastStretchesEachChannelByItself) {
  const Bytes bytes = {100, 7, 150, 7, 200, 7};
  Bytes out(6);
  AutoContrast(Of(bytes, 2), out.data());
  EXPECT_THAT(out, ElementsAre(0, 7, 128, 7, 255, 7));
}

// 512 pixels: a step of (512 - 1) / 255 = 2, so that value i becomes
// (pixels below + 1) / 2.
TEST(ToneTest, EqualizeSpreadsValuesByHowOftenTheyCome) {
  Bytes bytes(511, 10);
  std::fill_n(bytes.begin(), 255, uint8_t{5});
  bytes.push_back(20);
  Bytes out(512);
  Equalize(Of(bytes), out.data());
  EXPECT_EQ(out[0], 0);                     // Nothing is below 5.
  EXPECT_EQ(out[300], (255 + 1) / 2);       // 255 are below 10.
  EXPECT_EQ(out[511], std::min(255, 256));  // 511 are below 20.
}

TEST(ToneTest, EqualizeLeavesTooFewPixelsAsTheyAre) {
  const Bytes bytes = {1, 2, 3, 4};
  Bytes out(4);
  Equalize(Of(bytes), out.data());
  EXPECT_EQ(out, bytes);
}

TEST(ToneTest, NothingStaysNothing) {
  Invert(Of({}), nullptr);
  Posterize(Of({}), 4, nullptr);
  Solarize(Of({}), 4, nullptr);
  AutoContrast(Of({}, 3), nullptr);
  Equalize(Of({}, 3), nullptr);
  AdjustSharpness(Blank({0, 4}).view(), 2, nullptr);
}

TEST(ToneTest, SharpnessIsWithinALevelOfTheFormula) {
  const Picture picture = Draw({11, 13}, 3, 255);
  for (const double factor : {0.0, 0.5, 1.0, 1.9, 7.0}) {
    Picture out = picture;
    AdjustSharpness(picture.view(), factor, out.pixels.data());
    for (int64_t y = 0; y < 11; ++y) {
      for (int64_t i = 0; i < 39; ++i) {
        const double x = picture.view().Row(y)[i];
        double expected = x;
        if (y > 0 && y < 10 && i >= 3 && i < 36) {
          double sum = 4 * x;
          for (const int64_t k : {-42, -39, -36, -3, 0, 3, 36, 39, 42}) {
            sum += picture.view().Row(y)[i + k];
          }
          expected = std::clamp(factor * x + (1 - factor) * sum / 13, 0.0, 255.0);
        }
        ASSERT_NEAR(out.view().Row(y)[i], expected, 1.0) << factor;
      }
    }
  }
}

TEST(ToneTest, SharpnessLeavesSmallImagesAsTheyAre) {
  for (const ImageSize size : {ImageSize{1, 1}, {2, 9}, {9, 2}, {1, 9}}) {
    const Picture picture = Draw(size);
    Picture out = Blank(size);
    AdjustSharpness(picture.view(), 5, out.pixels.data());
    EXPECT_EQ(out.pixels, picture.pixels);
  }
}

TEST(ToneTest, ChecksWhatItIsGiven) {
  EXPECT_TRUE(CheckBits(0).ok() && CheckBits(8).ok());
  for (const double bits : {-1.0, 9.0, 2.5, std::nan("")}) {
    EXPECT_THAT(CheckBits(bits).ToString(), testing::HasSubstr("from 0 to 8"));
  }
  EXPECT_TRUE(CheckThreshold(-5).ok());
  EXPECT_FALSE(CheckThreshold(std::nan("")).ok());
}

}  // namespace
}  // namespace millrace::kernels
