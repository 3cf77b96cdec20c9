#include "millrace/kernels/image/chance.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/ir/value.h"

namespace millrace::kernels {
namespace {

TEST(ChanceTest, IsFromZeroToOne) {
  for (const double p : {0.0, 0.5, 1.0}) {
    const ir::Arguments arguments = {{"p", p}};
    EXPECT_TRUE(CheckChance(arguments).ok());
    EXPECT_EQ(ChanceOf(arguments), p);
  }
  for (const double p : {-0.1, 1.1, std::nan("")}) {
    EXPECT_THAT(CheckChance({{"p", p}}).ToString(),
                testing::HasSubstr("argument p must be from 0 to 1"));
  }
}

TEST(ChanceTest, HasTheDefaultItIsGiven) {
  EXPECT_EQ(ChanceArgument(0.25).default_value->As<double>(), 0.25);
}

}  // namespace
}  // namespace millrace::kernels
