#include "millrace/kernels/image/normalize.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

ChannelLines LinesOf(int64_t channels) {
  std::vector<double> means;
  std::vector<double> deviations;
  for (int64_t c = 0; c < channels; ++c) {
    means.push_back(0.4 + 0.01 * static_cast<double>(c));
    deviations.push_back(0.2 + 0.03 * static_cast<double>(c));
  }
  return ChannelLines::Of(means, deviations, 1.0 / 255);
}

TEST(NormalizeTest, SubtractsTheMeanAndDividesByTheDeviation) {
  const ChannelLines lines = ChannelLines::Of({10, 20}, {2, 5}, 1);
  const std::vector<uint8_t> bytes = {12, 25, 10, 20, 0, 0};
  std::vector<float> out(6);
  Normalize(bytes.data(), 3, lines, out.data());
  EXPECT_THAT(out, testing::ElementsAre(1, 1, 0, 0, -5, -4));
  NormalizeToPlanes(bytes.data(), 3, lines, out.data());
  EXPECT_THAT(out, testing::ElementsAre(1, 0, -5, 1, 0, -4));
}

TEST(NormalizeTest, IsCloseToTheExactValue) {
  const ChannelLines lines = ChannelLines::Of({0.485}, {0.229}, 1.0 / 255);
  for (int x = 0; x < 256; ++x) {
    const auto byte = static_cast<uint8_t>(x);
    float value = 0;
    Normalize(&byte, 1, lines, &value);
    EXPECT_NEAR(value, (x / 255.0 - 0.485) / 0.229, 5e-7);
  }
}

TEST(NormalizeTest, GivesTheSameBitsOnEveryProcessor) {
  for (const int64_t channels : {1, 2, 3, 4}) {
    const ChannelLines lines = LinesOf(channels);
    for (int64_t pixels = 0; pixels < 120; pixels += pixels < 40 ? 1 : 7) {
      const Picture picture = Draw({1, pixels}, channels, 255);
      std::vector<float> flat(picture.pixels.size());
      std::vector<float> planes(picture.pixels.size());
      for (size_t i = 0; i < flat.size(); ++i) {
        const size_t c = i % channels;
        const auto x = static_cast<float>(picture.pixels[i]);
        flat[i] = x * lines.factors[c] + lines.offsets[c];
        planes[c * pixels + i / channels] = flat[i];
      }
      ForEachTarget([&](const char* target) {
        std::vector<float> out(flat.size());
        Normalize(picture.pixels.data(), pixels, lines, out.data());
        EXPECT_EQ(out, flat) << target;
        NormalizeToPlanes(picture.pixels.data(), pixels, lines, out.data());
        EXPECT_EQ(out, planes) << target;
      });
    }
  }
}

TEST(NormalizeTest, RefusesADeviationOfZero) {
  EXPECT_DEATH(ChannelLines::Of({1}, {0}, 1), "deviations");
  EXPECT_DEATH(ChannelLines::Of({1}, {1, 2}, 1), "size");
}

}  // namespace
}  // namespace millrace::kernels
