#include "millrace/kernels/image/decode_jpeg.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

absl::StatusOr<Picture> Whole(std::string_view bytes, int64_t scale = 1) {
  const absl::StatusOr<ImageSize> size = JpegSize(bytes);
  if (!size.ok()) return size.status();
  Picture picture = Blank(ScaledSize(*size, scale));
  absl::Status decoded = DecodeJpeg(bytes, scale, absl::MakeSpan(picture.pixels));
  if (!decoded.ok()) return decoded;
  return picture;
}

absl::StatusOr<Picture> Region(std::string_view bytes, const Box& box) {
  Picture picture = Blank(box.size());
  absl::Status decoded = DecodeJpegRegion(bytes, box, absl::MakeSpan(picture.pixels));
  if (!decoded.ok()) return decoded;
  return picture;
}

// The same, decoded with columns beside it.
absl::StatusOr<Picture> Part(std::string_view bytes, const Box& box) {
  std::vector<uint8_t> room(static_cast<size_t>(JpegPartBytes(box)));
  const absl::StatusOr<PixelView> part =
      DecodeJpegPart(bytes, box, absl::MakeSpan(room));
  if (!part.ok()) return part.status();
  Picture picture = Blank(part->size);
  CopyPixels(*part, picture.pixels.data());
  return picture;
}

// Every kind of JPEG, of channels 1, 3 or 4.
struct Sample {
  JpegKind kind;
  int64_t channels = kColours;
};

std::vector<Sample> AllSamples() {
  std::vector<Sample> samples = {
      {.kind = {.name = "444"}},
      {.kind = {.name = "422", .across = 2}},
      {.kind = {.name = "420", .across = 2, .down = 2}},
      {.kind = {.name = "440", .down = 2}},
      {.kind = {.name = "411", .across = 4}},
      {.kind = {.name = "410", .across = 4, .down = 2}},
      {.kind = {.name = "grey"}, .channels = 1},
      {.kind = {.name = "grey sampled", .across = 2, .down = 2}, .channels = 1},
      {.kind = {.name = "YCCK"}, .channels = 4},
      {.kind = {.name = "YCCK 420", .across = 2, .down = 2}, .channels = 4},
      {.kind = {.name = "CMYK", .plain_inks = true}, .channels = 4},
  };
  const size_t plain = samples.size();
  for (size_t i = 0; i < plain; ++i) {
    Sample sample = samples[i];
    sample.kind.name += " with restarts";
    sample.kind.restarts = 3;
    samples.push_back(sample);
    sample = samples[i];
    sample.kind.name += " progressive";
    sample.kind.progressive = true;
    samples.push_back(sample);
  }
  return samples;
}

TEST(DecodeJpegTest, DecodesWhatPillowDecodesToTheSamePixels) {
  for (const std::string name :
       {"444", "422", "420", "progressive", "restarts", "grey", "inks"}) {
    const absl::StatusOr<Picture> picture =
        Whole(ReadSample(base::StrCat("jpeg_", name, ".jpg")));
    ASSERT_THAT(picture, base::IsOk()) << name;
    EXPECT_EQ(picture->size, (ImageSize{29, 37}));
    const std::string expected = ReadSample(base::StrCat("jpeg_", name, ".rgb"));
    EXPECT_EQ(std::string(picture->pixels.begin(), picture->pixels.end()), expected)
        << name;
  }
}

// The promise that lets a rewrite crop while decoding.
TEST(DecodeJpegTest, DecodesARegionAsTheWholeHasIt) {
  base::Generator random(base::RandomKey(7, 0, 0), {});
  for (const Sample& sample : AllSamples()) {
    for (const ImageSize size : {ImageSize{97, 131}, ImageSize{64, 64},
                                 ImageSize{17, 200}, ImageSize{200, 9}}) {
      const std::string bytes = EncodeJpeg(Draw(size, sample.channels), sample.kind);
      const absl::StatusOr<Picture> whole = Whole(bytes);
      ASSERT_THAT(whole, base::IsOk()) << sample.kind.name;
      for (int i = 0; i < 60; ++i) {
        const Box box = RandomBox(size, random);
        const absl::StatusOr<Picture> region = Region(bytes, box);
        ASSERT_THAT(region, base::IsOk()) << sample.kind.name;
        ASSERT_EQ(region->pixels, Cut(*whole, box).pixels)
            << sample.kind.name << ": top " << box.top << ", left " << box.left
            << ", height " << box.height << ", width " << box.width << " of "
            << size.height << " x " << size.width;
        const absl::StatusOr<Picture> part = Part(bytes, box);
        ASSERT_THAT(part, base::IsOk()) << sample.kind.name;
        ASSERT_EQ(part->pixels, region->pixels) << sample.kind.name;
      }
    }
  }
}

// Colours are smoothed across the edges of a region and of its MCUs.
TEST(DecodeJpegTest, DecodesEveryRangeOfColumnsAsTheWholeHasIt) {
  const ImageSize size = {18, 68};
  for (const int across : {1, 2, 4}) {
    const std::string bytes = EncodeJpeg(Draw(size), {.across = across, .down = 2});
    const absl::StatusOr<Picture> whole = Whole(bytes);
    ASSERT_THAT(whole, base::IsOk());
    for (int64_t left = 0; left < size.width; ++left) {
      for (int64_t width = 1; width <= size.width - left; ++width) {
        const Box box = {.top = 3, .left = left, .height = 14, .width = width};
        const absl::StatusOr<Picture> part = Part(bytes, box);
        ASSERT_THAT(part, base::IsOk());
        ASSERT_EQ(part->pixels, Cut(*whole, box).pixels)
            << "left " << left << ", width " << width << ", across " << across;
      }
    }
  }
}

// The last scans of a progressive image are missing, but it was ended properly.
TEST(DecodeJpegTest, DecodesARegionOfACoarseImageAsTheWholeHasIt) {
  base::Generator random(base::RandomKey(11, 0, 0), {});
  const ImageSize size = {60, 70};
  const std::string bytes = EncodeJpeg(Draw(size), {.across = 2, .progressive = true});
  const size_t second_scan = bytes.find("\xFF\xC4", bytes.find("\xFF\xDA"));
  const std::string coarse = bytes.substr(0, second_scan) + "\xFF\xD9";
  const absl::StatusOr<Picture> whole = Whole(coarse);
  ASSERT_THAT(whole, base::IsOk());
  for (int i = 0; i < 60; ++i) {
    const Box box = RandomBox(size, random);
    const absl::StatusOr<Picture> region = Region(coarse, box);
    ASSERT_THAT(region, base::IsOk());
    EXPECT_EQ(region->pixels, Cut(*whole, box).pixels);
  }
}

TEST(DecodeJpegTest, DecodesEverySmallSize) {
  for (int64_t height = 1; height <= 18; ++height) {
    for (int64_t width = 1; width <= 18; ++width) {
      const Picture drawn = Draw({height, width});
      const std::string bytes =
          EncodeJpeg(drawn, {.quality = 95, .across = 2, .down = 2});
      const absl::StatusOr<Picture> whole = Whole(bytes);
      ASSERT_THAT(whole, base::IsOk()) << height << " x " << width;
      const Box corner = {height - 1, width - 1, 1, 1};
      const absl::StatusOr<Picture> last = Region(bytes, corner);
      ASSERT_THAT(last, base::IsOk()) << height << " x " << width;
      EXPECT_EQ(last->pixels, Cut(*whole, corner).pixels) << height << " x " << width;
    }
  }
}

TEST(DecodeJpegTest, DecodesSmallerByPowersOfTwo) {
  const Picture flat = {
      .size = {33, 50},
      .channels = 3,
      .pixels = std::vector<uint8_t>(static_cast<size_t>(33 * 50 * 3), 77)};
  const std::string bytes = EncodeJpeg(flat, {.across = 2, .down = 2});
  for (const int64_t scale : {1, 2, 4, 8}) {
    const absl::StatusOr<Picture> picture = Whole(bytes, scale);
    ASSERT_THAT(picture, base::IsOk());
    EXPECT_EQ(picture->size.height, (33 + scale - 1) / scale);
    EXPECT_EQ(picture->size.width, (50 + scale - 1) / scale);
    EXPECT_THAT(picture->pixels, testing::Each(testing::Eq(77)));
  }
}

TEST(DecodeJpegTest, ReadsInksAsAdobeWritesThem) {
  Picture inks = Blank({8, 8}, 4);
  for (size_t i = 0; i < inks.pixels.size(); i += 4) {
    inks.pixels[i] = 255;  // No cyan at all, inverted.
    inks.pixels[i + 1] = 128;
    inks.pixels[i + 2] = 0;
    inks.pixels[i + 3] = 255;  // No black.
  }
  const absl::StatusOr<Picture> picture =
      Whole(EncodeJpeg(inks, {.quality = 100, .plain_inks = true}));
  ASSERT_THAT(picture, base::IsOk());
  EXPECT_THAT(
      std::vector<uint8_t>(picture->pixels.begin(), picture->pixels.begin() + 3),
      testing::ElementsAre(255, 128, 0));
}

// --- What is no whole JPEG ---

TEST(DecodeJpegTest, KnowsTheSizeFromTheHeaderAlone) {
  const std::string bytes = EncodeJpeg(Draw({45, 67}));
  EXPECT_EQ(*JpegSize(bytes), (ImageSize{45, 67}));
  const size_t scan = bytes.find("\xFF\xDA");
  EXPECT_EQ(*JpegSize(bytes.substr(0, scan)), (ImageSize{45, 67}));
}

TEST(DecodeJpegTest, FindsTheSizeBehindFillBytesAndOtherSegments) {
  std::string bytes = EncodeJpeg(Draw({45, 67}));
  bytes.insert(2, "\xFF\xFE\x04");
  bytes.insert(5, 1, '\0');
  std::swap(bytes[4], bytes[5]);  // A comment of two bytes: FF FE 00 04 x y.
  bytes.insert(6, "ab\xFF\xFF");
  EXPECT_EQ(*JpegSize(bytes), (ImageSize{45, 67}));
  EXPECT_THAT(Whole(bytes), base::IsOk());
}

TEST(DecodeJpegTest, RefusesWhatIsNoJpeg) {
  for (const std::string_view bytes :
       {"", "\xFF", "\xFF\xD8", "\xFF\xD8\xFF", "\xFF\xD8\xFF\xD9", "GIF89a and more",
        "\xFF\xD8\xFF\xC0", "\xFF\xD8\xFF\xFF\xFF\xFF\xFF\xFF\xFF"}) {
    EXPECT_EQ(JpegSize(bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// The place of height and width in the frame header.
size_t SizePlace(const std::string& bytes) { return bytes.find("\xFF\xC0") + 5; }

TEST(DecodeJpegTest, RefusesABombBeforeItTakesMemory) {
  std::string bytes = EncodeJpeg(Draw({45, 67}));
  for (size_t i = 0; i < 4; ++i) bytes[SizePlace(bytes) + i] = '\xFE';
  EXPECT_THAT(JpegSize(bytes).status().ToString(), testing::HasSubstr("too large"));
  for (size_t i = 0; i < 4; ++i) bytes[SizePlace(bytes) + i] = '\0';
  EXPECT_THAT(JpegSize(bytes).status().ToString(), testing::HasSubstr("no pixels"));
}

TEST(DecodeJpegTest, RefusesEveryTruncation) {
  for (const Sample& sample : AllSamples()) {
    const std::string bytes = EncodeJpeg(Draw({19, 21}, sample.channels), sample.kind);
    for (size_t size = 0; size < bytes.size(); ++size) {
      // In memory of its own, so that a read beyond the end is seen.
      const std::vector<char> part(bytes.data(), bytes.data() + size);
      const absl::StatusOr<Picture> picture = Whole({part.data(), part.size()});
      ASSERT_EQ(picture.status().code(), absl::StatusCode::kInvalidArgument)
          << sample.kind.name << " cut to " << size << " of " << bytes.size();
    }
  }
}

TEST(DecodeJpegTest, SurvivesFlippedBits) {
  base::Generator random(base::RandomKey(8, 0, 0), {});
  int failed = 0;
  for (const Sample& sample : AllSamples()) {
    const std::string bytes = EncodeJpeg(Draw({40, 33}, sample.channels), sample.kind);
    for (int i = 0; i < 150; ++i) {
      std::string spoilt = bytes;
      for (int64_t flips = random.Integer(1, 4); flips > 0; --flips) {
        const auto bit = random.Integer(0, 8 * std::ssize(spoilt));
        spoilt[bit / 8] = static_cast<char>(spoilt[bit / 8] ^ (1 << bit % 8));
      }
      const absl::StatusOr<ImageSize> size = JpegSize(spoilt);
      if (!size.ok() || size->pixels() > 1 << 20) continue;
      const absl::StatusOr<Picture> whole = Whole(spoilt);
      failed += whole.ok() ? 0 : 1;
      const absl::StatusOr<Picture> region = Region(spoilt, RandomBox(*size, random));
      EXPECT_TRUE(region.ok() || !whole.ok()) << region.status();
    }
  }
  EXPECT_GT(failed, 500);
}

TEST(DecodeJpegTest, SaysWhatIsWrong) {
  const std::string bytes = EncodeJpeg(Draw({64, 64}));
  EXPECT_EQ(Whole(bytes.substr(0, bytes.size() / 2)).status().message(),
            "not a whole JPEG: Premature end of JPEG file");
  std::string ended = bytes.substr(0, bytes.size() / 2) + "\xFF\xD9";
  EXPECT_EQ(Whole(ended).status().message(),
            "not a whole JPEG: Corrupt JPEG data: premature end of data segment");
}

TEST(DecodeJpegTest, AcceptsWhatCostsNoPixel) {
  const std::string bytes = EncodeJpeg(Draw({64, 64}));
  const absl::StatusOr<Picture> whole = Whole(bytes);
  std::string padded = bytes;
  padded.insert(bytes.size() - 2, "abc");  // Before the end marker.
  padded += "and more after it";
  ASSERT_THAT(Whole(padded), base::IsOk());
  EXPECT_EQ(Whole(padded)->pixels, whole->pixels);
}

TEST(DecodeJpegTest, DoesNotSeeDamageBelowTheRegion) {
  const Picture drawn = Draw({256, 64});
  const std::string bytes = EncodeJpeg(drawn);
  const absl::StatusOr<Picture> whole = Whole(bytes);
  const std::string half = bytes.substr(0, bytes.size() / 2);
  const Box top = {0, 0, 32, 64};
  const absl::StatusOr<Picture> region = Region(half, top);
  ASSERT_THAT(region, base::IsOk());
  EXPECT_EQ(region->pixels, Cut(*whole, top).pixels);
  EXPECT_EQ(Region(half, {200, 0, 32, 64}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(DecodeJpegTest, RefusesARegionOutside) {
  const std::string bytes = EncodeJpeg(Draw({16, 16}));
  EXPECT_THAT(Region(bytes, {10, 0, 7, 16}).status().ToString(),
              testing::HasSubstr("does not lie inside"));
}

// The last scan comes so many times more. It gives all bits of its values, so that
// nothing is wrong with that but the number.
std::string WithScansMore(const std::string& bytes, int more) {
  const size_t scan = bytes.rfind("\xFF\xC4");  // The last scan, with its tables.
  const std::string last = bytes.substr(scan, bytes.size() - 2 - scan);
  std::string many = bytes.substr(0, bytes.size() - 2);
  for (int i = 0; i < more; ++i) many += last;
  return many + "\xFF\xD9";
}

// Each scan would be a walk over all coefficients.
TEST(DecodeJpegTest, RefusesAFileWithMoreScansThanAnyEncoderMakes) {
  const std::string two_scans = EncodeJpeg(Draw({16, 16}, 1), {.by_band = true});
  const absl::StatusOr<Picture> plain = Whole(two_scans);
  ASSERT_THAT(plain, base::IsOk());
  const absl::StatusOr<Picture> most = Whole(WithScansMore(two_scans, 498));
  ASSERT_THAT(most, base::IsOk());
  EXPECT_EQ(most->pixels, plain->pixels);
  EXPECT_THAT(Whole(WithScansMore(two_scans, 499)).status().ToString(),
              testing::HasSubstr("too many scans"));
}

// A decoder that kept its tables would decode this with those of the image before.
TEST(DecodeJpegTest, KeepsNothingBetweenImages) {
  const std::string bytes = EncodeJpeg(Draw({16, 16}));
  std::string bare = bytes;
  while (bare.find("\xFF\xDB") != std::string::npos) {  // Without quantisation tables.
    const size_t place = bare.find("\xFF\xDB");
    bare.erase(place, 2 + static_cast<size_t>(static_cast<uint8_t>(bare[place + 3])));
  }
  EXPECT_THAT(Whole(bytes), base::IsOk());
  EXPECT_FALSE(Whole(bare).ok());
}

}  // namespace
}  // namespace millrace::kernels
