#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/transform/rows_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;

TEST(RaggedBatchTest, RowsKeepTheirLengths) {
  const ir::Pipeline node = *BehindLists("ragged_batch(%0, size=2)");
  EXPECT_EQ(node.spec().ToString(), "{x: int64[?, ?]}");
  const auto runs = DefaultLibrary().Make(node, SingleOperator::TestLane());
  Collector out;
  const core::Block lists = ListBlock({{1, 2}, {}, {3}, {4, 5}, {6}});
  ASSERT_THAT(runs->Push(lists, out), IsOk());
  EXPECT_EQ(ShownRows(out.blocks),
            "(int64[2] [1, 2], int64[0] []); (int64[1] [3], int64[2] [4, 5])");
  EXPECT_TRUE(core::SameRows(*out.blocks[1].Unstack(), lists.Slice(2, 2)));
  ASSERT_THAT(runs->Finish(out), IsOk());
  EXPECT_EQ(ShownRows({out.tail}), "int64[1] [6]");
  ASSERT_THAT(runs->FinishPass(out.tail, out), IsOk());
  EXPECT_EQ(out.blocks.back().Find("x")->LeadingSize(0), 1);
}

TEST(RaggedBatchTest, ARemainderCanBeDropped) {
  SingleOperator batch("ragged_batch(%0, size=4, drop_remainder=true)");
  EXPECT_EQ(batch.node().spec().ToString(), "{value: int64[4]}");
  EXPECT_EQ(batch.node().cardinality().rows(), 250);
  ASSERT_THAT((*batch).FinishPass(Numbers(0, 3), batch.out()), IsOk());
  EXPECT_TRUE(batch.out().blocks.empty());
}

}  // namespace
}  // namespace millrace::ops
