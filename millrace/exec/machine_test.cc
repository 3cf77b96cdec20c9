#include "millrace/exec/machine.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

#include "millrace/base/temporary_folder.h"

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

TEST(MachineTest, LimitsAreTheLeastOfAllGroupsAroundAProcess) {
  const base::TemporaryFolder folder;
  folder.Write("a/memory.max", "1000\n");
  folder.Write("a/cpu.max", "200000 100000\n");
  folder.Write("a/b/memory.max", "max\n");
  folder.Write("a/b/cpu.max", "100000 100000\n");
  const GroupLimits inner = ReadGroupLimits("0::/a/b\n", folder.path());
  EXPECT_EQ(inner.memory_bytes, 1000);
  EXPECT_EQ(inner.processors, 1);
  const GroupLimits outer = ReadGroupLimits("1:name=x:/c\n0::/a\n", folder.path());
  EXPECT_EQ(outer.processors, 2);
  EXPECT_EQ(ReadGroupLimits("0::/\n", folder.path()).memory_bytes, std::nullopt);
  EXPECT_EQ(ReadGroupLimits("0::/a/c/d\n", folder.path()).memory_bytes, 1000);
  EXPECT_EQ(ReadGroupLimits("", folder.path()).processors, std::nullopt);
  folder.Write("memory.max", "500\n");  // In a container the root has limits.
  EXPECT_EQ(ReadGroupLimits("", folder.path()).memory_bytes, 500);
}

TEST(MachineTest, ThereIsAtLeastOneThreadAndSomeMemory) {
  EXPECT_GE(AvailableThreads(), 1);
  EXPECT_GT(AvailableMemoryBytes(), int64_t{64} << 20);
  EXPECT_LT(DefaultMemoryBytes(), AvailableMemoryBytes());
}

}  // namespace
}  // namespace millrace::exec
