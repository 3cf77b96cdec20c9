#include "millrace/kernels/image/layout.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

template <typename T>
std::vector<T> Counted(int64_t count) {
  std::vector<T> values;
  values.reserve(count);
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(i * 7 + 1));
  return values;
}

template <typename T>
std::vector<T> Spread(const std::vector<T>& pixels, int64_t channels) {
  std::vector<T> planes(pixels.size());
  ToPlanes(reinterpret_cast<const std::byte*>(pixels.data()),
           {.channels = channels,
            .pixels = static_cast<int64_t>(pixels.size()) / channels,
            .value_bytes = sizeof(T)},
           reinterpret_cast<std::byte*>(planes.data()));
  return planes;
}

template <typename T>
std::vector<T> Gathered(const std::vector<T>& planes, int64_t channels) {
  std::vector<T> pixels(planes.size());
  FromPlanes(reinterpret_cast<const std::byte*>(planes.data()),
             {.channels = channels,
              .pixels = static_cast<int64_t>(planes.size()) / channels,
              .value_bytes = sizeof(T)},
             reinterpret_cast<std::byte*>(pixels.data()));
  return pixels;
}

TEST(LayoutTest, MakesAPlaneOfEachChannel) {
  const std::vector<uint8_t> pixels = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(Spread(pixels, 3), testing::ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Spread(pixels, 2), testing::ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(Spread(pixels, 1), testing::ElementsAreArray(pixels));
}

template <typename T>
void CheckEveryCount() {
  for (const int64_t channels : {1, 3, 4}) {
    for (int64_t pixels = 0; pixels < 150; ++pixels) {
      const std::vector<T> values = Counted<T>(pixels * channels);
      std::vector<T> expected(values.size());
      for (int64_t i = 0; i < pixels * channels; ++i) {
        expected[i % channels * pixels + i / channels] = values[i];
      }
      ASSERT_EQ(Spread(values, channels), expected) << pixels << " of " << channels;
      ASSERT_EQ(Gathered(expected, channels), values) << pixels << " of " << channels;
    }
  }
}

TEST(LayoutTest, MovesEveryTypeBothWaysOnEveryProcessor) {
  ForEachTarget([](const char* target) {
    SCOPED_TRACE(target);
    CheckEveryCount<uint8_t>();
    CheckEveryCount<uint16_t>();
    CheckEveryCount<float>();
    CheckEveryCount<int64_t>();
  });
}

TEST(LayoutTest, RefusesValuesOfOtherSizes) {
  std::byte some[8] = {};
  EXPECT_DEATH(ToPlanes(some, {.channels = 1, .pixels = 1, .value_bytes = 3}, some),
               "value_bytes");
  EXPECT_DEATH(FromPlanes(some, {.channels = 1, .pixels = 1, .value_bytes = 5}, some),
               "value_bytes");
}

}  // namespace
}  // namespace millrace::kernels
