#include "millrace/kernels/image/decode.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "png.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/pool.h"
#include "millrace/kernels/image/encode_webp.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/pixel_room.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

TEST(DecodeTest, TellsTheFormatsApart) {
  const Picture drawn = Draw({30, 40});
  EXPECT_EQ(*EncodedSize(EncodeJpeg(drawn)), drawn.size);
  EXPECT_EQ(*EncodedSize(EncodePng(drawn)), drawn.size);
  EXPECT_EQ(*EncodedSize(*EncodeWebp(drawn.view(), 80)), drawn.size);
  EXPECT_EQ(EncodedSize("GIF89a").status().message(),
            "the bytes begin neither as JPEG nor as PNG nor as WebP do");
}

TEST(DecodeTest, DecodesPngWithoutLoss) {
  const Picture drawn = Draw({30, 40});
  Picture decoded = Blank(drawn.size);
  ASSERT_THAT(Decode(EncodePng(drawn), 1, decoded.pixels.data()), base::IsOk());
  EXPECT_EQ(decoded.pixels, drawn.pixels);
}

TEST(DecodeTest, DecodesOnlyJpegSmaller) {
  const Picture drawn = Draw({30, 41});
  EXPECT_EQ(*DecodedSize(EncodeJpeg(drawn), 4), (ImageSize{8, 11}));
  EXPECT_THAT(DecodedSize(EncodePng(drawn), 2).status().ToString(),
              testing::HasSubstr("only JPEG can be decoded smaller"));
}

TEST(DecodeTest, CutsRegionsOutOfAllFormats) {
  base::Generator random(base::RandomKey(1, 0, 0), {});
  const Picture drawn = Draw({30, 40});
  PixelRoom room(core::HeapPool());
  for (const std::string& bytes :
       {EncodeJpeg(drawn), EncodePng(drawn, PNG_COLOR_TYPE_RGB, 8, true),
        *EncodeWebp(drawn.view(), 80)}) {
    Picture whole = Blank(drawn.size);
    ASSERT_THAT(Decode(bytes, 1, whole.pixels.data()), base::IsOk());
    for (int i = 0; i < 50; ++i) {
      const Box box = RandomBox(drawn.size, random);
      Picture region = Blank(box.size());
      ASSERT_THAT(DecodeRegion(bytes, box, region.pixels.data()), base::IsOk());
      EXPECT_EQ(region.pixels, Cut(whole, box).pixels);
      const absl::StatusOr<PixelView> part = DecodePart(bytes, box, room);
      ASSERT_THAT(part, base::IsOk());
      ASSERT_EQ(part->size, box.size());
      CopyPixels(*part, region.pixels.data());
      EXPECT_EQ(region.pixels, Cut(whole, box).pixels);
    }
    EXPECT_THAT(DecodeRegion(bytes, {4, 5, 0, 3}, nullptr), base::IsOk());
    EXPECT_EQ(DecodeRegion(bytes, {29, 0, 2, 1}, nullptr).code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(DecodePart(bytes, {29, 0, 2, 1}, room).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace millrace::kernels
