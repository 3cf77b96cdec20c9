#include "millrace/kernels/pairwise_sum.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/random.h"

namespace millrace::kernels {
namespace {

double Sum(const std::vector<double>& values) {
  return PairwiseSum(0, static_cast<int64_t>(values.size()),
                     [&](int64_t i) { return values[i]; });
}

TEST(PairwiseSumTest, SumsAnyNumberOfIntegersExactly) {
  std::vector<double> values;
  double expected = 0;
  for (int count = 0; count < 600; ++count) {
    ASSERT_EQ(Sum(values), expected) << count;
    values.push_back(count * 7 - 100);
    expected += values.back();
  }
}

TEST(PairwiseSumTest, KeepsTheSignOfASingleZero) {
  EXPECT_TRUE(std::signbit(Sum({-0.0})));
  EXPECT_FALSE(std::signbit(Sum({})));
}

TEST(PairwiseSumTest, ErrsLessThanARunningSum) {
  const int64_t count = 1'000'000;
  const std::vector<double> tenths(count, 0.1);
  double running = 0;
  for (const double tenth : tenths) running += tenth;
  EXPECT_GT(std::abs(running - 100'000), 1e-7);
  EXPECT_LT(std::abs(Sum(tenths) - 100'000), 1e-9);
}

// The order is part of the contract: results are stored and compared. Worked by hand
// for 10 values: eight lanes, joined in pairs, then the rest one by one.
TEST(PairwiseSumTest, SumsInTheDocumentedOrder) {
  const std::vector<double> v = {1e16, 1, -1e16, 3, 1e-3, 5, 7, 11, 13, 17};
  const double lanes =
      ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  EXPECT_EQ(Sum(v), (lanes + v[8]) + v[9]);
  const std::vector<double> few = {1e16, 1, 1, -1e16};
  EXPECT_EQ(Sum(few), ((few[0] + few[1]) + few[2]) + few[3]);
}

TEST(PairwiseSumTest, SplitsLongSumsInHalvesOfWholeEights) {
  base::Generator random(base::RandomKey(4, 5, 6), {});
  std::vector<double> values(300);
  for (double& value : values) value = random.Uniform(-1e9, 1e9);
  const std::vector<double> first(values.begin(), values.begin() + 144);
  const std::vector<double> second(values.begin() + 144, values.end());
  EXPECT_EQ(Sum(values), Sum(first) + Sum(second));  // 150 less 6.
}

}  // namespace
}  // namespace millrace::kernels
