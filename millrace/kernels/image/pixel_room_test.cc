#include "millrace/kernels/image/pixel_room.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/pool.h"

namespace millrace::kernels {
namespace {

TEST(PixelRoomTest, GivesTheSameMemoryForWhatIsNotLarger) {
  PixelRoom room(core::HeapPool());
  const absl::StatusOr<absl::Span<uint8_t>> large = room.Take(5000);
  ASSERT_THAT(large, base::IsOk());
  EXPECT_EQ(large->size(), 5000U);
  const absl::StatusOr<absl::Span<uint8_t>> small = room.Take(100);
  ASSERT_THAT(small, base::IsOk());
  EXPECT_EQ(small->size(), 100U);
  EXPECT_EQ(small->data(), large->data());
  EXPECT_EQ(room.Take(5000)->data(), large->data());
}

// The memory of before is given back first.
TEST(PixelRoomTest, GrowsWithinTheBudget) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 1 << 20});
  PixelRoom room(pool);
  EXPECT_THAT(room.Take(600'000), base::IsOk());
  EXPECT_THAT(room.Take(900'000), base::IsOk());
  EXPECT_EQ(room.Take(1 << 21).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(room.Take(900'000), base::IsOk());
}

TEST(PixelRoomTest, TakesNothingForNothing) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  PixelRoom room(pool);
  EXPECT_EQ(room.Take(0)->size(), 0U);
  EXPECT_EQ(pool.stats().allocations, 0);
}

}  // namespace
}  // namespace millrace::kernels
