#include "millrace/kernels/image/pad.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using testing::ElementsAre;

// Where the places from -4 to 6 of an axis of 3 are found.
std::vector<int64_t> Places(PadMode mode, int64_t size = 3) {
  std::vector<int64_t> places;
  for (int64_t i = -4; i <= 6; ++i) places.push_back(PlaceWithin(i, size, mode));
  return places;
}

TEST(PadTest, FindsPlacesBeyondTheEdge) {
  EXPECT_THAT(Places(PadMode::kConstant),
              ElementsAre(-1, -1, -1, -1, 0, 1, 2, -1, -1, -1, -1));
  EXPECT_THAT(Places(PadMode::kEdge), ElementsAre(0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2));
  EXPECT_THAT(Places(PadMode::kReflect), ElementsAre(0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2));
  EXPECT_THAT(Places(PadMode::kSymmetric),
              ElementsAre(2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0));
  EXPECT_THAT(Places(PadMode::kReflect, 1), testing::Each(0));
  EXPECT_THAT(Places(PadMode::kSymmetric, 1), testing::Each(0));
}

TEST(PadTest, CutsAnyBoxInAnyMode) {
  const Picture picture = Draw({4, 5}, 2, 255);
  const std::vector<uint8_t> fill = {7, 9};
  const PadMode modes[] = {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect,
                           PadMode::kSymmetric};
  for (const PadMode mode : modes) {
    for (const Box box : {Box{-2, -3, 9, 12},
                          {1, 1, 2, 2},
                          {-9, 0, 3, 5},
                          {0, -20, 4, 3},
                          {2, 9, 5, 4},
                          {6, 6, 1, 1}}) {
      std::vector<uint8_t> out(box.size().pixels() * 2);
      CutPadded(picture.view(), box, mode, fill, out.data());
      for (int64_t i = 0; i < box.size().pixels(); ++i) {
        const int64_t y = PlaceWithin(box.top + i / box.width, 4, mode);
        const int64_t x = PlaceWithin(box.left + i % box.width, 5, mode);
        const uint8_t* pixel =
            y < 0 || x < 0 ? fill.data() : picture.view().Row(y) + 2 * x;
        ASSERT_EQ(out[2 * i], pixel[0]);
        ASSERT_EQ(out[2 * i + 1], pixel[1]);
      }
    }
  }
}

TEST(PadTest, NothingCanBeFilledButHasNoEdge) {
  const Picture nothing = Blank({0, 3}, 1);
  std::vector<uint8_t> out(4);
  CutPadded(nothing.view(), {-1, -1, 2, 2}, PadMode::kConstant, {5}, out.data());
  EXPECT_THAT(out, ElementsAre(5, 5, 5, 5));
  EXPECT_TRUE(CheckPadded(nothing.view(), PadMode::kConstant).ok());
  EXPECT_THAT(CheckPadded(nothing.view(), PadMode::kEdge).ToString(),
              testing::HasSubstr("has no edge"));
}

TEST(PadTest, KnowsItsModes) {
  EXPECT_EQ(PadModeOf("constant"), PadMode::kConstant);
  EXPECT_EQ(PadModeOf("edge"), PadMode::kEdge);
  EXPECT_EQ(PadModeOf("reflect"), PadMode::kReflect);
  EXPECT_EQ(PadModeOf("symmetric"), PadMode::kSymmetric);
  EXPECT_DEATH(PadModeOf("zebra"), "");
}

}  // namespace
}  // namespace millrace::kernels
