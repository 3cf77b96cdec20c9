#include "millrace/kernels/image/blur_floats.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/blur.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

std::vector<float> Blurred(const std::vector<float>& values, const ImageSize& size,
                           int64_t channels, const std::vector<float>& weights) {
  std::vector<float> out(values.size());
  BlurFloats({.first = values.data(), .size = size, .channels = channels}, weights,
             out.data());
  return out;
}

TEST(BlurFloatsTest, WeightsAddUpToOne) {
  for (const double sigma : {0.01, 0.3, 1.0, 7.5, 1000.0}) {
    for (const int64_t size : {1, 3, 23, 99}) {
      const std::vector<float> weights = FloatBlurWeights(size, sigma);
      ASSERT_FALSE(weights.empty());
      EXPECT_LE(std::ssize(weights), size / 2 + 1);
      double sum = -weights[0];
      for (const float weight : weights) sum += 2.0 * weight;
      EXPECT_NEAR(sum, 1, 1e-6) << size << " " << sigma;
    }
  }
}

// torchvision's gaussian_blur of a line of one bright pixel is the kernel itself.
TEST(BlurFloatsTest, APixelBecomesTheCurve) {
  const std::vector<float> line = {0, 0, 1, 0, 0};
  EXPECT_THAT(
      Blurred(line, {1, 5}, 1, FloatBlurWeights(3, 1.0)),
      ElementsAre(0, FloatNear(0.27406862F, 1e-6F), FloatNear(0.45186276F, 1e-6F),
                  FloatNear(0.27406862F, 1e-6F), 0));
}

TEST(BlurFloatsTest, EdgesAreMirroredAndComeOnce) {
  const std::vector<float> weights = {0.5F, 0.25F};
  EXPECT_THAT(Blurred({1, 2, 4}, {1, 3}, 1, weights), ElementsAre(1.5F, 2.25F, 3.0F));
  EXPECT_THAT(Blurred({1, 2, 4}, {3, 1}, 1, weights), ElementsAre(1.5F, 2.25F, 3.0F));
  EXPECT_THAT(Blurred({1, 10, 2, 20}, {1, 2}, 2, weights),
              ElementsAre(1.5F, 15, 1.5F, 15));
}

TEST(BlurFloatsTest, AgreesWithTheBlurOfBytes) {
  const Picture picture = Draw({17, 13});
  const std::vector<float> values(picture.pixels.begin(), picture.pixels.end());
  for (const int64_t size : {3, 9, 99}) {
    std::vector<uint8_t> bytes(values.size());
    Blur(picture.view(), BlurWeights(size, 2.0), bytes.data());
    const std::vector<float> floats =
        Blurred(values, picture.size, picture.channels, FloatBlurWeights(size, 2.0));
    for (size_t i = 0; i < bytes.size(); ++i) ASSERT_NEAR(floats[i], bytes[i], 1.0);
  }
}

TEST(BlurFloatsTest, KeepsWhatIsEverywhereTheSame) {
  const std::vector<float> values(6 * 5 * 3, 0.25F);
  EXPECT_THAT(Blurred(values, {6, 5}, 3, FloatBlurWeights(99, 20)),
              Each(FloatNear(0.25F, 1e-6F)));
  EXPECT_EQ(Blurred(values, {6, 5}, 3, FloatBlurWeights(1, 1)), values);
  EXPECT_TRUE(Blurred({}, {0, 5}, 3, FloatBlurWeights(3, 1)).empty());
}

TEST(BlurFloatsTest, WhatIsNoNumberStaysNearby) {
  std::vector<float> values(9, 1.0F);
  values[4] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> out = Blurred(values, {1, 9}, 1, FloatBlurWeights(3, 1));
  const auto wrong =
      std::ranges::count_if(out, [](float value) { return std::isnan(value); });
  EXPECT_EQ(wrong, 3);
}

}  // namespace
}  // namespace millrace::kernels
