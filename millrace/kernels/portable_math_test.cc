#include "millrace/kernels/portable_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"

namespace millrace::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kRounds = 50'000;

// How many units in the last place of the true value lie between the two.
double Units(long double exact, double computed) {
  const auto near = std::abs(static_cast<double>(exact));
  if (std::isinf(near) || std::isinf(computed)) {
    return near == std::abs(computed) ? 0 : 1e9;
  }
  const double unit = std::nextafter(near, kInfinity) - near;
  return static_cast<double>(std::abs(exact - computed) / unit);
}

base::Generator Random(uint64_t seed) {
  return base::Generator(base::RandomKey(seed, 0, 0), base::Hash128{});
}

TEST(PortableMathTest, ExpIsClose) {
  base::Generator random = Random(1);
  for (int i = 0; i < kRounds; ++i) {
    const double x = random.Uniform(-745, 709.78);
    EXPECT_LE(Units(std::exp(static_cast<long double>(x)), Exp(x)), 2) << x;
    const double small = random.Uniform(-1, 1);
    EXPECT_LE(Units(std::exp(static_cast<long double>(small)), Exp(small)), 2);
  }
}

TEST(PortableMathTest, ExpReachesTheEnds) {
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Exp(-0.0), 1);
  EXPECT_EQ(Exp(kInfinity), kInfinity);
  EXPECT_EQ(Exp(-kInfinity), 0);
  EXPECT_EQ(Exp(710), kInfinity);
  EXPECT_EQ(Exp(709.7827128933841), kInfinity);
  EXPECT_LT(Exp(709.782712893384), kInfinity);
  EXPECT_EQ(Exp(-745.2), 0);
  EXPECT_GT(Exp(-745.13), 0);
  EXPECT_TRUE(std::isnan(Exp(kNan)));
}

TEST(PortableMathTest, LogIsClose) {
  base::Generator random = Random(2);
  for (int i = 0; i < kRounds; ++i) {
    const double x =
        std::ldexp(1 + random.Uniform(), static_cast<int>(random.Integer(-1074, 1023)));
    EXPECT_LE(Units(std::log(static_cast<long double>(x)), Log(x)), 3) << x;
  }
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Log(0), -kInfinity);
  EXPECT_EQ(Log(-0.0), -kInfinity);
  EXPECT_EQ(Log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(Log(-1)));
  EXPECT_TRUE(std::isnan(Log(kNan)));
}

TEST(PortableMathTest, LogOfOnePlusIsClose) {
  base::Generator random = Random(3);
  for (int i = 0; i < kRounds; ++i) {
    const double tiny =
        std::ldexp(random.Uniform(-1, 1), static_cast<int>(random.Integer(-300, 0)));
    EXPECT_LE(Units(std::log1p(static_cast<long double>(tiny)), LogOfOnePlus(tiny)), 4)
        << tiny;
    const double large =
        std::ldexp(1 + random.Uniform(), static_cast<int>(random.Integer(-3, 1000)));
    EXPECT_LE(Units(std::log1p(static_cast<long double>(large)), LogOfOnePlus(large)),
              4)
        << large;
  }
  EXPECT_EQ(LogOfOnePlus(-1), -kInfinity);
  EXPECT_EQ(LogOfOnePlus(kInfinity), kInfinity);
  EXPECT_TRUE(std::signbit(LogOfOnePlus(-0.0)));
  EXPECT_TRUE(std::isnan(LogOfOnePlus(-1.5)));
  EXPECT_TRUE(std::isnan(LogOfOnePlus(kNan)));
}

TEST(PortableMathTest, SigmoidIsClose) {
  base::Generator random = Random(4);
  for (int i = 0; i < kRounds; ++i) {
    const double x = random.Uniform(-740, 40);
    const long double exact = 1 / (1 + std::exp(-static_cast<long double>(x)));
    EXPECT_LE(Units(exact, Sigmoid(x)), 5) << x;
  }
  EXPECT_EQ(Sigmoid(0), 0.5);
  EXPECT_EQ(Sigmoid(kInfinity), 1);
  EXPECT_EQ(Sigmoid(-kInfinity), 0);
  EXPECT_TRUE(std::isnan(Sigmoid(kNan)));
}

TEST(PortableMathTest, TanhIsClose) {
  base::Generator random = Random(5);
  for (int i = 0; i < kRounds; ++i) {
    const double x = random.Uniform(-1, 1) * (i % 2 == 0 ? 1 : 22);
    EXPECT_LE(Units(std::tanh(static_cast<long double>(x)), Tanh(x)), 5) << x;
    EXPECT_EQ(Tanh(-x), -Tanh(x));
  }
  EXPECT_EQ(Tanh(kInfinity), 1);
  EXPECT_EQ(Tanh(1e-300), 1e-300);
  EXPECT_TRUE(std::signbit(Tanh(-0.0)));
  EXPECT_TRUE(std::isnan(Tanh(kNan)));
}

TEST(PortableMathTest, PowerIsClose) {
  base::Generator random = Random(6);
  for (int i = 0; i < kRounds; ++i) {
    const double a =
        std::ldexp(1 + random.Uniform(), static_cast<int>(random.Integer(-300, 300)));
    const double b = random.Uniform(-3, 3);
    const auto exact = std::pow(static_cast<long double>(a), b);
    EXPECT_LE(Units(exact, Power(a, b)), 3) << a << " ^ " << b;
    const double near_one = 1 + random.Uniform(-1e-3, 1e-3);
    const double large = random.Uniform(-500'000, 500'000);
    EXPECT_LE(Units(std::pow(static_cast<long double>(near_one), large),
                    Power(near_one, large)),
              3)
        << near_one << " ^ " << large;
  }
}

TEST(PortableMathTest, PowersOfWholeNumbersAreExact) {
  EXPECT_EQ(Power(2, 10), 1024);
  EXPECT_EQ(Power(3, 4), 81);
  EXPECT_EQ(Power(10, 15), 1e15);
  EXPECT_EQ(Power(-2, 3), -8);
  EXPECT_EQ(Power(-2, 2), 4);
  EXPECT_EQ(Power(4, 0.5), 2);
  EXPECT_EQ(Power(2, -1074), 0x1p-1074);
}

TEST(PortableMathTest, PowerHasTheSpecialCasesOfTheLibrary) {
  const double some[] = {0.0, -0.0, 1.0,   -1.0,   0.5,       -0.5,       2.0,  -2.0,
                         3.0, -3.0, 1e300, -1e300, kInfinity, -kInfinity, kNan, 1e-320};
  for (const double a : some) {
    for (const double b : some) {
      const double expected = std::pow(a, b);
      const double computed = Power(a, b);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(computed)) << a << " ^ " << b;
        continue;
      }
      EXPECT_LE(Units(expected, computed), 3) << a << " ^ " << b;
      EXPECT_EQ(std::signbit(computed), std::signbit(expected)) << a << " ^ " << b;
    }
  }
}

// Whatever changes these bits changes the results of pipelines.
TEST(PortableMathTest, GivesTheBitsItAlwaysGave) {
  EXPECT_EQ(Exp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(Exp(-1), 0x1.78b56362cef38p-2);
  EXPECT_EQ(Log(10), 0x1.26bb1bbb55516p+1);
}

}  // namespace
}  // namespace millrace::kernels
