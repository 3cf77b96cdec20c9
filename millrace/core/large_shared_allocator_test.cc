#include "millrace/core/large_shared_allocator.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"

namespace millrace::core {
namespace {

constexpr int64_t kLarge = int64_t{1} << 20;

TEST(LargeSharedAllocatorTest, SharesLargeRegionsOnly) {
  const std::unique_ptr<Allocator> allocator = MakeLargeSharedAllocator();
  for (const int64_t size : {int64_t{64}, kLarge - 4096, kLarge + 64}) {
    const Region region = allocator->Allocate(size).value();
    EXPECT_EQ(region.descriptor, -1);
    EXPECT_EQ(region.size, size);
    allocator->Free(region);
  }
  const Region region = allocator->Allocate(kLarge).value();
  EXPECT_GE(region.descriptor, 0);
  EXPECT_EQ(region.size, kLarge);
  allocator->Free(region);
}

TEST(LargeSharedAllocatorTest, WhatIsWrittenIsSeenThroughTheDescriptor) {
  Pool pool(MakeLargeSharedAllocator(), {});
  Buffer buffer = pool.Allocate(kLarge + 1).value();
  std::memcpy(buffer.mutable_data(), "seen", 4);
  const Region& region = buffer.storage()->region();
  void* const other =
      mmap(nullptr, region.size, PROT_READ, MAP_SHARED, region.descriptor, 0);
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_EQ(std::memcmp(other, "seen", 4), 0);
  munmap(other, region.size);
}

TEST(LargeSharedAllocatorTest, LeavesDescriptorsForOthers) {
  const std::unique_ptr<Allocator> allocator =
      MakeLargeSharedAllocator({.descriptors_max = 20});
  std::vector<Region> regions;
  for (int i = 0; i < 40; ++i) {
    const Region region = allocator->Allocate(kLarge).value();
    EXPECT_LT(region.descriptor, 20);
    regions.push_back(region);
  }
  EXPECT_EQ(regions.back().descriptor, -1);
  for (const Region& region : regions) allocator->Free(region);
}

}  // namespace
}  // namespace millrace::core
