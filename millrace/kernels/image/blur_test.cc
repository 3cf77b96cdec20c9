#include "millrace/kernels/image/blur.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

// --- The formula, in doubles ---

std::vector<double> Curve(int64_t size, double sigma) {
  std::vector<double> curve;
  double sum = 0;
  for (int64_t k = -size / 2; k <= size / 2; ++k) {
    const double along = static_cast<double>(k) / sigma;
    curve.push_back(std::exp(-0.5 * along * along));
    sum += curve.back();
  }
  for (double& value : curve) value /= sum;
  return curve;
}

int64_t Mirrored(int64_t place, int64_t size) {
  while (place < 0 || place >= size) {
    if (size == 1) return 0;
    place = place < 0 ? -place : 2 * (size - 1) - place;
  }
  return place;
}

// One axis: `values` as rows of `size` places of `step` values.
std::vector<double> Along(const std::vector<double>& values, int64_t size, int64_t step,
                          const std::vector<double>& curve) {
  std::vector<double> out(values.size());
  const auto reach = static_cast<int64_t>(curve.size()) / 2;
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const int64_t place = i / step % size;
    for (int64_t k = -reach; k <= reach; ++k) {
      const int64_t from = Mirrored(place + k, size) - place;
      out[i] += curve[k + reach] * values[i + from * step];
    }
  }
  return out;
}

std::vector<double> Expected(const Picture& picture, int64_t size, double sigma) {
  const std::vector<double> curve = Curve(size, sigma);
  const std::vector<double> values(picture.pixels.begin(), picture.pixels.end());
  const auto across = Along(values, picture.size.width, picture.channels, curve);
  return Along(across, picture.size.height, picture.size.width * picture.channels,
               curve);
}

std::vector<uint8_t> Blurred(const Picture& picture, int64_t size, double sigma) {
  std::vector<uint8_t> out(picture.pixels.size());
  Blur(picture.view(), BlurWeights(size, sigma), out.data());
  return out;
}

void ExpectClose(const Picture& picture, int64_t size, double sigma) {
  const std::vector<double> expected = Expected(picture, size, sigma);
  const std::vector<uint8_t> out = Blurred(picture, size, sigma);
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_NEAR(out[i], expected[i], 1.0)
        << "size " << size << ", sigma " << sigma << ", value " << i;
  }
}

TEST(BlurTest, IsWithinALevelOfTheFormula) {
  const Picture picture = Draw({40, 37}, 3, 255);
  for (const int64_t size : {1, 3, 5, 23, 31}) {
    for (const double sigma : {0.1, 0.3, 0.7, 1.0, 2.0, 5.0, 1000.0}) {
      ExpectClose(picture, size, sigma);
    }
  }
  ExpectClose(picture, 99, 30);
}

TEST(BlurTest, ReflectsImagesSmallerThanTheKernel) {
  for (const ImageSize size : {ImageSize{1, 1}, {1, 9}, {9, 1}, {2, 3}, {12, 12}}) {
    ExpectClose(Draw(size, 3, 255), 23, 2.0);
  }
}

TEST(BlurTest, TakesAnyNumberOfChannelsAndAnyPart) {
  for (const int64_t channels : {1, 2, 3, 4, 7}) {
    ExpectClose(Draw({13, 15}, channels, 255), 7, 1.5);
  }
  const Picture picture = Draw({20, 30}, 3, 255);
  const Box box = {.top = 3, .left = 5, .height = 11, .width = 17};
  std::vector<uint8_t> part(box.size().pixels() * 3);
  const std::vector<int16_t> weights = BlurWeights(9, 1.2);
  Blur(PartOf(picture.view(), box), weights, part.data());
  EXPECT_EQ(part, Blurred(Cut(picture, box), 9, 1.2));
}

TEST(BlurTest, KeepsWhatIsAllAlike) {
  for (int level = 0; level < 256; ++level) {
    Picture picture = Blank({6, 20});
    std::ranges::fill(picture.pixels, static_cast<uint8_t>(level));
    EXPECT_EQ(Blurred(picture, 23, 2.0), picture.pixels) << level;
  }
}

TEST(BlurTest, GivesTheSameBitsOnEveryProcessor) {
  for (const int64_t width : {1, 2, 5, 10, 11, 21, 22, 43, 100}) {
    const Picture picture = Draw({9, width}, 3, 255);
    std::vector<uint8_t> first;
    ForEachTarget([&](const char* target) {
      const std::vector<uint8_t> out = Blurred(picture, 11, 1.7);
      if (first.empty()) first = out;
      EXPECT_EQ(out, first) << target << ", width " << width;
    });
  }
}

TEST(BlurTest, WeightsAreOneTogetherAndLeaveOutWhatIsNothing) {
  for (const double sigma : {1e-300, 0.1, 0.5, 2.0, 1e300}) {
    const std::vector<int16_t> weights = BlurWeights(23, sigma);
    int sum = 0;
    for (const int16_t weight : weights) sum += weight;
    EXPECT_EQ(sum, 16384) << sigma;
  }
  EXPECT_THAT(BlurWeights(23, 0.1), testing::ElementsAre(16384));
  EXPECT_EQ(BlurWeights(23, 2.0).size(), 9U);
  EXPECT_EQ(BlurWeights(23, 1000).size(), 12U);
}

TEST(BlurTest, AnImageWithoutPixelsStaysOne) {
  EXPECT_THAT(Blurred(Blank({0, 5}), 5, 1), testing::IsEmpty());
  EXPECT_THAT(Blurred(Blank({5, 0}), 5, 1), testing::IsEmpty());
}

TEST(BlurTest, RefusesSizesAndSigmasThatMeanNothing) {
  EXPECT_TRUE(CheckBlurSize(1).ok() && CheckBlurSize(99).ok());
  for (const int64_t size : {-1, 0, 2, 100, 101}) {
    EXPECT_THAT(CheckBlurSize(size).ToString(), testing::HasSubstr("must be odd"));
  }
  EXPECT_TRUE(CheckSigma(1e-9).ok());
  for (const double sigma : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(CheckSigma(sigma).ToString(), testing::HasSubstr("above 0"));
  }
}

}  // namespace
}  // namespace millrace::kernels
