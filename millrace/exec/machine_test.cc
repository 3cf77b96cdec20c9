#include "millrace/exec/machine.h"

#include <optional>

#include "gtest/gtest.h"

namespace millrace::exec {
namespace {

TEST(MachineTest, ReadsAQuotaOfProcessors) {
  EXPECT_EQ(ParseCpuQuota("200000 100000\n"), 2);
  EXPECT_EQ(ParseCpuQuota("150000 100000\n"), 2);
  EXPECT_EQ(ParseCpuQuota("50000 100000"), 1);
  EXPECT_EQ(ParseCpuQuota("max 100000\n"), std::nullopt);
  for (const char* nonsense : {"", "7", "a b", "0 100000", "-5 10", "1 2 3"}) {
    EXPECT_EQ(ParseCpuQuota(nonsense), std::nullopt) << nonsense;
  }
}

TEST(MachineTest, ReadsALimitOfMemory) {
  EXPECT_EQ(ParseMemoryLimit("1073741824\n"), 1073741824);
  EXPECT_EQ(ParseMemoryLimit("max\n"), std::nullopt);
  EXPECT_EQ(ParseMemoryLimit(""), std::nullopt);
}

TEST(MachineTest, ThereIsAtLeastOneThreadAndSomeMemory) {
  EXPECT_GE(AvailableThreads(), 1);
  EXPECT_GT(AvailableMemoryBytes(), int64_t{64} << 20);
  EXPECT_LT(DefaultMemoryBytes(), AvailableMemoryBytes());
}

}  // namespace
}  // namespace millrace::exec
