#include "millrace/exec/in_turn.h"

#include <cstdint>
#include <memory>

#include "gtest/gtest.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/row_origins.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source.h"

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

TEST(InTurnTest, SomebodyMayWantToKnowWhichRowsTheyWere) {
  const core::Block rows = ops::Numbers(0, 6);
  RowOrigins origins;
  const core::Block turned = *InTurn(rows.Stack(3), 9, core::HeapPool(), &origins);
  const auto node =
      ir::Parse("%0 = range(stop=6)", {}, ops::DefaultLibrary().catalog());
  const std::shared_ptr<ops::Source> source =
      ops::DefaultLibrary().MakeSource(*node, {.pool = core::HeapPool()});
  origins.AddSource(0, source, *source->List());
  const auto places = *origins.PlacesOf(turned.IdsIn(1));
  ASSERT_EQ(places.size(), 3);
  EXPECT_EQ(places[0][0].row, 3);
  EXPECT_EQ(places[2][0].row, 5);
}

}  // namespace
}  // namespace millrace::exec
