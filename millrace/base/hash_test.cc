#include "millrace/base/hash.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"

namespace millrace::base {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMax = ~uint64_t{0};

// All values below were computed by a separate implementation in Python. They are part
// of the format: identities, and so draws and cache keys, change if they change.
static_assert(Mix64(1) == 0x5692161d100b05e5);
static_assert(Combine(Hash128{1, 2}, Hash128{3, 4}) ==
              Hash128{0xb5aefe91da5a7456, 0x4a15a7bdbb5fe7ab});

TEST(HashTest, MixesWordsAsItAlwaysDid) {
  EXPECT_EQ(Mix64(0), 0);
  EXPECT_EQ(Mix64(2), 0xdbd238973a2b148a);
  EXPECT_EQ(Mix64(kMax), 0xb4d055fcf2cbbd7b);
}

TEST(HashTest, MixesPairsOfWordsAsItAlwaysDid) {
  EXPECT_EQ(ToHex(Mix128({0, 0})), "96b6979ee29487167aff03f1d356900d");
  EXPECT_EQ(ToHex(Mix128({0, 1})), "d510f520acb6bf86b577103d81eb0293");
  EXPECT_EQ(ToHex(Mix128({1, 0})), "117e37765924dcc9839b2a8bfb7bf63a");
  EXPECT_EQ(ToHex(Mix128({kMax, kMax})), "fcb81cbf63a2245728dba954a4365948");
}

TEST(HashTest, CombinesAsItAlwaysDid) {
  EXPECT_EQ(ToHex(Combine(Hash128{3, 4}, Hash128{1, 2})),
            "a1a9556a2fa91e51e578ed43078f5d01");
  EXPECT_EQ(ToHex(Combine(Hash128{1, 2}, 0)), "d4805676f5f3862b4c7f4a9810b98cdc");
  EXPECT_EQ(ToHex(Combine(Hash128{1, 2}, 1)), "2313dc9b428aabe37ada4e34af84dac2");
  EXPECT_EQ(ToHex(Combine(Hash128{}, kMax)), "e2d7c228c092866e220c0450c4efc223");
}

TEST(HashTest, NumbersAndIdentitiesCombineApart) {
  EXPECT_NE(Combine(Hash128{1, 2}, 5), Combine(Hash128{1, 2}, Hash128{0, 5}));
  EXPECT_NE(Combine(Hash128{1, 2}, Hash128{3, 4}),
            Combine(Hash128{3, 4}, Hash128{1, 2}));
}

// Flips every bit of the input in turn: each bit of the result should flip half of the
// time. The standard deviation of one count is 16.
TEST(HashTest, EveryBitOfAWordReachesEveryBit) {
  constexpr int kTrials = 1024;
  for (int in = 0; in < 64; ++in) {
    int flips[64] = {};
    for (uint64_t trial = 0; trial < kTrials; ++trial) {
      const uint64_t x = trial * 0x9e3779b97f4a7c15;
      const uint64_t changed = Mix64(x) ^ Mix64(x ^ (uint64_t{1} << in));
      for (int out = 0; out < 64; ++out)
        flips[out] += static_cast<int>((changed >> out) & 1);
    }
    for (const int count : flips) EXPECT_NEAR(count, kTrials / 2.0, 6 * 16);
  }
}

// The mean of n popcounts of 128 random bits has a standard deviation of 5.66 /
// sqrt(n).
TEST(HashTest, NeighboursCombineFarApart) {
  constexpr int kTrials = 4096;
  int first = 0;
  int second = 0;
  const auto distance = [](Hash128 a, Hash128 b) {
    return std::popcount(a.hi ^ b.hi) + std::popcount(a.lo ^ b.lo);
  };
  for (uint64_t i = 0; i < kTrials; ++i) {
    first += distance(Combine(Hash128{0, i}, 7), Combine(Hash128{0, i + 1}, 7));
    second += distance(Combine(Hash128{3, 9}, i), Combine(Hash128{3, 9}, i + 1));
  }
  EXPECT_NEAR(first / double{kTrials}, 64, 5 * 5.66 / 64);
  EXPECT_NEAR(second / double{kTrials}, 64, 5 * 5.66 / 64);
}

// 3 x 100 x 300 structured identities, hashed with small numbers, as `repeat`,
// `flat_map` and `batch` do.
TEST(HashTest, StructuredIdentitiesStayApart) {
  absl::flat_hash_set<Hash128> seen;
  for (uint64_t source = 0; source < 3; ++source) {
    for (uint64_t row = 0; row < 100; ++row) {
      const Hash128 identity = {source << 48, row};
      seen.insert(identity);
      for (uint64_t n = 0; n < 300; ++n) seen.insert(Combine(identity, n));
    }
  }
  EXPECT_EQ(seen.size(), 3 * 100 * 301);
}

TEST(HashTest, OrdersByTheHighWordFirst) {
  EXPECT_LT((Hash128{1, 9}), (Hash128{2, 0}));
  EXPECT_LT((Hash128{1, 1}), (Hash128{1, 2}));
  EXPECT_EQ((Hash128{1, 1}), (Hash128{1, 1}));
}

TEST(HashTest, PrintsAndReadsHexadecimal) {
  const Hash128 hash = {0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(ToHex(hash), "0123456789abcdeffedcba9876543210");
  EXPECT_THAT(ParseHash128(ToHex(hash)), IsOkAndHolds(hash));
  std::ostringstream out;
  out << hash;
  EXPECT_EQ(out.str(), ToHex(hash));
}

TEST(HashTest, RefusesOtherText) {
  for (const std::string& text : {std::string(), std::string(31, '0'),
                                  std::string(33, '0'), std::string(32, 'A')}) {
    EXPECT_THAT(ParseHash128(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  }
}

// Mix128 run backwards, round by round: what can be undone is one to one.
Hash128 Unmixed(Hash128 x) {
  x.lo ^= Mix64(x.hi + 0x78dde6e5fd29f054);
  x.hi ^= Mix64(x.lo + 0xdaa66d2c7ddf743f);
  x.lo ^= Mix64(x.hi + 0x3c6ef372fe94f82a);
  x.hi ^= Mix64(x.lo + 0x9e3779b97f4a7c15);
  return x;
}

TEST(HashTest, MixingIsOneToOne) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const Hash128 hash = {Mix64(i), Mix64(i + 1000)};
    EXPECT_EQ(Unmixed(Mix128(hash)), hash);
  }
}

// Both sides can be found again from the result and the other side.
TEST(HashTest, CombiningIsOneToOneInEachSide) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const Hash128 first = {i, Mix64(i)};
    const Hash128 second = {Mix64(~i), i};
    const Hash128 sum = Unmixed(Combine(first, second));
    const Hash128 mixed = Mix128(first);
    EXPECT_EQ((Hash128{sum.hi - mixed.hi, sum.lo - mixed.lo}), second);
    EXPECT_EQ(Unmixed({sum.hi - second.hi, sum.lo - second.lo}), first);
  }
}

}  // namespace
}  // namespace millrace::base
