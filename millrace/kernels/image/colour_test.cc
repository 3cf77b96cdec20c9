#include "millrace/kernels/image/colour.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

using Pixel = std::vector<double>;

Pixel PixelAt(const Picture& picture, size_t place) {
  const auto at = [&](size_t c) {
    return static_cast<double>(picture.pixels[place + c]);
  };
  return {at(0), at(1), at(2)};
}

// --- The formulas, in doubles and without a thought of speed ---

double GreyOf(const Pixel& pixel) {
  return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
}

double Clamped(double x) { return std::clamp(x, 0.0, 255.0); }

// Through HSV, sector by sector.
Pixel HueShifted(const Pixel& pixel, double shift) {
  const double most = std::ranges::max(pixel);
  const double least = std::ranges::min(pixel);
  if (most == least) return pixel;
  const double saturation = (most - least) / most;
  double hue = 0;
  if (most == pixel[0]) {
    hue = (pixel[1] - pixel[2]) / (most - least);
  } else if (most == pixel[1]) {
    hue = 2 + (pixel[2] - pixel[0]) / (most - least);
  } else {
    hue = 4 + (pixel[0] - pixel[1]) / (most - least);
  }
  hue = std::fmod(hue / 6 + shift + 2, 1.0) * 6;
  const double rest = hue - std::floor(hue);
  const double p = most * (1 - saturation);
  const double q = most * (1 - saturation * rest);
  const double t = most * (1 - saturation * (1 - rest));
  const Pixel sectors[] = {{most, t, p}, {q, most, p}, {p, most, t},
                           {p, q, most}, {t, p, most}, {most, p, q}};
  return sectors[static_cast<int>(hue) % 6];
}

using PixelFormula = std::function<Pixel(const Pixel& pixel, double mean, double by)>;

Pixel BlendTo(const Pixel& pixel, double grey, double factor) {
  Pixel blended;
  for (const double x : pixel) {
    blended.push_back(Clamped(factor * x + (1 - factor) * grey));
  }
  return blended;
}

Pixel BrightnessFormula(const Pixel& pixel, double, double by) {
  return BlendTo(pixel, 0, by);
}

Pixel ContrastFormula(const Pixel& pixel, double mean, double by) {
  return BlendTo(pixel, mean, by);
}

Pixel SaturationFormula(const Pixel& pixel, double, double by) {
  return BlendTo(pixel, GreyOf(pixel), by);
}

Pixel HueFormula(const Pixel& pixel, double, double by) {
  return HueShifted(pixel, by);
}

template <typename T>
struct Images {
  std::vector<T> values;

  Colours<T> view() const {
    return {.first = values.data(),
            .pixels = static_cast<int64_t>(values.size()) / 3,
            .channels = 3};
  }
};

Images<uint8_t> Bytes(const Picture& picture) { return {picture.pixels}; }

Images<float> Floats(const Picture& picture) {
  Images<float> floats;
  for (const uint8_t byte : picture.pixels) {
    floats.values.push_back(static_cast<float>(byte) / 255);
  }
  return floats;
}

// All that the formula gives, in levels.
std::vector<double> Expected(const Picture& picture, const PixelFormula& formula,
                             double by) {
  double mean = 0;
  std::vector<Pixel> pixels;
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    pixels.push_back(PixelAt(picture, i));
    mean += GreyOf(pixels.back());
  }
  mean /= static_cast<double>(pixels.size());
  std::vector<double> expected;
  for (const Pixel& pixel : pixels) {
    for (const double x : formula(pixel, mean, by)) expected.push_back(x);
  }
  return expected;
}

template <typename T>
double Furthest(const std::vector<T>& values, const std::vector<double>& expected,
                double level = 1) {
  double furthest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]) * level;
    furthest = std::max(furthest, std::abs(value - expected[i]));
  }
  return furthest;
}

// --- Each change against its formula ---

struct Change {
  const char* name;
  void (*bytes)(const Colours<uint8_t>&, double, uint8_t*);
  void (*floats)(const Colours<float>&, double, float*);
  PixelFormula formula;
  std::vector<double> by;
};

const std::vector<Change>& Changes() {
  const std::vector<double> factors = {0, 0.001, 0.2, 0.5, 1, 1.3, 1.99, 2, 4.5, 20};
  static const std::vector<Change> changes = {
      {"brightness", AdjustBrightness, AdjustBrightness, BrightnessFormula, factors},
      {"contrast", AdjustContrast, AdjustContrast, ContrastFormula, factors},
      {"saturation", AdjustSaturation, AdjustSaturation, SaturationFormula, factors},
      {"hue",
       AdjustHue,
       AdjustHue,
       HueFormula,
       {-0.5, -0.3, -0.01, 0, 1e-9, 0.1, 0.25, 0.5}}};
  return changes;
}

TEST(ColourTest, BytesAreWithinALevelOfTheFormula) {
  for (const Change& change : Changes()) {
    for (const int noise : {0, 60, 255}) {
      const Picture picture = Draw({23, 41}, 3, noise);
      for (const double by : change.by) {
        std::vector<uint8_t> out(picture.pixels.size());
        change.bytes(Bytes(picture).view(), by, out.data());
        EXPECT_LT(Furthest(out, Expected(picture, change.formula, by)), 1.0)
            << change.name << " by " << by;
      }
    }
  }
}

TEST(ColourTest, FloatsAreCloseToTheFormula) {
  const Picture picture = Draw({23, 41}, 3, 255);
  for (const Change& change : Changes()) {
    for (const double by : change.by) {
      std::vector<float> out(picture.pixels.size());
      change.floats(Floats(picture).view(), by, out.data());
      EXPECT_LT(Furthest(out, Expected(picture, change.formula, by), 255), 0.01)
          << change.name << " by " << by;
    }
  }
}

TEST(ColourTest, OneOrNoShiftChangesNothing) {
  const Picture picture = Draw({9, 11}, 3, 255);
  for (const Change& change : Changes()) {
    std::vector<uint8_t> out(picture.pixels.size());
    const bool hue = change.by.front() < 0;
    change.bytes(Bytes(picture).view(), hue ? 0 : 1, out.data());
    EXPECT_EQ(out, picture.pixels) << change.name;
  }
}

TEST(ColourTest, GivesTheSameBitsOnEveryProcessorAndInPlace) {
  for (const Change& change : Changes()) {
    for (const int64_t pixels : {0, 1, 3, 7, 8, 15, 16, 31, 32, 33, 64, 65, 200}) {
      const Picture picture = Draw({1, pixels}, 3, 255);
      std::vector<uint8_t> first;
      std::vector<float> first_floats;
      ForEachTarget([&](const char* target) {
        Images<uint8_t> bytes = Bytes(picture);
        change.bytes(bytes.view(), change.by[2], bytes.values.data());
        Images<float> floats = Floats(picture);
        change.floats(floats.view(), change.by[2], floats.values.data());
        if (first.empty()) first = bytes.values;
        if (first_floats.empty()) first_floats = floats.values;
        EXPECT_EQ(bytes.values, first) << change.name << " on " << target;
        EXPECT_EQ(floats.values, first_floats) << change.name << " on " << target;
      });
    }
  }
}

// A pixel's result does not depend on where among the others it is.
TEST(ColourTest, EveryPixelIsOnItsOwn) {
  const Picture picture = Draw({1, 100}, 3, 255);
  for (const Change& change : Changes()) {
    if (change.name == std::string("contrast")) continue;  // All count for the mean.
    std::vector<uint8_t> whole(picture.pixels.size());
    change.bytes(Bytes(picture).view(), change.by[2], whole.data());
    for (size_t i = 0; i < picture.pixels.size(); i += 3) {
      std::vector<uint8_t> alone(3);
      change.bytes({.first = picture.pixels.data() + i, .pixels = 1}, change.by[2],
                   alone.data());
      EXPECT_THAT(alone, testing::ElementsAre(whole[i], whole[i + 1], whole[i + 2]));
    }
  }
}

TEST(ColourTest, FloatsThatAreNoNumbersBecomeNumbers) {
  const Images<float> image = {{NAN, INFINITY, -INFINITY, 2, -1, 0.5F}};
  for (const Change& change : Changes()) {
    std::vector<float> out(6, -1);
    change.floats(image.view(), change.by[2], out.data());
    EXPECT_THAT(out, testing::Each(testing::AllOf(testing::Ge(0), testing::Le(1))))
        << change.name;
  }
}

TEST(ColourTest, OneChannelHasBrightnessAndContrastOnly) {
  const std::vector<uint8_t> grey = {10, 20, 30};
  const Colours<uint8_t> image = {.first = grey.data(), .pixels = 3, .channels = 1};
  std::vector<uint8_t> out(3);
  AdjustBrightness(image, 2, out.data());
  EXPECT_THAT(out, testing::ElementsAre(20, 40, 60));
  AdjustContrast(image, 2, out.data());
  EXPECT_THAT(out, testing::ElementsAre(0, 20, 40));
  AdjustSaturation(image, 2, out.data());
  EXPECT_EQ(out, grey);
  AdjustHue(image, 0.3, out.data());
  EXPECT_EQ(out, grey);
}

// --- Grey ---

TEST(ColourTest, GreyIsWithinALevelAndKeepsGreys) {
  const Picture picture = Draw({31, 17}, 3, 255);
  std::vector<uint8_t> three(picture.pixels.size());
  std::vector<uint8_t> one(picture.pixels.size() / 3);
  ForEachTarget([&](const char* target) {
    ToGrey(Bytes(picture).view(), 3, three.data());
    ToGrey(Bytes(picture).view(), 1, one.data());
    for (size_t i = 0; i < one.size(); ++i) {
      const Pixel pixel = PixelAt(picture, 3 * i);
      ASSERT_NEAR(one[i], GreyOf(pixel), 0.52) << target;
      ASSERT_EQ(three[3 * i], one[i]) << target;
      ASSERT_EQ(three[3 * i + 2], one[i]) << target;
    }
  });
  for (int level = 0; level < 256; ++level) {
    const std::vector<uint8_t> grey(3, static_cast<uint8_t>(level));
    ToGrey({.first = grey.data(), .pixels = 1}, 1, one.data());
    EXPECT_EQ(one[0], level);
  }
}

TEST(ColourTest, GreyOfOneChannelIsThatChannel) {
  const std::vector<uint8_t> grey = {10, 20};
  std::vector<uint8_t> out(6);
  ToGrey({.first = grey.data(), .pixels = 2, .channels = 1}, 3, out.data());
  EXPECT_THAT(out, testing::ElementsAre(10, 10, 10, 20, 20, 20));
}

TEST(ColourTest, GreyOfFloats) {
  const std::vector<float> values = {1, 0, 0, 0, 1, 0};
  std::vector<float> out(2);
  ToGrey({.first = values.data(), .pixels = 2}, 1, out.data());
  EXPECT_THAT(out, testing::ElementsAre(0.299F, 0.587F));
  EXPECT_NEAR(MeanGrey(Colours<float>{.first = values.data(), .pixels = 2}), 0.443,
              1e-6);
}

TEST(ColourTest, MeanGreyIsExactOnEveryProcessor) {
  for (const int64_t pixels : {0, 1, 31, 32, 100, 1000}) {
    const Picture picture = Draw({1, pixels}, 3, 255);
    double mean = 0;
    for (size_t i = 0; i < picture.pixels.size(); i += 3) {
      mean += GreyOf(PixelAt(picture, i));
    }
    if (pixels > 0) mean /= static_cast<double>(pixels);
    ForEachTarget([&](const char* target) {
      EXPECT_NEAR(MeanGrey(Bytes(picture).view()), mean, 1e-9) << target;
    });
  }
}

// --- Checks ---

TEST(ColourTest, RefusesAbsurdFactors) {
  EXPECT_TRUE(CheckFactor(0).ok());
  EXPECT_TRUE(CheckFactor(20).ok());
  EXPECT_TRUE(CheckHueShift(-0.5).ok());
  for (const double factor : {-0.1, 20.1, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(CheckFactor(factor).ToString(),
                testing::HasSubstr("a factor must be from 0 to 20"));
    EXPECT_DEATH(AdjustBrightness(Colours<uint8_t>(), factor * 4, nullptr), "");
  }
  for (const double shift : {-0.6, 0.51, std::nan("")}) {
    EXPECT_THAT(CheckHueShift(shift).ToString(),
                testing::HasSubstr("must be from -0.5 to 0.5"));
  }
}

}  // namespace
}  // namespace millrace::kernels
