#include "millrace/ops/transform/held_rows.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;

TEST(HeldRowsTest, RowsAreGivenInTheOrderAskedFor) {
  HeldRows held(core::HeapPool());
  const int32_t first = held.Keep(Numbers(0, 3));
  const int32_t second = held.Keep(Numbers(10, 13));
  const std::vector<core::RowRef> rows = {{second, 2}, {first, 0}, {second, 0}};
  EXPECT_TRUE(core::SameRows(*held.Gather(rows), NumberBlock({12, 0, 10})));
}

// Every 100th row waits; blocks of all others are let go, and the pool's memory too.
TEST(HeldRowsTest, RowsThatWaitMoveWhenMostHaveLeft) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  HeldRows held(pool);
  std::vector<core::RowRef> waiting;
  std::vector<int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  int moved = 0;
  for (int64_t at = 0; at < 50'000; at += 100) {
    waiting.push_back({held.Keep(*core::Gather(Numbers(at, at + 100), all, pool)), 7});
    const core::RowRef before = waiting.back();
    ASSERT_THAT(held.Compact(std::ssize(waiting),
                             [&](HeldRows::Visit visit) {
                               for (core::RowRef& row : waiting) visit(row);
                             }),
                IsOk());
    moved += waiting.back().source != before.source ? 1 : 0;
  }
  EXPECT_GT(moved, 10);
  const core::Block rows = *held.Gather(waiting);
  for (int64_t i = 0; i < rows.rows(); ++i) {
    EXPECT_EQ(rows.Find("value")->As<int64_t>()[i], 100 * i + 7);
  }
}

}  // namespace
}  // namespace millrace::ops
