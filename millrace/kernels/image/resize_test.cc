#include "millrace/kernels/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/decode_png.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/resize_weights.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

constexpr ResizeMethod kMethods[] = {ResizeMethod::kNearest, ResizeMethod::kBilinear,
                                     ResizeMethod::kBicubic};

Picture Resized(const PixelView& image, const ResizeOptions& options) {
  Picture picture = Blank(options.size, image.channels);
  Resize(image, options, picture.pixels.data());
  return picture;
}

// The largest difference of two images, in levels.
int Distance(absl::Span<const uint8_t> a, absl::Span<const uint8_t> b) {
  EXPECT_EQ(a.size(), b.size());
  int most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// --- Against others ---

Picture Sample() {
  Picture picture = Blank({37, 41});
  EXPECT_THAT(DecodePng(ReadSample("resize.png"), absl::MakeSpan(picture.pixels)),
              base::IsOk());
  return picture;
}

TEST(ResizeTest, IsWithinOneLevelOfPillow) {
  const Picture sample = Sample();
  const std::map<std::string, ResizeMethod> methods = {
      {"bilinear", ResizeMethod::kBilinear}, {"bicubic", ResizeMethod::kBicubic}};
  for (const auto& [name, method] : methods) {
    for (const ImageSize size :
         {ImageSize{19, 23}, ImageSize{64, 80}, ImageSize{12, 41}, ImageSize{37, 7},
          ImageSize{1, 1}, ImageSize{37, 41}}) {
      const std::string pixels = ReadSample(
          base::StrCat("resize_", name, "_", size.height, "x", size.width, ".rgb"));
      const std::vector<uint8_t> expected(pixels.begin(), pixels.end());
      const Picture resized =
          Resized(sample.view(), {.size = size, .method = method, .antialias = true});
      EXPECT_LE(Distance(resized.pixels, expected), 1)
          << name << " to " << size.height << " x " << size.width;
    }
  }
}

// Plain bilinear in double, one value at a time.
double ExactAt(const Picture& picture, double y, double x, int64_t channel) {
  const auto clamp = [](double place, int64_t size) {
    return std::clamp(place, 0.0, static_cast<double>(size - 1));
  };
  y = clamp(y, picture.size.height);
  x = clamp(x, picture.size.width);
  const auto top = static_cast<int64_t>(y);
  const auto left = static_cast<int64_t>(x);
  const auto value = [&](int64_t row, int64_t column) -> double {
    row = std::min(row, picture.size.height - 1);
    column = std::min(column, picture.size.width - 1);
    return picture.view().Row(row)[column * picture.channels + channel];
  };
  const double down = y - static_cast<double>(top);
  const double across = x - static_cast<double>(left);
  const double upper = value(top, left) * (1 - across) + value(top, left + 1) * across;
  const double lower =
      value(top + 1, left) * (1 - across) + value(top + 1, left + 1) * across;
  return upper * (1 - down) + lower * down;
}

void CheckExact(const Picture& picture, const ImageSize& size) {
  const Picture resized = Resized(picture.view(), {.size = size});
  size_t place = 0;
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < picture.channels; ++c) {
        const double row = (static_cast<double>(y) + 0.5) *
                               static_cast<double>(picture.size.height) /
                               static_cast<double>(size.height) -
                           0.5;
        const double column = (static_cast<double>(x) + 0.5) *
                                  static_cast<double>(picture.size.width) /
                                  static_cast<double>(size.width) -
                              0.5;
        const double exact = ExactAt(picture, row, column, c);
        // Half a level for rounding, and little more for fixed point.
        ASSERT_NEAR(resized.pixels[place++], exact, 0.53)
            << y << ", " << x << " of " << size.height << " x " << size.width;
      }
    }
  }
}

TEST(ResizeTest, IsBilinearWithoutAntialias) {
  base::Generator random(base::RandomKey(3, 0, 0), {});
  for (int i = 0; i < 60; ++i) {
    const ImageSize from = {random.Integer(1, 80), random.Integer(1, 80)};
    const ImageSize to = {random.Integer(1, 60), random.Integer(1, 60)};
    CheckExact(Draw(from, kColours, 255, i), to);
  }
  CheckExact(Draw({30, 400}), {20, 37});  // So much smaller that blocks are short.
  CheckExact(Draw({30, 200}), {20, 90});
  CheckExact(Draw({30, 40}, 1), {50, 20});
  CheckExact(Draw({30, 40}, 4), {50, 20});
}

// --- Everywhere the same ---

TEST(ResizeTest, GivesTheSameBitsOnEveryProcessor) {
  base::Generator random(base::RandomKey(4, 0, 0), {});
  for (int i = 0; i < 80; ++i) {
    const Picture picture =
        Draw({random.Integer(1, 90), random.Integer(1, 120)}, kColours, 255, i);
    ResizeOptions options = {.size = {random.Integer(1, 70), random.Integer(1, 70)},
                             .method = kMethods[random.Integer(0, 3)],
                             .antialias = random.Integer(0, 2) == 0};
    const Picture expected = Resized(picture.view(), options);
    ForEachTarget([&](const char* target) {
      EXPECT_EQ(Resized(picture.view(), options).pixels, expected.pixels) << target;
    });
  }
}

// Fast for three channels, plain for others: the same arithmetic.
TEST(ResizeTest, TreatsEachChannelAlone) {
  base::Generator random(base::RandomKey(5, 0, 0), {});
  for (int i = 0; i < 40; ++i) {
    const Picture picture =
        Draw({random.Integer(1, 60), random.Integer(1, 90)}, kColours, 255, i);
    Picture green = Blank(picture.size, 1);
    for (int64_t j = 0; j < picture.size.pixels(); ++j) {
      green.pixels[j] = picture.pixels[3 * j + 1];
    }
    const ResizeOptions options = {
        .size = {random.Integer(1, 70), random.Integer(1, 70)},
        .method = kMethods[random.Integer(0, 3)],
        .antialias = random.Integer(0, 2) == 0};
    const Picture all = Resized(picture.view(), options);
    const Picture one = Resized(green.view(), options);
    for (int64_t j = 0; j < options.size.pixels(); ++j) {
      ASSERT_EQ(all.pixels[3 * j + 1], one.pixels[j]);
    }
  }
}

// A part is read where it lies; what is around it does not matter.
TEST(ResizeTest, TakesAPartAsIfItWereAlone) {
  base::Generator random(base::RandomKey(6, 0, 0), {});
  const Picture picture = Draw({60, 70}, kColours, 255);
  for (int i = 0; i < 60; ++i) {
    const Box box = RandomBox(picture.size, random);
    const ResizeOptions options = {
        .size = {random.Integer(1, 40), random.Integer(1, 40)},
        .method = kMethods[i % 3],
        .antialias = random.Integer(0, 2) == 0};
    EXPECT_EQ(Resized(PartOf(picture.view(), box), options).pixels,
              Resized(Cut(picture, box).view(), options).pixels);
  }
}

// --- What any resize promises ---

TEST(ResizeTest, LeavesAnImageOfTheSameSizeAlone) {
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{31, 57}, ImageSize{3, 6}}) {
    const Picture picture = Draw(size, kColours, 255);
    for (const ResizeMethod method : kMethods) {
      for (const bool antialias : {false, true}) {
        const ResizeOptions options = {
            .size = size, .method = method, .antialias = antialias};
        EXPECT_EQ(Resized(picture.view(), options).pixels, picture.pixels);
      }
    }
  }
}

TEST(ResizeTest, LeavesFlatImagesFlat) {
  for (const int level : {0, 1, 127, 255}) {
    Picture flat = Blank({50, 700});
    std::ranges::fill(flat.pixels, static_cast<uint8_t>(level));
    for (const ResizeMethod method : kMethods) {
      for (const ImageSize size : {ImageSize{3, 2}, ImageSize{77, 900}}) {
        const ResizeOptions options = {
            .size = size, .method = method, .antialias = true};
        EXPECT_THAT(Resized(flat.view(), options).pixels, testing::Each(level));
      }
    }
  }
}

TEST(ResizeTest, TakesTheNearestPixel) {
  const Picture picture = {.size = {1, 4}, .channels = 1, .pixels = {10, 20, 30, 40}};
  const auto nearest = [&](int64_t width) {
    return Resized(picture.view(),
                   {.size = {1, width}, .method = ResizeMethod::kNearest})
        .pixels;
  };
  EXPECT_THAT(nearest(2), testing::ElementsAre(20, 40));
  EXPECT_THAT(nearest(8), testing::ElementsAre(10, 10, 20, 20, 30, 30, 40, 40));
  EXPECT_THAT(nearest(1), testing::ElementsAre(30));
}

TEST(ResizeTest, RefusesEmptyImages) {
  const Picture picture = Draw({2, 2});
  uint8_t out = 0;
  EXPECT_DEATH(Resize(picture.view(), {.size = {0, 1}}, &out), "pixels");
  EXPECT_DEATH(Resize(Blank({0, 1}).view(), {.size = {1, 1}}, &out), "pixels");
}

}  // namespace
}  // namespace millrace::kernels
