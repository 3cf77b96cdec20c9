#include "millrace/exec/in_turn.h"

#include <cstdint>

#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::exec {
namespace {

TEST(InTurnTest, RowsInABatchAreOtherRowsToo) {
  const core::Block rows = ops::Numbers(0, 6);
  const core::Block batches = *InTurn(rows.Stack(3), 9, core::HeapPool());
  const core::Block turned = *InTurn(rows, 9, core::HeapPool());
  const core::Block apart = *batches.Unstack();
  ASSERT_EQ(apart.rows(), 6);
  for (int64_t row = 0; row < 6; ++row) EXPECT_EQ(apart.IdAt(row), turned.IdAt(row));
  EXPECT_NE(batches.IdAt(0), rows.Stack(3).IdAt(0));
  EXPECT_EQ(InTurn(rows, 0, core::HeapPool())->IdAt(2), rows.IdAt(2));
}

}  // namespace
}  // namespace millrace::exec
