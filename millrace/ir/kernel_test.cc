#include "millrace/ir/kernel.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"

namespace millrace::ir {
namespace {

core::Block RowsWithIds(const std::vector<core::RowId>& ids) {
  const auto rows = static_cast<int64_t>(ids.size());
  const core::Block block(rows, core::FieldNames{}, {});
  return block.WithIds(*core::IdColumn(ids, core::HeapPool()));
}

TEST(KernelTest, ARowDrawsByItsIdentityNotByItsPlace) {
  const core::Block forth = RowsWithIds({{1, 2}, {3, 4}, {5, 6}});
  const core::Block back = RowsWithIds({{5, 6}, {3, 4}, {1, 2}});
  const base::RandomKey key(7, 0, 1);
  const Draws draws = {key, &forth};
  const Draws reversed = {key, &back};
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(draws.For(row).Next64(), reversed.For(2 - row).Next64());
  }
  EXPECT_NE(draws.For(0).Next64(), draws.For(1).Next64());
}

TEST(KernelTest, EveryCallDrawsAnew) {
  const core::Block rows = RowsWithIds({{1, 2}});
  const Draws first = {base::RandomKey(7, 0, 1), &rows};
  const Draws second = {base::RandomKey(7, 0, 2), &rows};
  const Draws next_epoch = {base::RandomKey(7, 1, 1), &rows};
  EXPECT_NE(first.For(0).Next64(), second.For(0).Next64());
  EXPECT_NE(first.For(0).Next64(), next_epoch.For(0).Next64());
}

TEST(KernelTest, IsPlainUnlessItSaysOtherwise) {
  const KernelSchema schema = {.name = "plain", .doc = ""};
  EXPECT_EQ(schema.version, 1);
  EXPECT_FALSE(schema.random);
  EXPECT_FALSE(schema.promotes);
  EXPECT_FALSE(schema.variadic);
  EXPECT_EQ(schema.fails, Fails::kNever);
}

}  // namespace
}  // namespace millrace::ir
