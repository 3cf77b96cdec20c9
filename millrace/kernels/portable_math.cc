#include "millrace/kernels/portable_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "millrace/base/portable_log.h"

namespace millrace::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2OfE = 0x1.71547652b82fep+0;
// ln 2 in three parts; a product of the first with a small integer is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLn2Lowest = 0x1.cc01f97b57a08p-87;
constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;
constexpr double kExpMax = 709.79;   // Beyond, e^x is infinite,
constexpr double kExpMin = -745.14;  // and here it is 0.

double PowerOfTwo(int64_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52U);
}

// value * 2^k, in two steps so that each factor is a double.
double Scale(double value, int64_t k) {
  const int64_t half = k / 2;
  return value * PowerOfTwo(half) * PowerOfTwo(k - half);
}

// e^(x + low), where low is small beside x. Requires: kExpMin < x < kExpMax.
double ExpOfSum(double x, double low) {
  const double k = std::floor(x * kLog2OfE + 0.5);
  const double r = (x - k * kLn2High) - (k * kLn2Low - low);
  double series = 1;
  for (int divisor = 14; divisor >= 2; --divisor) series = series * r / divisor + 1;
  return Scale(1 + series * r, static_cast<int64_t>(k));
}

// --- Sums of two doubles, for what one is too short ---

struct Pair {
  double high = 0;
  double low = 0;
};

// a + b, exactly. Requires: |a| >= |b|, or a is 0.
Pair FastSum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a * b, exactly, where nothing overflows.
Pair Product(double a, double b) {
  constexpr double kSplitter = 134217729;  // 2^27 + 1
  const double a_high = a * kSplitter - (a * kSplitter - a);
  const double b_high = b * kSplitter - (b * kSplitter - b);
  const double a_low = a - a_high;
  const double b_low = b - b_high;
  const double product = a * b;
  const double error =
      ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
  return {product, error};
}

Pair Times(const Pair& a, const Pair& b) {
  const Pair product = Product(a.high, b.high);
  return FastSum(product.high, product.low + (a.high * b.low + a.low * b.high));
}

Pair Plus(const Pair& a, const Pair& b) {
  const double sum = a.high + b.high;
  const double part = sum - a.high;
  const double error = (a.high - (sum - part)) + (b.high - part);
  return FastSum(sum, error + (a.low + b.low));
}

Pair Over(const Pair& a, const Pair& b) {
  const double first = a.high / b.high;
  const Pair back = Times({first, 0}, b);
  const Pair rest = Plus(a, {-back.high, -back.low});
  return FastSum(first, rest.high / b.high);
}

// The logarithm to about a hundred bits. Requires: finite and positive.
Pair LongLog(double x) {
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<uint64_t>(x);
  exponent += static_cast<int64_t>(bits >> 52U) - 1023;
  auto m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  if (m > kSqrt2) {
    m *= 0.5;
    ++exponent;
  }
  // ln m = 2 atanh(f), f = (m - 1) / (m + 1): below 0.172, so that 20 terms will do.
  const Pair f = Over({m - 1, 0}, Plus({m, 0}, {1, 0}));
  const Pair square = Times(f, f);
  Pair series = {0, 0};
  for (int divisor = 41; divisor >= 3; divisor -= 2) {
    const Pair term = Over({1, 0}, {static_cast<double>(divisor), 0});
    series = Times(Plus(series, term), square);
  }
  const Pair twice = {2 * f.high, 2 * f.low};
  const Pair of_m = Plus(twice, Times(twice, series));
  const auto e = static_cast<double>(exponent);
  const Pair low = Plus(Product(e, kLn2Low), {e * kLn2Lowest, 0});
  return Plus(Plus({e * kLn2High, 0}, low), of_m);
}

bool IsWhole(double x) { return std::floor(x) == x; }

bool IsOdd(double x) {
  constexpr double kAllEven = 0x1p53;  // From here on.
  return IsWhole(x) && std::abs(x) < kAllEven && std::fmod(x, 2) != 0;
}

// |a|^b where one of them is 0, infinite or 1.
double SpecialPower(double a, double b) {
  if (a == 1) return 1;
  if (std::isinf(b)) return (a > 1) == (b > 0) ? kInfinity : 0;
  return (a == 0) == (b > 0) ? 0 : kInfinity;
}

// a^b. Requires: a >= 0, neither is NaN, b is not 0.
double PositivePower(double a, double b) {
  if (a == 0 || a == 1 || std::isinf(a) || std::isinf(b)) return SpecialPower(a, b);
  const Pair log = LongLog(a);
  const double rough = log.high * b;
  if (rough > kExpMax) return kInfinity;
  if (rough < kExpMin) return 0;
  const Pair exponent = Times(log, {b, 0});
  return ExpOfSum(exponent.high, exponent.low);
}

}  // namespace

double Exp(double x) {
  if (std::isnan(x)) return kNan;
  if (x >= kExpMax) return kInfinity;
  if (x <= kExpMin) return 0;
  return ExpOfSum(x, 0);
}

double Log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (std::isinf(x)) return kInfinity;
  if (x >= std::numeric_limits<double>::min()) return base::PortableLog(x);
  const Pair log = LongLog(x);
  return log.high + log.low;
}

double LogOfOnePlus(double x) {
  if (std::isnan(x) || x < -1) return kNan;
  if (x == -1) return -kInfinity;
  if (std::isinf(x) || x == 0) return x;
  if (x > -0.25 && x < 0.5) {
    // 2 atanh(x / (2 + x)), whose argument is below 0.2: 12 terms.
    const double f = x / (2 + x);
    const double square = f * f;
    double series = 0;
    for (int divisor = 25; divisor >= 3; divisor -= 2) {
      series = series * square + 1.0 / divisor;
    }
    return 2 * f + 2 * f * square * series;
  }
  const double sum = 1 + x;
  const double lost = x > 1 ? 1 - (sum - x) : x - (sum - 1);
  return Log(sum) + lost / sum;
}

double Sigmoid(double x) {
  if (std::isnan(x)) return kNan;
  if (x >= 0) return 1 / (1 + Exp(-x));
  const double power = Exp(x);
  return power / (1 + power);
}

double Tanh(double x) {
  if (std::isnan(x)) return kNan;
  if (x == 0) return x;
  const double size = std::abs(x);
  if (size > 20) return std::copysign(1.0, x);
  if (size > 0.5) return std::copysign(1 - 2 / (Exp(2 * size) + 1), x);
  // Lambert's fraction x / (1 + x^2 / (3 + x^2 / (5 + ...))).
  const double square = x * x;
  double fraction = 19;
  for (int odd = 17; odd >= 3; odd -= 2) fraction = odd + square / fraction;
  return x - x * square / (fraction + square);
}

double Power(double a, double b) {
  if (b == 0 || a == 1) return 1;
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (!std::signbit(a)) return PositivePower(a, b);
  const bool finite_negative = a != 0 && !std::isinf(a) && !std::isinf(b);
  if (finite_negative && !IsWhole(b)) return kNan;
  const double size = PositivePower(-a, b);
  return IsOdd(b) ? -size : size;
}

}  // namespace millrace::kernels
