#include "millrace/kernels/divisor.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"

namespace millrace::kernels {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

int64_t FloorOf(int64_t value, int64_t divisor) {
  const int64_t quotient = value / divisor;
  return value % divisor < 0 ? quotient - 1 : quotient;
}

// Of all sizes, and next to powers of two.
std::vector<int64_t> Divisors() {
  std::vector<int64_t> divisors = {2, 3, 5, 7, 10, 641, kMax, kMax - 1};
  for (int bit = 2; bit < 63; ++bit) {
    const int64_t power = int64_t{1} << bit;
    divisors.insert(divisors.end(), {power - 1, power, power + 1});
    const auto draw = static_cast<int64_t>(base::Mix64(bit) >> (64 - bit));
    divisors.push_back(power + draw);
  }
  return divisors;
}

void ExpectExact(const Divisor& by, int64_t value, int64_t divisor) {
  ASSERT_EQ(by.Quotient(value), FloorOf(value, divisor)) << value << " / " << divisor;
  const int64_t rest = value % divisor;
  ASSERT_EQ(by.Remainder(value), rest < 0 ? rest + divisor : rest) << value;
}

TEST(DivisorTest, DividesSmallNumbersExactly) {
  for (int64_t divisor = 2; divisor < 300; ++divisor) {
    const Divisor by(divisor);
    for (int64_t value = -1000; value < 1000; ++value) ExpectExact(by, value, divisor);
  }
}

TEST(DivisorTest, DividesNumbersOfAllSizesExactly) {
  for (const int64_t divisor : Divisors()) {
    const Divisor by(divisor);
    for (const int64_t value :
         {kMin, kMin + 1, int64_t{-1}, int64_t{0}, kMax - 1, kMax}) {
      ExpectExact(by, value, divisor);
    }
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      const auto value = static_cast<int64_t>(base::Mix64(seed));
      ExpectExact(by, value >> (seed % 63), divisor);
      // Next to multiples, where rounding would show.
      const int64_t multiple = value / divisor * divisor;
      for (const int64_t beside : {-1, 0, 1}) {
        int64_t near = 0;
        if (__builtin_add_overflow(multiple, beside, &near)) continue;
        ExpectExact(by, near, divisor);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::kernels
