// Draws of neighbouring keys have to look unrelated, although all but one small part of
// the keys is the same. A family turns 0, 1, 2, ... into draws that differ in one part
// only; every test is run on every family. Bounds are five or more standard deviations,
// and the draws never change, so that a test that passes passes for ever.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"

namespace millrace::base {
namespace {

constexpr RandomKey kKey(42, 1, 7);

struct Family {
  std::string name;
  std::function<uint64_t(uint64_t)> draw;
};

void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

uint64_t First(const RandomKey& key, const Hash128& row) {
  return Generator(key, row).Next64();
}

uint64_t NthOfOneRow(uint64_t n) {
  static Generator generator(kKey, {0, 0});
  if (n == 0) generator = Generator(kKey, {0, 0});
  return generator.Next64();
}

std::vector<Family> Families() {
  return {
      {"Seeds", [](uint64_t i) { return First(RandomKey(i, 0, 0), {}); }},
      {"Epochs", [](uint64_t i) { return First(RandomKey(0, i, 0), {}); }},
      {"Calls", [](uint64_t i) { return First(RandomKey(0, 0, i), {}); }},
      {"HighSeeds", [](uint64_t i) { return First(RandomKey(i << 40, 0, 0), {}); }},
      {"Rows", [](uint64_t i) { return First(kKey, {0, i}); }},
      {"RowsOfALaterSplit",
       [](uint64_t i) { return First(kKey, {77 | 3UL << 48, i}); }},
      {"EveryThousandthRow", [](uint64_t i) { return First(kKey, {0, i * 1024}); }},
      {"HighRows", [](uint64_t i) { return First(kKey, {0, i << 40}); }},
      {"Splits", [](uint64_t i) { return First(kKey, {i, 12}); }},
      {"Sources", [](uint64_t i) { return First(kKey, {i << 48, 12}); }},
      {"SplitsTimesRows", [](uint64_t i) { return First(kKey, {i & 255, i >> 8}); }},
      {"HashedRows", [](uint64_t i) { return First(kKey, Combine(Hash128{}, i)); }},
      {"Draws", NthOfOneRow},
      {"Children", [](uint64_t i) { return Generator(kKey, {}).Split(i).Next64(); }},
      {"SecondDraws",
       [](uint64_t i) {
         Generator generator(kKey, {0, i});
         generator.Next64();
         return generator.Next64();
       }},
      {"RowsAgainstEpochs",
       [](uint64_t i) { return First(RandomKey(9, i & 1, 0), {0, i >> 1}); }},
  };
}

class RandomNeighboursTest : public testing::TestWithParam<Family> {
 protected:
  static constexpr size_t kDraws = 1 << 16;

  static std::vector<uint64_t> Draws() {
    std::vector<uint64_t> draws(kDraws);
    for (size_t i = 0; i < kDraws; ++i) draws[i] = GetParam().draw(i);
    return draws;
  }
};

// Pearson's statistic against equal counts, less its mean, in standard deviations.
double ChiSquareExcess(const std::vector<int>& counts, double expected) {
  double statistic = 0;
  for (const int count : counts) {
    statistic += (count - expected) * (count - expected) / expected;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST_P(RandomNeighboursTest, NeverMeet) {
  const std::vector<uint64_t> draws = Draws();
  EXPECT_EQ(absl::flat_hash_set<uint64_t>(draws.begin(), draws.end()).size(), kDraws);
}

TEST_P(RandomNeighboursTest, EveryBitIsSetHalfOfTheTime) {
  std::array<int, 64> ones = {};
  for (const uint64_t draw : Draws()) {
    for (size_t bit = 0; bit < 64; ++bit)
      ones[bit] += static_cast<int>((draw >> bit) & 1);
  }
  for (const int count : ones) EXPECT_NEAR(count, kDraws / 2.0, 5 * 128);
}

TEST_P(RandomNeighboursTest, EveryByteIsUniform) {
  const std::vector<uint64_t> draws = Draws();
  for (int shift = 0; shift < 64; shift += 8) {
    std::vector<int> counts(256);
    for (const uint64_t draw : draws) ++counts[(draw >> shift) & 255];
    EXPECT_NEAR(ChiSquareExcess(counts, kDraws / 256.0), 0, 5) << "bits from " << shift;
  }
}

TEST_P(RandomNeighboursTest, HaveTheMeanAndVarianceOfTheUniform) {
  double sum = 0;
  double squares = 0;
  for (const uint64_t draw : Draws()) {
    const double x = static_cast<double>(draw >> 11) * 0x1p-53;
    sum += x;
    squares += (x - 0.5) * (x - 0.5);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * 0.2887 / 256);
  EXPECT_NEAR(squares / kDraws, 1 / 12.0, 5 * 0.0745 / 256);
}

TEST_P(RandomNeighboursTest, DifferInHalfOfTheirBits) {
  const std::vector<uint64_t> draws = Draws();
  for (const size_t distance : {1, 2, 3, 256}) {
    std::array<int, 64> changes = {};
    for (size_t i = distance; i < kDraws; ++i) {
      const uint64_t changed = draws[i] ^ draws[i - distance];
      for (size_t bit = 0; bit < 64; ++bit)
        changes[bit] += static_cast<int>((changed >> bit) & 1);
    }
    for (const int count : changes) EXPECT_NEAR(count, kDraws / 2.0, 6 * 128 + 128);
  }
}

TEST_P(RandomNeighboursTest, AreNotCorrelated) {
  const std::vector<uint64_t> draws = Draws();
  const auto centred = [&](size_t i) {
    return static_cast<double>(draws[i] >> 11) * 0x1p-53 - 0.5;
  };
  for (const size_t distance : {1, 2, 3, 16, 256}) {
    double product = 0;
    for (size_t i = distance; i < kDraws; ++i) {
      product += centred(i) * centred(i - distance);
    }
    EXPECT_NEAR(12 * product / kDraws, 0, 5.0 / 256) << "at distance " << distance;
  }
}

// The pairs (draw, next draw) fill a grid of 32 x 32 evenly.
TEST_P(RandomNeighboursTest, FillThePlane) {
  const std::vector<uint64_t> draws = Draws();
  for (const int shift : {0, 27, 59}) {
    std::vector<int> counts(1024);
    for (size_t i = 1; i < kDraws; ++i) {
      ++counts[((draws[i - 1] >> shift) & 31) * 32 + ((draws[i] >> shift) & 31)];
    }
    EXPECT_NEAR(ChiSquareExcess(counts, (kDraws - 1) / 1024.0), 0, 5) << shift;
  }
}

INSTANTIATE_TEST_SUITE_P(Of, RandomNeighboursTest, testing::ValuesIn(Families()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace millrace::base
