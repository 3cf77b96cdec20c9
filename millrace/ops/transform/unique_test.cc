#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(UniqueTest, GivesEachRowWhereItComesFirst) {
  SingleOperator unique("unique(%0)");
  ASSERT_THAT(unique.Push(NumberBlock({4, 1, 4, 2})), IsOk());
  ASSERT_THAT(unique.Push(NumberBlock({1, 1, 4})), IsOk());
  ASSERT_THAT(unique.Push(NumberBlock({3, 2})), IsOk());
  EXPECT_THAT(unique.Values(), ElementsAre(4, 1, 2, 3));
}

TEST(UniqueTest, RowsThatGoOnKeepTheirIdentities) {
  SingleOperator unique("unique(%0)");
  ASSERT_THAT(unique.Push(NumberBlock({4, 4, 5})), IsOk());
  EXPECT_TRUE(core::SameRows(unique.out().blocks[0], NumberBlock({4, 5})));
}

// Lists are told apart by their length too, and zeros from nothing.
TEST(UniqueTest, ListsAndTextsAreComparedByWhatIsInThem) {
  const ir::Pipeline lists = *BehindLists("unique(%0)");
  const auto runs = DefaultLibrary().Make(lists, SingleOperator::TestLane());
  Collector out;
  ASSERT_THAT(runs->Push(ListBlock({{0}, {}, {0, 0}, {0}, {}, {0, 1}}), out), IsOk());
  EXPECT_EQ(ShownRows(out.blocks),
            "int64[1] [0]; int64[0] []; int64[2] [0, 0]; int64[2] [0, 1]");
}

TEST(UniqueTest, SomeFieldsCanBeCompared) {
  const auto numbers = [](std::vector<int64_t> values) {
    return NumberBlock(values).columns()[0];
  };
  const core::Block both(3, core::FieldNames{"value", "other"},
                         {numbers({1, 2, 1}), numbers({7, 8, 9})});
  SingleOperator unique("unique(%0, fields=[\"value\"])");
  ASSERT_THAT(unique.Push(both), IsOk());
  EXPECT_THAT(unique.Values("other"), ElementsAre(7, 8));
  EXPECT_THAT(ErrorOf("unique(%0, fields=[\"x\"])"),
              HasSubstr("there is no field x; the fields are value"));
}

}  // namespace
}  // namespace millrace::ops
