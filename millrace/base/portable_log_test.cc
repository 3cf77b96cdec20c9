#include "millrace/base/portable_log.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/random.h"

namespace millrace::base {
namespace {

// The distance of two doubles of one sign, in units in the last place of the first.
double Ulps(double exact, double value) {
  const double unit = std::nextafter(std::abs(exact), 1e308) - std::abs(exact);
  return std::abs(exact - value) / unit;
}

// Computed by a separate implementation in Python. Draws depend on these bits.
TEST(PortableLogTest, GivesTheBitsItAlwaysGave) {
  EXPECT_EQ(PortableLog(1), 0);
  EXPECT_EQ(PortableLog(0.5), -0x1.62e42fefa39efp-1);
  EXPECT_EQ(PortableLog(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(PortableLog(0.1), -0x1.26bb1bbb55515p+1);
  EXPECT_EQ(PortableLog(0x1.000001ad7f29bp+0), 0x1.ad7f2847b6491p-24);
}

TEST(PortableLogTest, ReachesTheEndsOfItsRange) {
  EXPECT_EQ(PortableLog(0x1p-1022), -0x1.6232bdd7abcd2p+9);
  EXPECT_EQ(PortableLog(std::numeric_limits<double>::max()), 0x1.62e42fefa39efp+9);
}

TEST(PortableLogTest, IsCloseToTheTrueLogarithm) {
  Generator generator(RandomKey(1, 0, 0), Hash128{});
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::ldexp(1 + generator.Uniform(),
                                static_cast<int>(generator.Integer(-1022, 1023)));
    EXPECT_LE(Ulps(std::log(x), PortableLog(x)), 2) << x;
  }
}

TEST(PortableLogTest, IsCloseNearOne) {
  Generator generator(RandomKey(2, 0, 0), Hash128{});
  for (int i = 0; i < 100'000; ++i) {
    const double x = 1 + std::ldexp(generator.Uniform(-1, 1),
                                    static_cast<int>(generator.Integer(-50, -1)));
    if (x == 1) continue;
    EXPECT_LE(Ulps(std::log(x), PortableLog(x)), 3) << x;
  }
}

TEST(PortableLogTest, RefusesWhatHasNoLogarithm) {
  for (const double x : {0.0, -1.0, std::numeric_limits<double>::denorm_min(),
                         std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_DEATH(PortableLog(x), "PortableLog of");
  }
}

}  // namespace
}  // namespace millrace::base
