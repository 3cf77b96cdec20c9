#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/random_rows_test.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Tensor;

TEST(JitterKernelsTest, ChangesAboutAsManyImagesAsAsked) {
  const Picture picture = Draw({4, 5});
  const Column images = Copies(picture, 400);
  const auto same = [&](double p) {
    const Column out = *CallRandom("color_jitter", images,
                                   {{"brightness", 0.5}, {"hue", 0.1}, {"p", p}});
    return CountOf(out, TensorOf(picture));
  };
  EXPECT_EQ(same(0), 400);
  EXPECT_LE(same(1), 2);
  EXPECT_NEAR(static_cast<double>(same(0.8)), 80, 30);
}

TEST(JitterKernelsTest, WithoutAmountsNothingChanges) {
  const Picture picture = Draw({4, 5});
  EXPECT_EQ(CountOf(*CallRandom("color_jitter", Copies(picture, 9)), TensorOf(picture)),
            9);
}

TEST(JitterKernelsTest, EveryRowDrawsItsOwn) {
  const Column out =
      *CallRandom("color_jitter", Copies(Draw({4, 5}), 50), {{"brightness", 0.8}});
  EXPECT_GT(CountDifferent(out), 40);
}

// Brightness alone: a factor from 0.5 to 1.5 on a level of 100.
TEST(JitterKernelsTest, FactorsAreInTheirRange) {
  Picture picture = Blank({1, 1});
  picture.pixels = {100, 100, 100};
  const Column out =
      *CallRandom("color_jitter", Copies(picture, 300), {{"brightness", 0.5}});
  int least = 255;
  int most = 0;
  for (int64_t row = 0; row < 300; ++row) {
    const Tensor tensor = *out.Row(row);
    least = std::min<int>(least, tensor.As<uint8_t>()[0]);
    most = std::max<int>(most, tensor.As<uint8_t>()[0]);
  }
  EXPECT_GE(least, 50);
  EXPECT_LE(least, 53);
  EXPECT_GE(most, 147);
  EXPECT_LE(most, 150);
}

TEST(JitterKernelsTest, AnImageOfOneColourKeepsItsHueWithoutHue) {
  Picture picture = Blank({1, 1});
  picture.pixels = {200, 100, 50};
  const Column out = *CallRandom("color_jitter", Copies(picture, 100),
                                 {{"saturation", 0.9}, {"contrast", 0.5}});
  for (int64_t row = 0; row < 100; ++row) {
    const Tensor tensor = *out.Row(row);
    EXPECT_GE(tensor.As<uint8_t>()[0], tensor.As<uint8_t>()[1]);
    EXPECT_GE(tensor.As<uint8_t>()[1], tensor.As<uint8_t>()[2]);
  }
}

// Draws as the kernel says it does (whether, order, then a number for each change), and
// does it with the kernels for one change.
TEST(JitterKernelsTest, EachChangeComesOnceInARandomOrder) {
  const Picture picture = Draw({3, 4}, 3, 255);
  const std::array<std::string, 4> kernels = {"adjust_brightness", "adjust_contrast",
                                              "adjust_saturation", "adjust_hue"};
  const Column out = *CallRandom(
      "color_jitter", Copies(picture, 200),
      {{"brightness", 0.5}, {"contrast", 0.6}, {"saturation", 0.7}, {"hue", 0.2}});
  std::set<std::array<int, 4>> orders;
  for (uint64_t row = 0; row < 200; ++row) {
    base::Generator generator(base::RandomKey(1, 2, 3), base::Hash128{7, row});
    generator.Uniform();
    std::array<int, 4> order = {0, 1, 2, 3};
    generator.Shuffle(std::span(order));
    orders.insert(order);
    const std::array<double, 4> by = {
        generator.Uniform(0.5, 1.5), generator.Uniform(0.4, 1.6),
        generator.Uniform(0.3, 1.7), generator.Uniform(-0.2, 0.2)};
    Column expected = Copies(picture, 1);
    for (const int change : order) {
      expected = *CallKernel(kernels[change],
                             {Rows(expected), Constant(Tensor::Scalar(by[change]))});
    }
    EXPECT_EQ(*out.Row(static_cast<int64_t>(row)), *expected.Row(0)) << row;
  }
  EXPECT_EQ(orders.size(), 24U);
}

TEST(JitterKernelsTest, ChecksItsAmounts) {
  const Column images = Copies(Draw({2, 2}), 1);
  const auto error = [&](const ir::Arguments& arguments) {
    return CallRandom("color_jitter", images, arguments).status().ToString();
  };
  EXPECT_THAT(error({{"brightness", -0.1}}),
              testing::HasSubstr("argument brightness must be from 0 to 19"));
  EXPECT_THAT(error({{"contrast", 20}}), testing::HasSubstr("argument contrast"));
  EXPECT_THAT(error({{"saturation", -1}}), testing::HasSubstr("argument saturation"));
  EXPECT_THAT(error({{"hue", 0.6}}),
              testing::HasSubstr("argument hue must be from 0 to 0.5, not 0.6"));
  EXPECT_THAT(error({{"p", 2}}), testing::HasSubstr("argument p"));
}

TEST(JitterKernelsTest, GreyComesAboutAsOftenAsAsked) {
  const Picture picture = Draw({4, 5});
  const Column out =
      *CallRandom("random_grayscale", Copies(picture, 400), {{"p", 0.2}});
  const Tensor grey = *CallKernel("grayscale", {Rows(Copies(picture, 1))})->Row(0);
  const int64_t greys = CountOf(out, grey);
  EXPECT_NEAR(static_cast<double>(greys), 80, 30);
  EXPECT_EQ(CountOf(out, TensorOf(picture)), 400 - greys);
}

}  // namespace
}  // namespace millrace::kernels
