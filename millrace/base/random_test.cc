#include "millrace/base/random.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <type_traits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"

namespace millrace::base {
namespace {

using testing::ElementsAre;

static_assert(std::is_trivially_copyable_v<Generator> && sizeof(Generator) == 24);

constexpr RandomKey kKey(42, 1, 7);
constexpr Hash128 kRow = {uint64_t{5} << 48 | 9, 1000};
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr uint64_t kMax = ~uint64_t{0};

// --- The same numbers for ever. All were computed by a separate implementation in
// Python.

static_assert(Generator(kKey, kRow).Next64() == 0xc151b867eab2630f);

TEST(RandomTest, DerivesKeysAsItAlwaysDid) {
  EXPECT_EQ(ToHex(RandomKey(0, 0, 0).bits()), "764517303951ed7984653043da4e6c69");
  EXPECT_EQ(ToHex(RandomKey(1, 2, 3).bits()), "fc7eef5ef7b66c39ea0e133341f430c3");
}

TEST(RandomTest, DrawsBitsAsItAlwaysDid) {
  const auto draws = [](Generator generator) {
    return std::array{generator.Next64(), generator.Next64(), generator.Next64()};
  };
  EXPECT_THAT(draws(Generator(RandomKey(0, 0, 0), {0, 0})),
              ElementsAre(0xf82ccfb4cfdd6e1a, 0xbaa7a71700903596, 0x2e3b53a432975691));
  EXPECT_THAT(draws(Generator(kKey, kRow)),
              ElementsAre(0xc151b867eab2630f, 0x31cbbe16c51bee68, 0x687dcf23a9d8cf5f));
  EXPECT_THAT(draws(Generator(RandomKey(kMax, kMax, kMax), {kMax, kMax})),
              ElementsAre(0x3afd963ec8f829dc, 0xdfa7278b689c3f0a, 0x7d0b6ada38fae426));
}

TEST(RandomTest, DrawsRealNumbersAsItAlwaysDid) {
  Generator uniform(kKey, kRow);
  EXPECT_EQ(uniform.Uniform(), 0x1.82a370cfd564cp-1);
  EXPECT_EQ(uniform.Uniform(), 0x1.8e5df0b628df4p-3);
  Generator single(kKey, kRow);
  EXPECT_EQ(single.UniformFloat(), 0x1.82a370p-1F);
  EXPECT_EQ(single.UniformFloat(), 0x1.8e5df0p-3F);
  Generator between(kKey, kRow);
  EXPECT_EQ(between.Uniform(-1, 3), 0x1.02a370cfd564cp+1);
  EXPECT_EQ(between.Uniform(-1, 3), -0x1.c6883d275c830p-3);
}

TEST(RandomTest, DrawsIntegersAsItAlwaysDid) {
  Generator generator(kKey, kRow);
  std::vector<int64_t> draws(8);
  for (int64_t& draw : draws) draw = generator.Integer(-10, 10);
  EXPECT_THAT(draws, ElementsAre(5, -7, -2, -5, 7, 6, 9, 3));
  EXPECT_EQ(generator.Integer(kLeast, int64_t{1} << 62), -900077267623903314);
  EXPECT_EQ(generator.Integer(kLeast, int64_t{1} << 62), -4683171998361200890);
}

TEST(RandomTest, DrawsNormalsAsItAlwaysDid) {
  Generator generator(kKey, kRow);
  EXPECT_THAT(generator.NormalPair(),
              ElementsAre(0x1.398181301dd8ep-1, -0x1.77592698a0129p-1));
  EXPECT_THAT(generator.NormalPair(),
              ElementsAre(-0x1.2a58dc2be6906p-1, -0x1.860c89d896c9ep+0));
  EXPECT_EQ(generator.Normal(), 0x1.db0680335cda2p-3);
}

TEST(RandomTest, ShufflesAsItAlwaysDid) {
  std::vector<int> items(10);
  std::iota(items.begin(), items.end(), 0);
  Generator(kKey, kRow).Shuffle(std::span(items));
  EXPECT_THAT(items, ElementsAre(0, 6, 2, 9, 4, 5, 8, 3, 1, 7));
}

TEST(RandomTest, SplitsAsItAlwaysDid) {
  const Generator generator(kKey, kRow);
  EXPECT_EQ(generator.Split(0).Next64(), 0x551acc764be5ff20);
  EXPECT_EQ(generator.Split(1).Next64(), 0x97cafe69c6e418a7);
  EXPECT_EQ(generator.Split(1).Split(0).Next64(), 0xb25ab7cdbf638955);
}

// --- What each method promises.

TEST(RandomTest, EveryPartOfTheKeyMatters) {
  const std::set<uint64_t> draws = {
      Generator(RandomKey(1, 2, 3), {4, 5}).Next64(),
      Generator(RandomKey(2, 1, 3), {4, 5}).Next64(),
      Generator(RandomKey(1, 3, 2), {4, 5}).Next64(),
      Generator(RandomKey(3, 2, 1), {4, 5}).Next64(),
      Generator(RandomKey(1, 2, 3), {5, 4}).Next64(),
      Generator(RandomKey(1, 2, 3), {4, 6}).Next64(),
      Generator(RandomKey(1, 2, 3), {0, 5}).Next64(),
  };
  EXPECT_EQ(draws.size(), 7);
}

TEST(RandomTest, ChildrenDoNotDependOnWhatWasDrawn) {
  Generator generator(kKey, kRow);
  const uint64_t before = generator.Split(3).Next64();
  generator.Next64();
  generator.Normal();
  EXPECT_EQ(generator.Split(3).Next64(), before);
}

TEST(RandomTest, UniformStaysBelowItsEnd) {
  Generator generator(kKey, kRow);
  const double next = std::nextafter(1.0, 2.0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(generator.Uniform(1.0, next), 1.0);
    const double value = generator.Uniform(-3, 5);
    EXPECT_TRUE(value >= -3 && value < 5) << value;
    EXPECT_LT(generator.UniformFloat(), 1.0F);
  }
  EXPECT_EQ(generator.Uniform(7, 7), 7);
}

TEST(RandomTest, UniformRefusesWhatIsNoInterval) {
  Generator generator(kKey, kRow);
  EXPECT_DEATH(generator.Uniform(2, 1), "low <= high");
  EXPECT_DEATH(generator.Uniform(std::nan(""), 1), "low <= high");
  EXPECT_DEATH(generator.Uniform(-1.7e308, 1.7e308), "isfinite");
}

TEST(RandomTest, IntegersStayInTheirInterval) {
  Generator generator(kKey, kRow);
  bool negative = false;
  bool positive = false;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(generator.Integer(-4, -3), -4);
    EXPECT_LT(generator.Integer(0, kMost), kMost);
    EXPECT_GE(generator.Integer(kMost - 2, kMost), kMost - 2);
    EXPECT_LT(generator.Integer(kLeast, kLeast + 2), kLeast + 2);
    const int64_t any = generator.Integer(kLeast, kMost);
    (any < 0 ? negative : positive) = true;
  }
  EXPECT_TRUE(negative && positive);
  EXPECT_DEATH(generator.Integer(3, 3), "low < high");
}

// A range of 3/4 of all words: without rejection, a third of the numbers would come
// twice as often as the others. Half of these fall below the middle; sigma is 158.
TEST(RandomTest, LargeIntegersAreUnbiased) {
  Generator generator(kKey, kRow);
  const int64_t high = int64_t{1} << 62;
  std::array<int, 3> thirds = {};
  for (int i = 0; i < 90'000; ++i) {
    const auto offset = static_cast<uint64_t>(generator.Integer(kLeast, high)) -
                        static_cast<uint64_t>(kLeast);
    ++thirds.at(offset >> 62);
  }
  for (const int count : thirds) EXPECT_NEAR(count, 30'000, 5 * 141);
}

TEST(RandomTest, ShufflesEvenly) {
  std::array<std::array<int, 4>, 4> counts = {};  // Of item at place.
  constexpr int kTrials = 20'000;
  for (uint64_t trial = 0; trial < kTrials; ++trial) {
    std::array<size_t, 4> items = {0, 1, 2, 3};
    Generator(kKey, {0, trial}).Shuffle(std::span(items));
    for (size_t place = 0; place < 4; ++place) ++counts[items[place]][place];
  }
  for (const auto& item : counts) {
    for (const int count : item) EXPECT_NEAR(count, kTrials / 4.0, 5 * 61);
  }
}

TEST(RandomTest, ShufflesNothingAndOne) {
  Generator generator(kKey, kRow);
  generator.Shuffle(std::span<int>());
  std::array<int, 1> one = {7};
  generator.Shuffle(std::span(one));
  EXPECT_EQ(one[0], 7);
  EXPECT_EQ(generator.Next64(), Generator(kKey, kRow).Next64());  // Drew nothing.
}

TEST(RandomTest, NormalsHaveTheMomentsOfTheBellCurve) {
  constexpr int kDraws = 200'000;
  std::array<double, 5> moments = {};
  int beyond_two = 0;
  for (uint64_t row = 0; row < kDraws; ++row) {
    const double x = Generator(kKey, {0, row}).Normal();
    for (size_t power = 1; power < moments.size(); ++power) {
      moments[power] += std::pow(x, static_cast<double>(power)) / kDraws;
    }
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  const double sigma = 1 / std::sqrt(double{kDraws});
  EXPECT_NEAR(moments[1], 0, 5 * sigma);
  EXPECT_NEAR(moments[2], 1, 5 * sigma * std::sqrt(2));
  EXPECT_NEAR(moments[3], 0, 5 * sigma * std::sqrt(15));
  EXPECT_NEAR(moments[4], 3, 5 * sigma * std::sqrt(96));
  EXPECT_NEAR(beyond_two / double{kDraws}, 0.0455, 5 * sigma * 0.21);
}

TEST(RandomTest, NormalPairsAreIndependent) {
  constexpr int kDraws = 100'000;
  Generator generator(kKey, kRow);
  double product = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto [x, y] = generator.NormalPair();
    product += x * y / kDraws;
    squares += (x * x - 1) * (y * y - 1) / kDraws;
  }
  const double sigma = 1 / std::sqrt(double{kDraws});
  EXPECT_NEAR(product, 0, 5 * sigma);
  EXPECT_NEAR(squares, 0, 5 * sigma * 2);
}

}  // namespace
}  // namespace millrace::base
