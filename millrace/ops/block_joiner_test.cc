#include "millrace/ops/block_joiner.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;

// How many rows come out at a time of blocks of one size.
std::vector<int64_t> Given(int64_t rows, int64_t size) {
  BlockJoiner joiner(core::HeapPool());
  std::vector<int64_t> given;
  int64_t next = 0;
  const auto take = [&](const std::optional<core::Block>& block) {
    if (!block) return;
    const core::Block expected = Numbers(next, next + block->rows());
    EXPECT_TRUE(core::SameRows(*block, expected));
    next += block->rows();
    given.push_back(block->rows());
  };
  for (int64_t row = 0; row < rows; row += size) {
    const auto block = joiner.Add(Numbers(row, row + size));
    EXPECT_THAT(block, IsOk());
    take(*block);
  }
  const auto rest = joiner.Rest();
  EXPECT_THAT(rest, IsOk());
  take(*rest);
  EXPECT_EQ(next, rows);
  return given;
}

TEST(BlockJoinerTest, ShortBlocksAreJoinedInOrder) {
  EXPECT_THAT(Given(3000, 100), ElementsAre(1100, 1100, 800));
}

TEST(BlockJoinerTest, LongBlocksArePassedOn) {
  EXPECT_THAT(Given(10'000, 5000), ElementsAre(5000, 5000));
}

TEST(BlockJoinerTest, NothingIsLeftOfNoRows) {
  BlockJoiner joiner(core::HeapPool());
  const auto none = joiner.Add(Numbers(0, 0));
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
  const auto rest = joiner.Rest();
  ASSERT_THAT(rest, IsOk());
  EXPECT_FALSE(rest->has_value());
}

}  // namespace
}  // namespace millrace::ops
