#include "millrace/ops/source/block_reader.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

namespace millrace::ops {
namespace {

TEST(BlockReaderTest, GivesARangeInSlices) {
  const core::Block all = Numbers(0, 20'000);
  BlockReader reader(all, {.split = 3, .begin = 10, .end = 19'000},
                     {.pool = core::HeapPool(), .call_number = 2});
  int64_t next = 10;
  while (const std::optional<core::Block> block = *reader.Next(NoBadRows())) {
    EXPECT_LE(block->rows(), 8192);
    EXPECT_EQ(block->Find("value")->As<int64_t>()[0], next);
    EXPECT_EQ(block->IdAt(0), SourceRowId(2, 3, next));
    next += block->rows();
  }
  EXPECT_EQ(next, 19'000);
}

TEST(BlockReaderTest, AnEmptyRangeHasNothing) {
  BlockReader reader(Numbers(0, 5), {.split = 0, .begin = 2, .end = 2},
                     {.pool = core::HeapPool()});
  EXPECT_FALSE(reader.Next(NoBadRows())->has_value());
}

}  // namespace
}  // namespace millrace::ops
