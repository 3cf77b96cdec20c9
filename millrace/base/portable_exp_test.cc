#include "millrace/base/portable_exp.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/portable_log.h"
#include "millrace/base/random.h"

namespace millrace::base {
namespace {

TEST(PortableExpTest, IsCloseToTheTrueValue) {
  Generator generator(RandomKey(1, 0, 0), Hash128{});
  for (int i = 0; i < 100'000; ++i) {
    const double x = generator.Uniform(-700, 700);
    const double exact = std::exp(x);
    const double unit = std::nextafter(exact, 1e308) - exact;
    EXPECT_LE(std::abs(PortableExp(x) - exact) / unit, 2) << x;
  }
}

// Computed by a separate implementation in Python. Draws depend on these bits.
TEST(PortableExpTest, GivesTheBitsItAlwaysGave) {
  EXPECT_EQ(PortableExp(0), 1);
  EXPECT_EQ(PortableExp(1), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(PortableExp(-1), 0x1.78b56362cef38p-2);
  EXPECT_EQ(PortableExp(0.25), 0x1.48b5e3c3e8186p+0);
}

TEST(PortableExpTest, UndoesTheLogarithm) {
  for (const double x : {0.5, 0.75, 1.0, 4.0 / 3, 2.0, 1e100, 1e-100}) {
    EXPECT_NEAR(PortableExp(PortableLog(x)) / x, 1, 1e-13) << x;
  }
}

TEST(PortableExpTest, RefusesWhatWouldLeaveTheRange) {
  for (const double x :
       {701.0, -701.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_DEATH(PortableExp(x), "PortableExp of");
  }
}

}  // namespace
}  // namespace millrace::base
