#include "millrace/kernels/image/decode_png.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "png.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

absl::StatusOr<Picture> Decode(std::string_view bytes) {
  const absl::StatusOr<ImageSize> size = PngSize(bytes);
  if (!size.ok()) return size.status();
  Picture picture = Blank(*size);
  absl::Status decoded = DecodePng(bytes, absl::MakeSpan(picture.pixels));
  if (!decoded.ok()) return decoded;
  return picture;
}

TEST(DecodePngTest, DecodesWhatPillowDecodesToTheSamePixels) {
  for (const std::string name : {"colour", "grey", "bits", "alpha", "grey_alpha",
                                 "palette", "palette_clear", "profile"}) {
    const absl::StatusOr<Picture> picture =
        Decode(ReadSample(base::StrCat("png_", name, ".png")));
    ASSERT_THAT(picture, base::IsOk()) << name;
    EXPECT_EQ(picture->size, (ImageSize{29, 37}));
    const std::string expected = ReadSample(base::StrCat("png_", name, ".rgb"));
    EXPECT_EQ(std::string(picture->pixels.begin(), picture->pixels.end()), expected)
        << name;
  }
}

TEST(DecodePngTest, DecodesInterlacedImages) {
  for (const ImageSize size : {ImageSize{1, 1}, ImageSize{5, 3}, ImageSize{31, 40}}) {
    const Picture drawn = Draw(size);
    const absl::StatusOr<Picture> picture =
        Decode(EncodePng(drawn, PNG_COLOR_TYPE_RGB, 8, true));
    ASSERT_THAT(picture, base::IsOk());
    EXPECT_EQ(picture->pixels, drawn.pixels);
  }
}

TEST(DecodePngTest, TakesTheUpperHalfOf16Bits) {
  const ImageSize size = {4, 5};
  const Picture drawn = Draw(size, 6);  // Three channels of two bytes.
  const absl::StatusOr<Picture> picture =
      Decode(EncodePng({.size = size, .channels = 6, .pixels = drawn.pixels},
                       PNG_COLOR_TYPE_RGB, 16, false));
  ASSERT_THAT(picture, base::IsOk());
  for (size_t i = 0; i < picture->pixels.size(); ++i) {
    EXPECT_EQ(picture->pixels[i], drawn.pixels[2 * i]);
  }
}

TEST(DecodePngTest, SpreadsGreyOf16Bits) {
  const Picture drawn = {.size = {1, 2}, .channels = 2, .pixels = {7, 255, 9, 0}};
  const absl::StatusOr<Picture> picture =
      Decode(EncodePng(drawn, PNG_COLOR_TYPE_GRAY, 16, false));
  ASSERT_THAT(picture, base::IsOk());
  EXPECT_THAT(picture->pixels, testing::ElementsAre(7, 7, 7, 9, 9, 9));
}

TEST(DecodePngTest, RefusesWhatIsNoPng) {
  for (const std::string_view bytes : {"", "\x89PNG", "\x89PNG\r\n\x1A\n", "GIF89a"}) {
    EXPECT_EQ(PngSize(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

std::vector<std::string> Samples() {
  return {EncodePng(Draw({9, 11})),
          EncodePng(Draw({9, 11}), PNG_COLOR_TYPE_RGB, 8, true),
          ReadSample("png_palette_clear.png"), ReadSample("png_profile.png")};
}

TEST(DecodePngTest, RefusesEveryTruncation) {
  for (const std::string& bytes : Samples()) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      // In memory of its own, so that a read beyond the end is seen.
      const std::vector<char> part(bytes.data(), bytes.data() + size);
      const absl::StatusOr<Picture> picture = Decode({part.data(), part.size()});
      ASSERT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument) << size;
    }
  }
}

TEST(DecodePngTest, SurvivesFlippedBits) {
  base::Generator random(base::RandomKey(9, 0, 0), {});
  int failed = 0;
  for (const std::string& bytes : Samples()) {
    for (int i = 0; i < 500; ++i) {
      std::string spoilt = bytes;
      const auto bit = random.Integer(0, 8 * std::ssize(spoilt));
      spoilt[bit / 8] = static_cast<char>(spoilt[bit / 8] ^ (1 << bit % 8));
      const absl::StatusOr<ImageSize> size = PngSize(spoilt);
      if (!size.ok() || size->pixels() > 1 << 20) continue;
      failed += Decode(spoilt).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(failed, 500);
}

TEST(DecodePngTest, RefusesABombBeforeItTakesMemory) {
  std::string bytes = EncodePng(Draw({9, 11}));
  bytes[18] = bytes[22] = '\xF0';  // 61,440 pixels and some on each side.
  EXPECT_THAT(PngSize(bytes).status().ToString(), testing::HasSubstr("too large"));
  bytes[16] = '\x7F';
  EXPECT_THAT(PngSize(bytes).status().ToString(), testing::HasSubstr("too large"));
}

TEST(DecodePngTest, SaysWhatIsWrong) {
  std::string bytes = EncodePng(Draw({9, 11}));
  EXPECT_EQ(Decode(bytes.substr(0, bytes.size() - 12)).status().message(),
            "not a whole PNG: it is cut off");
  bytes[bytes.size() / 2] ^= 1;
  EXPECT_THAT(Decode(bytes).status().ToString(), testing::HasSubstr("not a whole PNG"));
}

}  // namespace
}  // namespace millrace::kernels
