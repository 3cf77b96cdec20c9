#include "millrace/kernels/image/flip.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

Picture Flipped(const PixelView& image) {
  Picture picture = Blank(image.size, image.channels);
  FlipHorizontal(image, picture.pixels.data());
  return picture;
}

TEST(FlipTest, MirrorsEachRow) {
  const Picture picture = {
      .size = {2, 2}, .channels = 2, .pixels = {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_THAT(Flipped(picture.view()).pixels,
              testing::ElementsAre(3, 4, 1, 2, 7, 8, 5, 6));
}

TEST(FlipTest, MirrorsEveryWidthOnEveryProcessor) {
  for (const int64_t channels : {1, 3, 4, 12}) {
    for (int64_t width = 1; width < 40; ++width) {
      const Picture picture = Draw({3, width}, channels, 255);
      Picture expected = Blank(picture.size, channels);
      for (int64_t i = 0; i < 3 * width * channels; ++i) {
        const int64_t row = i / (width * channels);
        const int64_t column = i / channels % width;
        const int64_t from = row * width + (width - 1 - column);
        expected.pixels[i] = picture.pixels[from * channels + i % channels];
      }
      ForEachTarget([&](const char* target) {
        EXPECT_EQ(Flipped(picture.view()).pixels, expected.pixels)
            << width << " pixels of " << channels << " on " << target;
      });
    }
  }
}

TEST(FlipTest, TwiceIsNothing) {
  const Picture picture = Draw({20, 33});
  EXPECT_EQ(Flipped(Flipped(picture.view()).view()).pixels, picture.pixels);
}

TEST(FlipTest, TakesAPartOfAnImage) {
  const Picture picture = Draw({20, 33});
  const Box box = {3, 4, 9, 20};
  EXPECT_EQ(Flipped(PartOf(picture.view(), box)).pixels,
            Flipped(Cut(picture, box).view()).pixels);
}

TEST(FlipTest, AcceptsNothing) {
  EXPECT_THAT(Flipped(Blank({0, 5}).view()).pixels, testing::IsEmpty());
  EXPECT_THAT(Flipped(Blank({5, 0}).view()).pixels, testing::IsEmpty());
}

TEST(FlipTest, MirrorsTopToBottomAnyPartOfAnImage) {
  const Picture picture = Draw({7, 9});
  const PixelView part =
      PartOf(picture.view(), {.top = 1, .left = 2, .height = 4, .width = 5});
  std::vector<uint8_t> out(60);
  FlipVertical(part, out.data());
  for (int64_t row = 0; row < 4; ++row) {
    const std::vector<uint8_t> line(out.begin() + row * 15,
                                    out.begin() + (row + 1) * 15);
    EXPECT_EQ(line, std::vector<uint8_t>(part.Row(3 - row), part.Row(3 - row) + 15));
  }
  FlipVertical(Blank({0, 5}).view(), nullptr);
  FlipVertical(Blank({5, 0}).view(), nullptr);
}

}  // namespace
}  // namespace millrace::kernels
