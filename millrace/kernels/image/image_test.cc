#include "millrace/kernels/image/image.h"

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kFar = std::numeric_limits<int64_t>::max();

TEST(ImageTest, AcceptsSizesUpToTheLimits) {
  EXPECT_THAT(CheckImageSize({1, 1}), base::IsOk());
  EXPECT_THAT(CheckImageSize({kSideMax, 1}), base::IsOk());
  EXPECT_THAT(CheckImageSize({1 << 13, 1 << 14}), base::IsOk());
}

TEST(ImageTest, RefusesSizesBeyondThem) {
  for (const ImageSize size : {ImageSize{0, 1}, ImageSize{1, 0}}) {
    EXPECT_THAT(CheckImageSize(size).ToString(), testing::HasSubstr("has no pixels"));
  }
  for (const ImageSize size : {ImageSize{kSideMax + 1, 1}, ImageSize{1, kSideMax + 1},
                               ImageSize{(1 << 13) + 1, 1 << 14}}) {
    EXPECT_THAT(CheckImageSize(size).ToString(), testing::HasSubstr("too large"));
  }
}

TEST(ImageTest, KnowsWhichBoxesLieInside) {
  for (const Box& box : {Box{0, 0, 3, 4}, Box{2, 3, 1, 1}, Box{3, 4, 0, 0}}) {
    EXPECT_THAT(CheckBox(box, {3, 4}), base::IsOk());
  }
  for (const Box& box :
       {Box{0, 0, 4, 4}, Box{0, 0, 3, 5}, Box{1, 0, 3, 4}, Box{0, 1, 3, 4},
        Box{-1, 0, 1, 1}, Box{0, -1, 1, 1}, Box{0, 0, -1, 1}, Box{0, 0, 1, -1},
        Box{kFar, 0, kFar, 1}, Box{0, kFar, 1, kFar}}) {
    EXPECT_EQ(CheckBox(box, {3, 4}).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(ImageTest, NamesTheBoxThatLiesOutside) {
  EXPECT_EQ(CheckBox({1, 2, 3, 4}, {3, 6}).message(),
            "the box does not lie inside the image: top 1, left 2, height 3, width 4 "
            "of 3 x 6");
}

TEST(ImageTest, CopiesAPart) {
  const Picture picture = {.size = {2, 3}, .channels = 1, .pixels = {1, 2, 3, 4, 5, 6}};
  EXPECT_THAT(Cut(picture, {0, 1, 2, 2}).pixels, testing::ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(Cut(picture, {1, 0, 1, 3}).pixels, testing::ElementsAre(4, 5, 6));
  EXPECT_EQ(Cut(picture, WholeOf(picture.size)).pixels, picture.pixels);
  EXPECT_THAT(Cut(picture, {2, 3, 0, 0}).pixels, testing::IsEmpty());
}

}  // namespace
}  // namespace millrace::kernels
