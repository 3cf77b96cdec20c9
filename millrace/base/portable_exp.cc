#include "millrace/base/portable_exp.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "millrace/base/check.h"

namespace millrace::base {
namespace {

constexpr double kLog2OfE = 0x1.71547652b82fep+0;
// ln 2 in two parts; a product of the first with a small integer is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

// With x = k ln 2 + r and |r| <= ln 2 / 2: e^x = 2^k e^r, where the series of e^r ends
// after 14 terms.
double PortableExp(double x) {
  CHECK(x >= -700 && x <= 700) << "PortableExp of " << x;
  const double k = std::floor(x * kLog2OfE + 0.5);
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double series = 1;
  for (int divisor = 14; divisor >= 1; --divisor) series = series * r / divisor + 1;
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(k) + 1023);
  return series * std::bit_cast<double>(exponent << 52);
}

}  // namespace millrace::base
