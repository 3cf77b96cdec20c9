#include "millrace/kernels/image/batch_mix.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"

namespace millrace::kernels {
namespace {

using testing::ElementsAre;

base::Generator Row(uint64_t row) {
  return base::Generator(base::RandomKey(1, 2, 3), base::Hash128{4, row});
}

// The mean is 1/2 and the variance 1 / (4 (2 alpha + 1)).
TEST(BatchMixTest, BetaHasItsMoments) {
  for (const double alpha : {0.01, 0.2, 0.5, 1.0, 4.0, 1000.0}) {
    constexpr int kDraws = 20000;
    double sum = 0;
    double squares = 0;
    for (uint64_t row = 0; row < kDraws; ++row) {
      base::Generator generator = Row(row);
      const double x = DrawBeta(alpha, generator);
      ASSERT_TRUE(x >= 0 && x <= 1) << x;
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(sum / kDraws, 0.5, 4 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / kDraws / variance, 1, 0.06) << alpha;
  }
}

TEST(BatchMixTest, PartnersAreAPermutation) {
  for (const int64_t count : {0, 1, 2, 9}) {
    const BatchMix mix = DrawMixup(count, 0.2, Row(count));
    std::vector<int64_t> sorted = mix.partners;
    std::ranges::sort(sorted);
    ASSERT_EQ(static_cast<int64_t>(sorted.size()), count);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(sorted[i], i);
    EXPECT_EQ(mix.box, Box());
  }
}

TEST(BatchMixTest, LambdaIsWhatTheBoxLeaves) {
  const ImageSize size = {30, 50};
  double least = 1;
  for (uint64_t row = 0; row < 500; ++row) {
    const BatchMix mix = DrawCutmix(4, size, 1.0, Row(row));
    ASSERT_TRUE(CheckBox(mix.box, size).ok());
    const auto pixels = static_cast<double>(mix.box.size().pixels());
    EXPECT_DOUBLE_EQ(mix.lambda, 1 - pixels / 1500);
    least = std::min(least, mix.lambda);
  }
  EXPECT_LT(least, 0.3);
}

TEST(BatchMixTest, NumbersAreReadAsTheyWereWritten) {
  const BatchMix mix = {.lambda = 0.25,
                        .box = {.top = 1, .left = 2, .height = 3, .width = 4},
                        .partners = {2, 0, 1}};
  std::vector<double> numbers(BatchMix::kHead + 3);
  mix.Write(numbers.data());
  EXPECT_THAT(numbers, ElementsAre(0.25, 1, 2, 3, 4, 2, 0, 1));
  const auto read = BatchMix::Read(numbers);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->lambda, 0.25);
  EXPECT_EQ(read->box, mix.box);
  EXPECT_EQ(read->partners, mix.partners);
}

TEST(BatchMixTest, RefusesNumbersThatNobodyDrew) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::vector<double>> wrong = {{},
                                                  {1, 0, 0, 0},
                                                  {nan, 0, 0, 0, 0},
                                                  {1.5, 0, 0, 0, 0},
                                                  {-0.5, 0, 0, 0, 0},
                                                  {1, -1, 0, 0, 0},
                                                  {1, 0, 0.5, 0, 0},
                                                  {1, 0, 0, 1e300, 0},
                                                  {1, 0, 0, 0, nan},
                                                  {1, 0, 0, 0, 0, 1},
                                                  {1, 0, 0, 0, 0, -1},
                                                  {1, 0, 0, 0, 0, nan},
                                                  {1, 0, 0, 0, 0, 0.5, 0}};
  for (const std::vector<double>& numbers : wrong) {
    EXPECT_FALSE(BatchMix::Read(numbers).ok()) << testing::PrintToString(numbers);
  }
  EXPECT_TRUE(BatchMix::Read({1, 0, 0, 0, 0}).ok());
}

TEST(BatchMixTest, BlendsBytesAndFloats) {
  const std::vector<uint8_t> a = {0, 100, 255};
  const std::vector<uint8_t> b = {255, 50, 255};
  std::vector<uint8_t> out(3);
  BlendValues(a, b, 0.5, out.data());
  EXPECT_THAT(out, ElementsAre(128, 75, 255));
  BlendValues(a, b, 1, out.data());
  EXPECT_EQ(out, a);
  BlendValues(a, b, 0, out.data());
  EXPECT_EQ(out, b);
  const std::vector<float> c = {1, 2};
  const std::vector<float> d = {3, 4};
  std::vector<float> floats(2);
  BlendValues(c, d, 0.25, floats.data());
  EXPECT_THAT(floats, ElementsAre(2.5F, 3.5F));
}

}  // namespace
}  // namespace millrace::kernels
