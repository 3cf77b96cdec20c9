#include "millrace/bench/usage.h"

#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace millrace::bench {
namespace {

TEST(UsageTest, WorkCounts) {
  const double before = CpuSeconds();
  volatile uint64_t sum = 0;
  while (CpuSeconds() < before + 0.05) sum = sum + 1;
  EXPECT_GE(CpuSecondsOf(getpid()), 0.04);
  EXPECT_NEAR(CpuSecondsOf(getpid()), CpuSeconds(), 0.5);
}

TEST(UsageTest, WhoIsNotThereHasUsedNothing) {
  EXPECT_EQ(CpuSecondsOf(0), 0);
  EXPECT_EQ(StatusBytes("VmNothing:"), 0);
}

TEST(UsageTest, WhatIsWrittenIsResident) {
  const int64_t before = StatusBytes("VmRSS:");
  const std::string large(64 << 20, 'x');
  const int64_t written = before + (std::ssize(large) * 3 / 4);
  EXPECT_GE(StatusBytes("VmRSS:"), written);
  EXPECT_GE(StatusBytes("VmHWM:"), written) << "the most there was";
}

}  // namespace
}  // namespace millrace::bench
