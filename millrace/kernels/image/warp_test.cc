#include "millrace/kernels/image/warp.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using testing::ElementsAre;

std::vector<uint8_t> Warped(const Picture& picture, const Affine& affine,
                            bool bilinear = false) {
  std::vector<uint8_t> out(picture.pixels.size());
  Warp(picture.view(), MapOf(affine, picture.size, picture.size),
       {.bilinear = bilinear,
        .fill = std::vector<uint8_t>(picture.channels, uint8_t{0})},
       picture.size, out.data());
  return out;
}

const Picture& Square() {
  static const Picture square = {
      .size = {3, 3}, .channels = 1, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  return square;
}

TEST(WarpTest, NothingToDoChangesNothing) {
  const Picture picture = Draw({7, 9}, 3, 255);
  EXPECT_EQ(Warped(picture, {}), picture.pixels);
  EXPECT_EQ(Warped(picture, {}, true), picture.pixels);
  EXPECT_EQ(Warped(picture, {.angle = 720}, true), picture.pixels);
}

TEST(WarpTest, TurnsWithTheClock) {
  for (const bool bilinear : {false, true}) {
    EXPECT_THAT(Warped(Square(), {.angle = 90}, bilinear),
                ElementsAre(7, 4, 1, 8, 5, 2, 9, 6, 3));
    EXPECT_THAT(Warped(Square(), {.angle = -90}, bilinear),
                ElementsAre(3, 6, 9, 2, 5, 8, 1, 4, 7));
    EXPECT_THAT(Warped(Square(), {.angle = 180}, bilinear),
                ElementsAre(9, 8, 7, 6, 5, 4, 3, 2, 1));
  }
}

TEST(WarpTest, MovesRightAndDown) {
  EXPECT_THAT(Warped(Square(), {.translate_x = 1, .translate_y = 2}),
              ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 2));
}

TEST(WarpTest, ScalesAroundTheMiddle) {
  EXPECT_THAT(Warped(Square(), {.scale = 3}), testing::Each(5));
}

// By 45 degrees a row moves by as much as it lies below the middle.
TEST(WarpTest, ShearsAlongRowsOrColumns) {
  EXPECT_THAT(Warped(Square(), {.shear_x = 45}),
              ElementsAre(0, 1, 2, 4, 5, 6, 8, 9, 0));
  EXPECT_THAT(Warped(Square(), {.shear_y = 45}),
              ElementsAre(0, 2, 6, 1, 5, 9, 4, 8, 0));
}

// Each value from the four around its place, in doubles.
TEST(WarpTest, BilinearIsWithinALevelOfTheFormula) {
  const Picture picture = Draw({17, 23}, 1, 255);
  const Affine affine = {.angle = 33,
                         .translate_x = 2,
                         .translate_y = -1,
                         .scale = 1.3,
                         .shear_x = 10,
                         .shear_y = 5};
  const AffineMap map = MapOf(affine, picture.size, picture.size);
  const auto at = [&](int64_t x, int64_t y) -> double {
    const bool inside = x >= 0 && x < 23 && y >= 0 && y < 17;
    return inside ? picture.pixels[y * 23 + x] : 0;
  };
  const std::vector<uint8_t> out = Warped(picture, affine, true);
  for (int64_t i = 0; i < 17 * 23; ++i) {
    const double column = static_cast<double>(i % 23) + 0.5;
    const double row = static_cast<double>(i / 23) + 0.5;
    const double x = map.xx * column + map.xy * row + map.x0 - 0.5;
    const double y = map.yx * column + map.yy * row + map.y0 - 0.5;
    const auto left = static_cast<int64_t>(std::floor(x));
    const auto top = static_cast<int64_t>(std::floor(y));
    const double across = x - std::floor(x);
    const double down = y - std::floor(y);
    const double expected =
        (at(left, top) * (1 - across) + at(left + 1, top) * across) * (1 - down) +
        (at(left, top + 1) * (1 - across) + at(left + 1, top + 1) * across) * down;
    ASSERT_NEAR(out[i], expected, 1.0);
  }
}

TEST(WarpTest, FillsWhatLiesOutsideByChannel) {
  const Picture picture = Draw({2, 2});
  std::vector<uint8_t> out(12);
  Warp(picture.view(), MapOf({.translate_x = 50}, picture.size, picture.size),
       {.fill = {1, 2, 3}}, picture.size, out.data());
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
}

TEST(WarpTest, SineAndCosineAreRight) {
  for (double degrees = -800; degrees < 800; degrees += 0.37) {
    const SineCosine both = SineCosine::Of(degrees);
    const double radians = degrees / 180 * M_PI;
    ASSERT_NEAR(both.sine, std::sin(radians), 1e-13) << degrees;
    ASSERT_NEAR(both.cosine, std::cos(radians), 1e-13) << degrees;
  }
  for (const double degrees : {-270.0, 90.0, 450.0, 3690.0}) {
    EXPECT_EQ(SineCosine::Of(degrees).sine, 1);
    EXPECT_EQ(SineCosine::Of(degrees).cosine, 0);
  }
}

TEST(WarpTest, ATurnedImageNeedsMoreRoom) {
  EXPECT_EQ(TurnedSize({30, 50}, 0), (ImageSize{30, 50}));
  EXPECT_EQ(TurnedSize({30, 51}, 90), (ImageSize{51, 30}));
  EXPECT_EQ(TurnedSize({31, 50}, 180), (ImageSize{31, 50}));
  EXPECT_EQ(TurnedSize({100, 100}, 45), (ImageSize{142, 142}));
}

TEST(WarpTest, RefusesWhatCannotBeComputed) {
  EXPECT_TRUE(CheckAffine({}).ok());
  EXPECT_FALSE(CheckAffine({.angle = std::nan("")}).ok());
  EXPECT_FALSE(CheckAffine({.angle = HUGE_VAL}).ok());
  EXPECT_FALSE(CheckAffine({.translate_x = std::nan("")}).ok());
  EXPECT_FALSE(CheckAffine({.translate_y = 1e7}).ok());
  EXPECT_FALSE(CheckAffine({.scale = 0}).ok());
  EXPECT_FALSE(CheckAffine({.scale = 1e9}).ok());
  EXPECT_FALSE(CheckAffine({.shear_x = 90}).ok());
  EXPECT_FALSE(CheckAffine({.shear_y = -86}).ok());
}

// The most absurd that is allowed reads and writes nothing it must not.
TEST(WarpTest, ExtremesAreSafe) {
  const Picture picture = Draw({5, 300}, 3);
  for (const double scale : {0.001, 1000.0}) {
    for (const double shear : {-85.0, 85.0}) {
      Warped(picture,
             {.angle = 1e15,
              .translate_x = 1e6,
              .scale = scale,
              .shear_x = shear,
              .shear_y = -shear},
             true);
    }
  }
}

}  // namespace
}  // namespace millrace::kernels
