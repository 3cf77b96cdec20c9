#include "millrace/kernels/image/encode_webp.h"

#include <cstddef>
#include <cstdlib>
#include <string>

#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/decode_webp.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

TEST(EncodeWebpTest, WhatIsDecodedIsCloseToWhatWasEncoded) {
  const Picture drawn = Draw({40, 50}, kColours, 0);
  Picture decoded = Blank(drawn.size);
  const std::string bytes = *EncodeWebp(drawn.view(), 95);
  ASSERT_THAT(DecodeWebp(bytes, absl::MakeSpan(decoded.pixels)), base::IsOk());
  double distance = 0;
  for (size_t i = 0; i < drawn.pixels.size(); ++i) {
    distance += std::abs(drawn.pixels[i] - decoded.pixels[i]);
  }
  EXPECT_LT(distance / static_cast<double>(drawn.pixels.size()), 20);
}

TEST(EncodeWebpTest, LessQualityIsFewerBytes) {
  const Picture drawn = Draw({40, 50});
  EXPECT_LT(EncodeWebp(drawn.view(), 10)->size(), EncodeWebp(drawn.view(), 95)->size());
}

TEST(EncodeWebpTest, TakesPartsOfImages) {
  const Picture drawn = Draw({40, 50});
  const Box box = {.top = 3, .left = 5, .height = 20, .width = 30};
  EXPECT_EQ(*EncodeWebp(PartOf(drawn.view(), box), 80),
            *EncodeWebp(Cut(drawn, box).view(), 80));
}

TEST(EncodeWebpTest, ASideTooLongIsAnError) {
  EXPECT_THAT(EncodeWebp(Blank({1, kWebpSideMax + 1}).view(), 80).status().ToString(),
              testing::HasSubstr("no side of a WebP is longer than 16383"));
  EXPECT_THAT(EncodeWebp(Blank({1, kWebpSideMax}).view(), 80), base::IsOk());
}

TEST(EncodeWebpTest, RequiresColoursAndAQuality) {
  EXPECT_DEATH(EncodeWebp(Draw({4, 4}, 1).view(), 80).IgnoreError(), "");
  EXPECT_DEATH(EncodeWebp(Draw({4, 4}).view(), 0).IgnoreError(), "");
}

}  // namespace
}  // namespace millrace::kernels
