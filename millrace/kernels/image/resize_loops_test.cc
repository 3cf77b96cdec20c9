#include "millrace/kernels/image/resize_loops.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/resize_weights.h"
#include "millrace/kernels/image/samples_test.h"
#include "millrace/kernels/image/targets_test.h"

namespace millrace::kernels {
namespace {

// A row of pixels with `slack` bytes behind it.
std::vector<uint8_t> RowOf(int64_t width, int64_t slack) {
  std::vector<uint8_t> row = Draw({1, width}, kColours, 255).pixels;
  row.resize(row.size() + slack, 77);
  return row;
}

TEST(ResizeLoopsTest, BlocksAreAsLongAsTheirSourcesAllow) {
  const auto per_block = [](int64_t from, int64_t to) {
    return LayOutBlocks(BilinearPlaces(from, to), from).values_per_block;
  };
  EXPECT_EQ(per_block(100, 224), 8);
  EXPECT_EQ(per_block(224, 224), 8);
  EXPECT_EQ(per_block(290, 224), 8);
  EXPECT_EQ(per_block(500, 224), 6);
  EXPECT_EQ(per_block(2000, 224), 3);
  EXPECT_DEATH(LayOutBlocks(BilinearPlaces(5, 8), 5), "source_width");
}

TEST(ResizeLoopsTest, BlendColumnsIsTheSameWithBlocksAndWithout) {
  for (const int64_t from : {6, 7, 50, 224, 300, 1000}) {
    const std::vector<uint8_t> row = RowOf(from, 0);  // Not a byte more is read.
    for (const int64_t to : {1, 2, 3, 5, 8, 64, 223}) {
      const std::vector<Between> places = BilinearPlaces(from, to);
      std::vector<int16_t> expected(to * kColours);
      BlendColumnsPlainly(row.data(), places, kColours, expected.data());
      const ColumnBlocks blocks = LayOutBlocks(places, from);
      ForEachTarget([&](const char* target) {
        std::vector<int16_t> out(blocks.values() + kRowSlack);
        BlendColumns(row.data(), blocks, out.data());
        out.resize(expected.size());
        EXPECT_EQ(out, expected) << from << " to " << to << " on " << target;
      });
    }
  }
}

TEST(ResizeLoopsTest, BlendRowsWritesExactlyWhatItShould) {
  for (int64_t count = 0; count < 100; ++count) {
    std::vector<int16_t> first;
    std::vector<int16_t> second;
    for (int64_t i = 0; i < count; ++i) {
      first.push_back(static_cast<int16_t>(i * 331 % (255 * 128 + 1)));
      second.push_back(static_cast<int16_t>(255 * 128 - first.back()));
    }
    ForEachTarget([&](const char* target) {
      std::vector<uint8_t> out(count + 1, 99);
      BlendRows(first.data(), second.data(), 1 << 14, count, out.data());
      for (int64_t i = 0; i < count; ++i) EXPECT_NEAR(out[i], 127.5, 0.6) << target;
      EXPECT_EQ(out[count], 99) << target;
    });
  }
}

TEST(ResizeLoopsTest, BlendRowsReachesBothEnds) {
  const std::vector<int16_t> black(64, 0);
  const std::vector<int16_t> white(64, 255 * 128);
  ForEachTarget([&](const char*) {
    std::vector<uint8_t> out(64);
    BlendRows(black.data(), white.data(), 0, 64, out.data());
    EXPECT_THAT(out, testing::Each(0));
    BlendRows(black.data(), white.data(), 32'767, 64, out.data());
    EXPECT_THAT(out, testing::Each(255));
    BlendRows(white.data(), white.data(), 12'345, 64, out.data());
    EXPECT_THAT(out, testing::Each(255));
  });
}

TEST(ResizeLoopsTest, ConvolveColumnsIsTheSameOnEveryProcessor) {
  for (const ResizeMethod method : {ResizeMethod::kBilinear, ResizeMethod::kBicubic}) {
    for (const int64_t from : {4, 5, 8, 50, 300}) {
      const std::vector<uint8_t> row = RowOf(from, 4);
      for (const int64_t to : {1, 2, 3, 5, 8, 63}) {
        const AxisWeights weights = FilterWeights(from, to, method, true);
        if (weights.taps > from) continue;
        std::vector<uint8_t> expected(to * kColours);
        ConvolveColumnsPlainly(row.data(), weights, kColours, expected.data());
        const ColumnSums columns = LayOutSums(weights);
        ForEachTarget([&](const char* target) {
          std::vector<uint8_t> out(to * kColours + kRowSlack);
          ConvolveColumns(row.data(), columns, out.data());
          out.resize(expected.size());
          EXPECT_EQ(out, expected) << from << " to " << to << " on " << target;
        });
      }
    }
  }
}

TEST(ResizeLoopsTest, ConvolveRowsCutsWhatGoesBeyondAByte) {
  const std::vector<uint8_t> black(50, 0);
  const std::vector<uint8_t> white(50, 255);
  const std::vector<const uint8_t*> rows = {black.data(), white.data(), white.data(),
                                            black.data()};
  const std::vector<int16_t> over = {-3000, 11'192, 11'192, -3000};   // 1.37 of white.
  const std::vector<int16_t> under = {11'192, -3000, -3000, 11'192};  // Below black.
  const std::vector<int16_t> half = {4096, 4096, 4096, 4096};
  ForEachTarget([&](const char* target) {
    std::vector<uint8_t> out(51, 99);
    ConvolveRows(rows, over.data(), 14, 50, out.data());
    EXPECT_EQ(std::count(out.begin(), out.end(), 255), 50) << target;
    ConvolveRows(rows, under.data(), 14, 50, out.data());
    EXPECT_EQ(std::count(out.begin(), out.end(), 0), 50) << target;
    ConvolveRows(rows, half.data(), 14, 50, out.data());
    EXPECT_EQ(std::count(out.begin(), out.end(), 128), 50) << target;
    EXPECT_EQ(out[50], 99) << target;
  });
}

}  // namespace
}  // namespace millrace::kernels
