#include "millrace/ops/source.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/storage/local_files.h"

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

TEST(SourceTest, RowsThatAreLeftOutLeaveTheOthersTheirIdentities) {
  const SourceContext context = {.pool = core::HeapPool(), .call_number = 5};
  const std::vector<int64_t> numbers = {3, 4, 9, 12};
  const core::Block block = *WithSourceIds(Numbers(0, 4), 7, numbers, context);
  EXPECT_EQ(block.IdAt(0), SourceRowId(5, 7, 3));
  EXPECT_EQ(block.IdAt(2), SourceRowId(5, 7, 9));
  EXPECT_EQ(block.IdAt(3), SourceRowId(5, 7, 12));
}

TEST(SourceTest, FilesComeFromTheProcessUnlessSaidOtherwise) {
  const SourceContext context = {.pool = core::HeapPool()};
  EXPECT_EQ(&context.blobs, &storage::ProcessFiles());
}

TEST(SourceTest, IdentitiesAreMadeOnlyWhereTheyAreNeeded) {
  const SourceContext context = {.pool = core::HeapPool(), .with_ids = false};
  const core::Block plain = Numbers(0, 4);
  const core::Block rows(plain.rows(), plain.shared_names(), plain.columns());
  EXPECT_FALSE(WithSourceIds(rows, 0, 0, context)->has_ids());
}

TEST(SourceTest, AnIdentityTellsWhichRowItIs) {
  EXPECT_EQ(SourceRowOf(SourceRowId(3, 12, 345), 3), (SourceRow{12, 345}));
  EXPECT_EQ(SourceRowOf(SourceRowId(3, 12, 345), 4), std::nullopt);
  // Most hashes are no identity of a source's row.
  EXPECT_EQ(SourceRowOf({0x1234567812345678, 5}, 0), std::nullopt);
  EXPECT_EQ(SourceRowOf({7, 0x8000000000000000}, 0), std::nullopt);
}

}  // namespace
}  // namespace millrace::ops
