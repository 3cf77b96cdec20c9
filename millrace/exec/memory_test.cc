#include "millrace/exec/memory.h"

#include "gtest/gtest.h"

#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"

namespace millrace::exec {
namespace {

class MemoryTest : public ::testing::Test {
 protected:
  core::Pool pool_{core::MakeHeapAllocator(), {}};
  Memory memory_{pool_, 1 << 20};
};

TEST_F(MemoryTest, CountsWhatIsInUseAndWhatMayBeTaken) {
  memory_.Start(1000);  // Something runs, so that nobody is excused.
  EXPECT_TRUE(memory_.HasRoom((1 << 20) - 1000, true));
  EXPECT_FALSE(memory_.HasRoom(1 << 20, true));
  const core::Buffer held = *pool_.Allocate(512 << 10);
  EXPECT_FALSE(memory_.HasRoom(600 << 10, true));
  EXPECT_TRUE(memory_.HasRoom(400 << 10, true));
  memory_.End(1000);
}

TEST_F(MemoryTest, HalfIsKeptForTheLaneBeingDelivered) {
  memory_.Start(0);
  EXPECT_TRUE(memory_.HasRoom(512 << 10, false));
  EXPECT_FALSE(memory_.HasRoom((512 << 10) + 1, false));
  EXPECT_TRUE(memory_.HasRoom((512 << 10) + 1, true));
  memory_.End(0);
}

TEST_F(MemoryTest, WhatIsMadeAheadLeavesThreeQuarters) {
  const core::Buffer held = *pool_.Allocate(200 << 10);
  EXPECT_TRUE(memory_.HasRoomAhead());
  memory_.Start(100 << 10);
  EXPECT_FALSE(memory_.HasRoomAhead());
  EXPECT_TRUE(memory_.HasRoom(100 << 10, false));
  memory_.End(100 << 10);
}

TEST_F(MemoryTest, TheFirstLaneGoesOnWhereNothingElseWouldFreeMemory) {
  const core::Buffer held = *pool_.Allocate(2 << 20);
  EXPECT_TRUE(memory_.HasRoom(1 << 20, true));
  EXPECT_FALSE(memory_.HasRoom(0, false));
  memory_.Start(0);
  EXPECT_FALSE(memory_.HasRoom(0, true));
  memory_.End(0);
}

}  // namespace
}  // namespace millrace::exec
