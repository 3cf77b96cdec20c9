#include "millrace/kernels/image/decode_webp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/kernels/image/encode_webp.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using testing::HasSubstr;

// The samples are of this size.
constexpr ImageSize kSample = {29, 37};

TEST(DecodeWebpTest, GivesWhatPillowGives) {
  for (const std::string name : {"webp_lossy", "webp_lossless", "webp_alpha"}) {
    const std::string bytes = ReadSample(name + ".webp");
    EXPECT_TRUE(IsWebp(bytes));
    EXPECT_EQ(*WebpSize(bytes), kSample) << name;
    Picture out = Blank(kSample);
    ASSERT_THAT(DecodeWebp(bytes, absl::MakeSpan(out.pixels)), base::IsOk());
    const std::string expected = ReadSample(name + ".rgb");
    ASSERT_EQ(out.pixels.size(), expected.size());
    EXPECT_TRUE(
        std::equal(out.pixels.begin(), out.pixels.end(), expected.begin(),
                   [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }))
        << name;
  }
}

TEST(DecodeWebpTest, AnAnimationIsNotOneImage) {
  EXPECT_THAT(WebpSize(ReadSample("webp_animation.webp")).status().ToString(),
              HasSubstr("an animated WebP is not one image"));
}

TEST(DecodeWebpTest, CutOffAnywhereItIsAnError) {
  const std::string bytes = ReadSample("webp_lossy.webp");
  Picture out = Blank(kSample);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string part = bytes.substr(0, size);
    const absl::Status status = WebpSize(part).ok()
                                    ? DecodeWebp(part, absl::MakeSpan(out.pixels))
                                    : WebpSize(part).status();
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    ASSERT_THAT(std::string(status.message()), HasSubstr("not a whole WebP"));
  }
}

TEST(DecodeWebpTest, DamageNeverCrashes) {
  base::Generator random(base::RandomKey(1, 0, 0), {});
  for (const std::string name : {"webp_lossy", "webp_lossless", "webp_alpha"}) {
    const std::string whole = ReadSample(name + ".webp");
    for (int round = 0; round < 300; ++round) {
      std::string bytes = whole;
      const auto place = random.Integer(12, static_cast<int64_t>(bytes.size()));
      bytes[place] = static_cast<char>(random.Integer(0, 256));
      const auto size = WebpSize(bytes);
      if (!size.ok() || size->pixels() > 10'000) continue;
      Picture out = Blank(*size);
      DecodeWebp(bytes, absl::MakeSpan(out.pixels)).IgnoreError();
    }
  }
}

TEST(DecodeWebpTest, OtherBytesAreNoWebp) {
  EXPECT_FALSE(IsWebp(""));
  EXPECT_FALSE(IsWebp("RIFF1234WAVE"));
  EXPECT_THAT(WebpSize("RIFF1234WAVE").status().ToString(),
              HasSubstr("does not begin as one"));
  EXPECT_THAT(WebpSize("RIFF1234WEBP").status().ToString(),
              HasSubstr("not a whole WebP"));
}

TEST(DecodeWebpTest, RequiresRoomForExactlyTheImage) {
  Picture out = Blank({3, 3});
  EXPECT_DEATH(
      DecodeWebp(*EncodeWebp(Draw({4, 4}).view(), 80), absl::MakeSpan(out.pixels))
          .IgnoreError(),
      "");
}

}  // namespace
}  // namespace millrace::kernels
