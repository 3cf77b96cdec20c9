#include "millrace/ops/source.h"

#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

TEST(SourceTest, RowsAreIdentifiedBySourceSplitAndPlace) {
  const SourceContext context = {.pool = core::HeapPool(), .call_number = 5};
  const core::Block block = *WithSourceIds(Numbers(0, 4), 7, 100, context);
  EXPECT_EQ(block.IdAt(0), SourceRowId(5, 7, 100));
  EXPECT_EQ(block.IdAt(3), SourceRowId(5, 7, 103));
  EXPECT_NE(SourceRowId(5, 7, 100), SourceRowId(5, 8, 100));
  EXPECT_NE(SourceRowId(5, 7, 100), SourceRowId(6, 7, 100));
}

TEST(SourceTest, IdentitiesAreMadeOnlyWhereTheyAreNeeded) {
  const SourceContext context = {.pool = core::HeapPool(), .with_ids = false};
  const core::Block plain = Numbers(0, 4);
  const core::Block rows(plain.rows(), plain.shared_names(), plain.columns());
  EXPECT_FALSE(WithSourceIds(rows, 0, 0, context)->has_ids());
}

}  // namespace
}  // namespace millrace::ops
