#include "millrace/plugin/rows_in_reach.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::plugin {
namespace {

std::vector<int64_t> Taken(const RowsInReach& reach,
                           const std::vector<int64_t>& numbers) {
  const auto column = reach.Gather("value", numbers);
  EXPECT_THAT(column, base::IsOk());
  const auto values = column->As<int64_t>();
  return {values.begin(), values.end()};
}

TEST(RowsInReachTest, KeepsTheRowsBeforeACallWhateverTheBlocks) {
  RowsInReach reach(3, core::HeapPool());
  reach.Push(ops::Numbers(0, 2));
  reach.EndCall();
  EXPECT_EQ(reach.begin(), 0);
  reach.Push(ops::Numbers(2, 4));
  reach.EndCall();
  reach.Push(ops::Numbers(4, 10));
  EXPECT_EQ(reach.begin(), 1);
  EXPECT_EQ(reach.end(), 10);
  EXPECT_EQ(Taken(reach, {1, 9, 3, 2}), (std::vector<int64_t>{1, 9, 3, 2}));
  EXPECT_EQ(Taken(reach, {5, 6, 7}), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(reach.IdAt(3), ops::Numbers(3, 4).IdAt(0));
  reach.EndCall();
  EXPECT_EQ(reach.begin(), 7);
  EXPECT_EQ(Taken(reach, {9, 7}), (std::vector<int64_t>{9, 7}));
}

TEST(RowsInReachTest, CountsWhatWasGivenFromARow) {
  RowsInReach reach(1, core::HeapPool());
  reach.Push(ops::Numbers(0, 5));
  ++reach.uses(4);
  reach.EndCall();
  reach.Push(ops::Numbers(5, 6));
  EXPECT_EQ(reach.uses(4), 1);
  EXPECT_EQ(reach.uses(5), 0);
}

TEST(RowsInReachTest, NothingIsKeptBetweenCallsThatHoldNothing) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  RowsInReach reach(0, pool);
  const int64_t number = 7;
  core::Buffer bytes = *core::CopyBytes(&number, 8, pool);
  core::Column column = core::Column::Dense(core::DType::kInt64, 1, {}, bytes);
  reach.Push(core::Block(1, core::FieldNames{"value"}, {std::move(column)}));
  bytes = {};
  EXPECT_GT(pool.stats().used_bytes, 0);
  reach.EndCall();
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST(RowsInReachTest, WholeCallsAreNotCopied) {
  RowsInReach reach(0, core::HeapPool());
  const core::Block block = ops::Numbers(0, 3);
  reach.Push(block);
  const auto column = reach.Gather("value", {0, 1, 2});
  ASSERT_THAT(column, base::IsOk());
  EXPECT_EQ(column->values().data(), block.columns()[0].values().data());
  const auto ids = reach.Gather(std::nullopt, {2});
  ASSERT_THAT(ids, base::IsOk());
  EXPECT_TRUE(SameRows(*ids, block.ids()->Slice(2, 1)));
}

}  // namespace
}  // namespace millrace::plugin
