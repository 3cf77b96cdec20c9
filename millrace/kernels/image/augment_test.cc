#include "millrace/kernels/image/augment.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"
#include "millrace/kernels/image/image.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {
namespace {

using enum AugmentKind;
using testing::ElementsAre;

base::Generator Row(uint64_t row) {
  return base::Generator(base::RandomKey(1, 2, 3), base::Hash128{4, row});
}

// The largest magnitude by kind, ever.
using Most = std::map<AugmentKind, double>;

std::vector<uint8_t> Applied(const Augment& augment, const Picture& picture) {
  std::vector<uint8_t> out(picture.pixels.size());
  Apply(augment, picture.view(), std::vector<uint8_t>(picture.channels, 99),
        out.data());
  return out;
}

TEST(AugmentTest, RandAugmentReachesItsTableAtTheLargestMagnitude) {
  Most most;
  Most least;
  for (uint64_t row = 0; row < 2000; ++row) {
    for (const Augment& augment : DrawRandAugment(2, 30, 31, {331, 662}, Row(row))) {
      most[augment.kind] = std::max(most[augment.kind], augment.magnitude);
      least[augment.kind] = std::min(least[augment.kind], augment.magnitude);
    }
  }
  EXPECT_EQ(most.size(), 14U);
  EXPECT_DOUBLE_EQ(most[kShearX], 0.3);
  EXPECT_DOUBLE_EQ(least[kShearY], -0.3);
  EXPECT_DOUBLE_EQ(most[kTranslateX], 300);
  EXPECT_DOUBLE_EQ(least[kTranslateY], -150);
  EXPECT_DOUBLE_EQ(most[kRotate], 30);
  EXPECT_DOUBLE_EQ(least[kContrast], -0.9);
  EXPECT_DOUBLE_EQ(most[kPosterize], 4);
  EXPECT_DOUBLE_EQ(most[kSolarize], 0);
  EXPECT_EQ(most.count(kInvert), 0U);
}

TEST(AugmentTest, RandAugmentOfMagnitudeZeroIsNextToNothing) {
  for (uint64_t row = 0; row < 200; ++row) {
    for (const Augment& augment : DrawRandAugment(3, 0, 31, {10, 10}, Row(row))) {
      if (augment.kind == kPosterize) {
        EXPECT_EQ(augment.magnitude, 8);
      } else if (augment.kind == kSolarize) {
        EXPECT_EQ(augment.magnitude, 255);
      } else {
        EXPECT_EQ(std::abs(augment.magnitude), 0);
      }
    }
  }
  EXPECT_THAT(DrawRandAugment(0, 0, 2, {1, 1}, Row(1)), testing::IsEmpty());
}

// 9 of 31: 9 / 30 of 4 bits are 1.2, rounded 1.
TEST(AugmentTest, PosterizeTakesAWholeNumberOfBits) {
  bool seen = false;
  for (uint64_t row = 0; row < 200; ++row) {
    for (const Augment& augment : DrawRandAugment(2, 9, 31, {10, 10}, Row(row))) {
      if (augment.kind != kPosterize) continue;
      EXPECT_EQ(augment.magnitude, 7);
      seen = true;
    }
  }
  EXPECT_TRUE(seen);
}

TEST(AugmentTest, TrivialAugmentDrawsEveryMagnitude) {
  Most most;
  Most least;
  for (uint64_t row = 0; row < 5000; ++row) {
    const Augment augment = DrawTrivialAugment(31, Row(row));
    most[augment.kind] = std::max(most[augment.kind], augment.magnitude);
    const double before = least.contains(augment.kind) ? least[augment.kind] : 1e9;
    least[augment.kind] = std::min(before, augment.magnitude);
  }
  EXPECT_EQ(most.size(), 14U);
  EXPECT_DOUBLE_EQ(most[kShearX], 0.99);
  EXPECT_DOUBLE_EQ(least[kTranslateX], -32);
  EXPECT_DOUBLE_EQ(most[kRotate], 135);
  EXPECT_DOUBLE_EQ(least[kPosterize], 2);
  EXPECT_DOUBLE_EQ(most[kPosterize], 8);
  EXPECT_DOUBLE_EQ(most[kSolarize], 255);
}

TEST(AugmentTest, AutoAugmentDrawsPairsOfItsPolicy) {
  std::map<AugmentPolicy, Most> seen;
  std::map<AugmentPolicy, int64_t> done;
  const AugmentPolicy policies[] = {
      AugmentPolicyOf("imagenet"), AugmentPolicyOf("cifar10"), AugmentPolicyOf("svhn")};
  for (const AugmentPolicy policy : policies) {
    for (uint64_t row = 0; row < 4000; ++row) {
      for (const Augment& augment : DrawAutoAugment(policy, {331, 331}, Row(row))) {
        double& most = seen[policy][augment.kind];
        most = std::max(most, std::abs(augment.magnitude));
        ++done[policy];
      }
    }
  }
  // All chances of a policy over its 25 pairs.
  EXPECT_NEAR(static_cast<double>(done[policies[0]]) / 4000, 31.0 / 25, 0.05);
  EXPECT_NEAR(static_cast<double>(done[policies[1]]) / 4000, 26.5 / 25, 0.05);
  EXPECT_NEAR(static_cast<double>(done[policies[2]]) / 4000, 32.9 / 25, 0.05);
  EXPECT_DOUBLE_EQ(seen[policies[0]][kRotate], 30);
  EXPECT_EQ(seen[policies[0]].count(kTranslateX), 0U);
  EXPECT_DOUBLE_EQ(seen[policies[1]][kTranslateY], 150);
  EXPECT_DOUBLE_EQ(seen[policies[1]][kColour], 0.9);
  EXPECT_EQ(seen[policies[2]].count(kPosterize), 0U);
  EXPECT_DOUBLE_EQ(seen[policies[2]][kShearX], 0.3);
}

TEST(AugmentTest, ShearsGoAroundTheUpperLeftCorner) {
  const Picture picture = {
      .size = {3, 3}, .channels = 1, .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  // The middle of the second row is 1.5 down, so that it moves by 1.5 x 0.7.
  EXPECT_THAT(Applied({kShearX, 0.7}, picture),
              ElementsAre(1, 2, 3, 5, 6, 99, 9, 99, 99));
  EXPECT_THAT(Applied({kShearY, 0.7}, picture),
              ElementsAre(1, 5, 9, 4, 8, 99, 7, 99, 99));
  EXPECT_THAT(Applied({kTranslateX, -1.9}, picture),
              ElementsAre(2, 3, 99, 5, 6, 99, 8, 9, 99));
  EXPECT_THAT(Applied({kTranslateY, 1.2}, picture),
              ElementsAre(99, 99, 99, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(Applied({kRotate, 90}, picture), ElementsAre(3, 6, 9, 2, 5, 8, 1, 4, 7));
}

TEST(AugmentTest, EveryKindTakesSmallAndGreyImages) {
  for (const int64_t channels : {1, 3}) {
    for (const ImageSize size : {ImageSize{1, 1}, {2, 7}, {9, 9}}) {
      const Picture picture = Draw(size, channels, 255);
      for (int kind = 0; kind <= static_cast<int>(kInvert); ++kind) {
        const auto out = Applied({static_cast<AugmentKind>(kind), 0.5}, picture);
        const bool same = out == picture.pixels;
        EXPECT_TRUE(same || kind > 0);
      }
    }
  }
}

TEST(AugmentTest, FactorsAreAddedToOne) {
  const Picture picture = {.size = {1, 1}, .channels = 3, .pixels = {100, 50, 20}};
  EXPECT_THAT(Applied({kBrightness, -0.5}, picture), ElementsAre(50, 25, 10));
  EXPECT_THAT(Applied({kColour, 0}, picture), ElementsAre(100, 50, 20));
  EXPECT_THAT(Applied({kInvert}, picture), ElementsAre(155, 205, 235));
}

}  // namespace
}  // namespace millrace::kernels
