#include "millrace/base/permutation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"

namespace millrace::base {
namespace {

using testing::ElementsAre;

constexpr int64_t kLargest = int64_t{1} << 62;

std::vector<int64_t> ValuesOf(const Permutation& permutation) {
  std::vector<int64_t> values;
  values.reserve(permutation.size());
  for (int64_t i = 0; i < permutation.size(); ++i) values.push_back(permutation.At(i));
  return values;
}

// Computed by a separate implementation in Python: the order of chunks is part of what
// a seed means.
TEST(PermutationTest, OrdersAsItAlwaysDid) {
  const RandomKey key(1, 2, 3);
  EXPECT_THAT(ValuesOf(Permutation(2, key)), ElementsAre(1, 0));
  EXPECT_THAT(ValuesOf(Permutation(3, key)), ElementsAre(1, 2, 0));
  EXPECT_THAT(ValuesOf(Permutation(10, key)),
              ElementsAre(9, 0, 3, 2, 5, 8, 6, 7, 4, 1));
  const Permutation large(1'000'000'000'039, key);
  EXPECT_EQ(large.At(0), 655'058'884'231);
  EXPECT_EQ(large.At(1'000'000'000'038), 879'941'061'065);
  const Permutation largest(kLargest, key);
  EXPECT_EQ(largest.At(0), 956'164'857'072'553'381);
  EXPECT_EQ(largest.At(kLargest - 1), 4'231'280'460'164'386'474);
}

TEST(PermutationTest, HoldsEveryNumberOnce) {
  for (int64_t n = 0; n <= 300; ++n) {
    std::vector<int64_t> values = ValuesOf(Permutation(n, RandomKey(n, 0, 0)));
    std::ranges::sort(values);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(values[i], i) << n;
  }
}

TEST(PermutationTest, HoldsEveryNumberOnceAroundPowersOfFour) {
  for (const int64_t power : {1024, 4096, 65536}) {
    for (const int64_t n : {power - 1, power, power + 1}) {
      std::vector<bool> seen(n);
      const Permutation permutation(n, RandomKey(5, 0, 0));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t value = permutation.At(i);
        ASSERT_FALSE(seen[value]) << n << " at " << i;
        seen[value] = true;
      }
    }
  }
}

TEST(PermutationTest, InverseFindsThePosition) {
  for (const int64_t n : {1, 2, 3, 4, 5, 17, 64, 65, 1000}) {
    const Permutation permutation(n, RandomKey(9, 1, n));
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(permutation.Inverse(permutation.At(i)), i);
      ASSERT_EQ(permutation.At(permutation.Inverse(i)), i);
    }
  }
}

TEST(PermutationTest, InverseFindsThePositionInLargeOnes) {
  Generator generator(RandomKey(3, 0, 0), {});
  for (int64_t n = 1000; n <= kLargest / 3; n *= 3) {
    const Permutation permutation(n, RandomKey(4, 0, 0));
    for (int trial = 0; trial < 20; ++trial) {
      const int64_t position = generator.Integer(0, n);
      const int64_t value = permutation.At(position);
      ASSERT_TRUE(value >= 0 && value < n);
      ASSERT_EQ(permutation.Inverse(value), position);
    }
  }
}

TEST(PermutationTest, DependsOnItsKeyAlone) {
  EXPECT_EQ(ValuesOf(Permutation(50, RandomKey(1, 0, 0))),
            ValuesOf(Permutation(50, RandomKey(1, 0, 0))));
  EXPECT_NE(ValuesOf(Permutation(50, RandomKey(1, 0, 0))),
            ValuesOf(Permutation(50, RandomKey(1, 1, 0))));
}

// Every order of few items comes equally often, over many seeds.
TEST(PermutationTest, AllOrdersOfAFewAreEquallyLikely) {
  constexpr int kTrials = 30'000;
  int orders = 1;
  for (int64_t n = 2; n <= 5; ++n) {
    orders *= static_cast<int>(n);
    std::map<std::vector<int64_t>, int> counts;
    for (uint64_t seed = 0; seed < kTrials; ++seed) {
      ++counts[ValuesOf(Permutation(n, RandomKey(seed, 0, 0)))];
    }
    ASSERT_EQ(counts.size(), orders);
    const double expected = double{kTrials} / orders;
    double statistic = 0;
    for (const auto& [order, count] : counts) {
      statistic += (count - expected) * (count - expected) / expected;
    }
    const int freedom = orders - 1;
    EXPECT_NEAR(statistic, freedom, 5 * std::sqrt(2.0 * freedom)) << n;
  }
}

// Where items 0 and 1, neighbours at first, end up: every pair of places of 8, 20, 64
// or 100 equally often.
TEST(PermutationTest, NeighboursAreTornApart) {
  constexpr int kTrials = 40'000;
  for (const int64_t n : {8, 20, 64, 100}) {
    std::map<std::array<int64_t, 2>, int> counts;
    for (uint64_t seed = 0; seed < kTrials; ++seed) {
      const Permutation permutation(n, RandomKey(seed, 1, 0));
      ++counts[{permutation.At(0), permutation.At(1)}];
    }
    const auto pairs = static_cast<double>(n * (n - 1));
    const double expected = kTrials / pairs;
    double statistic = (pairs - static_cast<double>(counts.size())) * expected;
    for (const auto& [places, count] : counts) {
      statistic += (count - expected) * (count - expected) / expected;
    }
    EXPECT_NEAR(statistic, pairs - 1, 5 * std::sqrt(2 * pairs)) << n;
  }
}

// In one large order: the correlation of place and item, and of items that follow each
// other, is that of chance.
TEST(PermutationTest, LeavesNoTraceOfTheOldOrder) {
  constexpr int64_t kSize = 100'000;
  const Permutation permutation(kSize, RandomKey(11, 0, 0));
  const auto centred = [](int64_t i) { return static_cast<double>(i) / kSize - 0.5; };
  double with_place = 0;
  double with_next = 0;
  for (int64_t i = 0; i + 1 < kSize; ++i) {
    const double item = centred(permutation.At(i));
    with_place += 12 * item * centred(i) / kSize;
    with_next += 12 * item * centred(permutation.At(i + 1)) / kSize;
  }
  EXPECT_NEAR(with_place, 0, 5 / std::sqrt(double{kSize}));
  EXPECT_NEAR(with_next, 0, 5 / std::sqrt(double{kSize}));
}

TEST(PermutationTest, RefusesWhatIsOutside) {
  const Permutation empty(0, RandomKey(1, 0, 0));
  const Permutation one(1, RandomKey(1, 0, 0));
  EXPECT_EQ(one.At(0), 0);
  EXPECT_EQ(one.Inverse(0), 0);
  EXPECT_DEATH(empty.At(0), "position < size_");
  EXPECT_DEATH(one.At(1), "position < size_");
  EXPECT_DEATH(one.At(-1), "position >= 0");
  EXPECT_DEATH(one.Inverse(1), "value < size_");
  EXPECT_DEATH(one.Inverse(-1), "value >= 0");
  EXPECT_DEATH(Permutation(-1, RandomKey(1, 0, 0)), "n >= 0");
  EXPECT_DEATH(Permutation(kLargest + 1, RandomKey(1, 0, 0)), "n <= ");
}

// A pass takes its order from (seed, epoch): that of the next epoch has as many fixed
// points in common as chance gives, one on average.
TEST(PermutationTest, EpochsHaveUnrelatedOrders) {
  constexpr int kEpochs = 400;
  constexpr int64_t kSize = 200;
  int64_t common = 0;
  for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const Permutation now(kSize, RandomKey(3, epoch, 0));
    const Permutation next(kSize, RandomKey(3, epoch + 1, 0));
    for (int64_t i = 0; i < kSize; ++i) common += now.At(i) == next.At(i) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(common), kEpochs, 5 * std::sqrt(double{kEpochs}));
}

}  // namespace
}  // namespace millrace::base
