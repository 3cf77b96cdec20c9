#include "millrace/base/portable_log.h"

#include <bit>
#include <cstdint>
#include <limits>

#include "millrace/base/check.h"

namespace millrace::base {
namespace {

// ln 2 in two parts; a product of the first with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;

}  // namespace

// With x = m 2^e and m in [sqrt(1/2), sqrt(2)]: ln x = e ln 2 + 2 atanh(f), where
// f = (m - 1) / (m + 1) is below 0.172, so that f^2/3 + f^4/5 + ... ends after 11
// terms.
double PortableLog(double x) {
  CHECK(x >= std::numeric_limits<double>::min() &&
        x <= std::numeric_limits<double>::max())
      << "PortableLog of " << x;
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  auto mantissa =
      std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (mantissa > kSqrt2) {
    mantissa *= 0.5;
    ++exponent;
  }
  const double f = (mantissa - 1) / (mantissa + 1);
  const double square = f * f;
  double series = 0;
  for (int divisor = 23; divisor >= 3; divisor -= 2) {
    series = series * square + 1.0 / divisor;
  }
  const double small = 2 * f * square * series + exponent * kLn2Low;
  return exponent * kLn2High + (2 * f + small);
}

}  // namespace millrace::base
