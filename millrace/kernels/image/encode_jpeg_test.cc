#include "millrace/kernels/image/encode_jpeg.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/types/span.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/decode_jpeg.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

// A picture without edges survives almost as it was.
TEST(EncodeJpegTest, WhatIsDecodedIsNearlyWhatWasEncoded) {
  Picture picture = Blank({33, 47});
  for (int64_t i = 0; i < picture.size.pixels(); ++i) {
    for (int64_t c = 0; c < kColours; ++c) {
      picture.pixels[3 * i + c] = static_cast<uint8_t>(60 + 2 * (i / 47) + 20 * c);
    }
  }
  const std::string bytes = EncodeJpeg(picture.view(), 95);
  const absl::StatusOr<ImageSize> size = JpegSize(bytes);
  ASSERT_THAT(size, base::IsOk());
  EXPECT_EQ(size->height, 33);
  EXPECT_EQ(size->width, 47);
  Picture back = Blank(picture.size);
  ASSERT_THAT(DecodeJpeg(bytes, 1, absl::MakeSpan(back.pixels)), base::IsOk());
  for (size_t i = 0; i < back.pixels.size(); ++i) {
    EXPECT_LE(std::abs(back.pixels[i] - picture.pixels[i]), 6) << i;
  }
}

TEST(EncodeJpegTest, LessQualityIsFewerBytes) {
  const Picture picture = Draw({60, 80});
  EXPECT_LT(EncodeJpeg(picture.view(), 30).size(),
            EncodeJpeg(picture.view(), 90).size());
}

}  // namespace
}  // namespace millrace::kernels
