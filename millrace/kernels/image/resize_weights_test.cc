#include "millrace/kernels/image/resize_weights.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::kernels {
namespace {

constexpr ResizeMethod kFilters[] = {ResizeMethod::kBilinear, ResizeMethod::kBicubic};

// The weights of one pixel as fractions.
std::vector<double> WeightsOf(const AxisWeights& axis, int64_t pixel) {
  std::vector<double> weights;
  weights.reserve(axis.count[pixel]);
  for (int64_t tap = 0; tap < axis.count[pixel]; ++tap) {
    weights.push_back(axis.Of(pixel)[tap] / static_cast<double>(1 << axis.bits));
  }
  return weights;
}

TEST(ResizeWeightsTest, KnowsTheMethodsByName) {
  EXPECT_EQ(ResizeMethodOf("nearest"), ResizeMethod::kNearest);
  EXPECT_EQ(ResizeMethodOf("bilinear"), ResizeMethod::kBilinear);
  EXPECT_EQ(ResizeMethodOf("bicubic"), ResizeMethod::kBicubic);
  EXPECT_DEATH(ResizeMethodOf("cubic"), "bicubic");
}

TEST(ResizeWeightsTest, NearestIsThePixelUnderTheCentre) {
  EXPECT_THAT(NearestPlaces(4, 4), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(NearestPlaces(2, 5), testing::ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(NearestPlaces(5, 2), testing::ElementsAre(1, 3));
  EXPECT_THAT(NearestPlaces(1, 3), testing::ElementsAre(0, 0, 0));
  EXPECT_EQ(NearestPlaces(65'500, 65'500).back(), 65'499);
}

TEST(ResizeWeightsTest, BilinearLiesBetweenTwoCentres) {
  const std::vector<Between> twice = BilinearPlaces(2, 4);
  EXPECT_EQ(twice[0].first, 0);
  EXPECT_EQ(twice[0].weight, 0);  // Before the first centre.
  EXPECT_EQ(twice[1].first, 0);
  EXPECT_EQ(twice[1].weight, 1 << 13);  // A quarter.
  EXPECT_EQ(twice[2].first, 0);
  EXPECT_EQ(twice[2].weight, 3 << 13);
  EXPECT_EQ(twice[3].first, 1);  // Behind the last.
  EXPECT_EQ(twice[3].weight, 0);
}

TEST(ResizeWeightsTest, BilinearNeverLeavesTheImage) {
  for (int64_t from = 1; from < 40; ++from) {
    for (int64_t to = 1; to < 40; ++to) {
      int64_t last = 0;
      for (const Between& place : BilinearPlaces(from, to)) {
        EXPECT_GE(place.first, last);
        EXPECT_GE(place.weight, 0);
        EXPECT_LT(place.first + (place.weight > 0 ? 1 : 0), from);
        last = place.first;
      }
    }
  }
}

TEST(ResizeWeightsTest, FiltersOfTheSameSizeTakeThePixelItself) {
  for (const ResizeMethod method : kFilters) {
    const AxisWeights axis = FilterWeights(7, 7, method, true);
    for (int64_t pixel = 0; pixel < 7; ++pixel) {
      const std::vector<double> weights = WeightsOf(axis, pixel);
      for (int64_t tap = 0; tap < axis.count[pixel]; ++tap) {
        EXPECT_EQ(weights[tap], axis.first[pixel] + tap == pixel ? 1 : 0);
      }
    }
  }
}

TEST(ResizeWeightsTest, AntialiasSpreadsOverAllSourcePixels) {
  const AxisWeights smooth = FilterWeights(8, 2, ResizeMethod::kBilinear, true);
  EXPECT_EQ(smooth.first[0], 0);
  EXPECT_THAT(WeightsOf(smooth, 0), testing::Pointwise(testing::DoubleNear(1e-4),
                                                       {5.0 / 28, 7.0 / 28, 7.0 / 28,
                                                        5.0 / 28, 3.0 / 28, 1.0 / 28}));
  const AxisWeights sharp = FilterWeights(8, 2, ResizeMethod::kBilinear, false);
  EXPECT_EQ(sharp.first[0], 1);
  EXPECT_THAT(WeightsOf(sharp, 0), testing::ElementsAre(0.5, 0.5));
}

TEST(ResizeWeightsTest, BicubicHasNegativeWeights) {
  const AxisWeights axis = FilterWeights(8, 16, ResizeMethod::kBicubic, false);
  EXPECT_THAT(WeightsOf(axis, 5),
              testing::Pointwise(testing::DoubleNear(1e-4),
                                 {-0.0703125, 0.8671875, 0.2265625, -0.0234375}));
}

// A flat area stays as bright as it was, however many pixels become one.
TEST(ResizeWeightsTest, WeightsAddUpToOne) {
  for (const ResizeMethod method : kFilters) {
    for (const int64_t from : {1, 2, 3, 10, 333, 65'500}) {
      for (const int64_t to : {1, 2, 7, 224}) {
        const AxisWeights axis = FilterWeights(from, to, method, true);
        EXPECT_EQ(axis.size, to);
        for (int64_t pixel = 0; pixel < to; ++pixel) {
          const int16_t* weights = axis.Of(pixel);
          EXPECT_EQ(std::accumulate(weights, weights + axis.taps, 0), 1 << axis.bits);
        }
      }
    }
  }
}

TEST(ResizeWeightsTest, FiltersNeverLeaveTheImage) {
  for (const ResizeMethod method : kFilters) {
    for (int64_t from = 1; from < 30; ++from) {
      for (int64_t to = 1; to < 30; ++to) {
        const AxisWeights axis = FilterWeights(from, to, method, to % 2 == 0);
        EXPECT_EQ(axis.taps % 4, 0);
        for (int64_t pixel = 0; pixel < to; ++pixel) {
          EXPECT_GE(axis.first[pixel], pixel == 0 ? 0 : axis.first[pixel - 1]);
          EXPECT_GT(axis.count[pixel], 0);
          EXPECT_LE(axis.count[pixel], axis.taps);
          EXPECT_LE(axis.first[pixel] + axis.count[pixel], from);
          EXPECT_LE(axis.first[pixel] + axis.taps, std::max(from, axis.taps));
        }
      }
    }
  }
}

TEST(ResizeWeightsTest, SmallWeightsGetMoreBits) {
  EXPECT_EQ(FilterWeights(10, 10, ResizeMethod::kBilinear, true).bits, 14);
  EXPECT_GT(FilterWeights(1000, 10, ResizeMethod::kBilinear, true).bits, 19);
  EXPECT_EQ(FilterWeights(65'500, 1, ResizeMethod::kBilinear, true).bits, 22);
}

}  // namespace
}  // namespace millrace::kernels
