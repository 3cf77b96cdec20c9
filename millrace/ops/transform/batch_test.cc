#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(BatchTest, MakesOneRowWithALeadingAxis) {
  SingleOperator batch("batch(%0, size=3)");
  ASSERT_THAT(batch.Push(Numbers(0, 3)), base::IsOk());
  ASSERT_EQ(batch.out().blocks.size(), 1U);
  EXPECT_EQ(batch.out().blocks[0].rows(), 1);
  EXPECT_EQ(*batch.out().blocks[0].Find("value")->row_shape(), core::Shape({3}));
}

TEST(BatchTest, JoinsBlocksAndCutsThem) {
  SingleOperator batch("batch(%0, size=4)");
  for (const auto& [begin, end] : {std::pair{0, 1}, {1, 3}, {3, 12}, {12, 13}}) {
    ASSERT_THAT(batch.Push(Numbers(begin, end)), base::IsOk());
  }
  EXPECT_EQ(batch.out().blocks.size(), 3U);
  EXPECT_THAT(batch.Values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
}

TEST(BatchTest, SharesMemoryWhenABatchIsPartOfOneBlock) {
  SingleOperator batch("batch(%0, size=4)");
  const core::Block rows = Numbers(0, 8);
  ASSERT_THAT(batch.Push(rows), base::IsOk());
  EXPECT_EQ(batch.out().blocks[0].Find("value")->values().data(),
            rows.Find("value")->values().data());
}

TEST(BatchTest, TheLeftoverOfALaneIsItsTail) {
  SingleOperator batch("batch(%0, size=4)");
  ASSERT_THAT(batch.Push(Numbers(0, 6)), base::IsOk());
  ASSERT_THAT(batch.Finish(), base::IsOk());
  EXPECT_EQ(batch.out().blocks.size(), 1U);
  EXPECT_EQ(batch.out().tail.rows(), 2);
  EXPECT_THAT(batch.out().tail_keys, ElementsAre(0));
}

TEST(BatchTest, ALaneThatFillsItsBatchesHasNoTail) {
  SingleOperator batch("batch(%0, size=4)");
  ASSERT_THAT(batch.Push(Numbers(0, 8)), base::IsOk());
  ASSERT_THAT(batch.Finish(), base::IsOk());
  EXPECT_THAT(batch.out().tail_keys, IsEmpty());
}

TEST(BatchTest, TheLastTailBecomesAShortBatchOrIsDropped) {
  SingleOperator keeps("batch(%0, size=4)");
  ASSERT_THAT((*keeps).FinishPass(Numbers(0, 2), keeps.out()), base::IsOk());
  EXPECT_EQ(*keeps.out().blocks[0].Find("value")->row_shape(), core::Shape({2}));

  SingleOperator drops("batch(%0, size=4, drop_remainder=true)");
  ASSERT_THAT((*drops).FinishPass(Numbers(0, 2), drops.out()), base::IsOk());
  EXPECT_THAT(drops.out().blocks, IsEmpty());
}

TEST(BatchTest, IdentitiesComeBackWhenABatchIsTakenApart) {
  SingleOperator batch("batch(%0, size=4)");
  const core::Block rows = Numbers(0, 4);
  ASSERT_THAT(batch.Push(rows), base::IsOk());
  EXPECT_TRUE(core::SameRows(*batch.out().blocks[0].Unstack(), rows));
}

TEST(BatchTest, TwoBatchesHaveDifferentIdentities) {
  SingleOperator batch("batch(%0, size=2)");
  ASSERT_THAT(batch.Push(Numbers(0, 4)), base::IsOk());
  EXPECT_NE(batch.out().blocks[0].IdAt(0), batch.out().blocks[1].IdAt(0));
}

TEST(BatchTest, RowsOfDifferentShapesAreAnErrorWithTheRemedy) {
  SingleOperator batch("batch(%0, size=2)");
  const std::vector<int64_t> numbers = {1, 2, 3, 4, 5};
  core::Tensors tensors = {
      core::Tensor::FromValues<int64_t>(absl::MakeConstSpan(numbers), {5}),
      core::Tensor::FromValues<int64_t>(absl::MakeConstSpan(numbers).first(2), {2})};
  const core::Block block(
      2, core::FieldNames{"value"},
      {core::Column::OfTensors(core::DType::kInt64, std::move(tensors))});
  const absl::Status status = batch.Push(block);
  EXPECT_THAT(status.message(), HasSubstr("field value"));
  EXPECT_THAT(status.message(), HasSubstr("[5]"));
  EXPECT_THAT(status.message(), HasSubstr("padded_batch"));
}

TEST(BatchTest, ItsSpecHasTheSizeOnlyWhenNoBatchCanBeShort) {
  EXPECT_EQ(SingleOperator("batch(%0, size=4)").node().spec().ToString(),
            "{value: int64[?]}");
  EXPECT_EQ(
      SingleOperator("batch(%0, size=4, drop_remainder=true)").node().spec().ToString(),
      "{value: int64[4]}");
}

TEST(BatchTest, CountsBatches) {
  const auto count = [](const std::string& text) {
    return SingleOperator(text).node().cardinality();
  };
  EXPECT_EQ(count("batch(%0, size=300)"), ir::Cardinality::Known(4));
  EXPECT_EQ(count("batch(%0, size=300, drop_remainder=true)"),
            ir::Cardinality::Known(3));
  EXPECT_EQ(count("batch(%0, size=250)"), ir::Cardinality::Known(4));
}

TEST(BatchTest, RefusesSizesThatMakeNoSense) {
  EXPECT_THAT(ErrorOf("batch(%0, size=0)"), HasSubstr("must be at least 1"));
  EXPECT_THAT(ErrorOf("batch(%0)"), HasSubstr("argument size is missing"));
  EXPECT_THAT(ErrorOf("batch(%0, size=true)"), HasSubstr("must be an integer"));
}

TEST(BatchTest, ValuesBeginWhereFrameworksWantThem) {
  SingleOperator batch("batch(%0, size=3)");  // 24 bytes each.
  ASSERT_THAT(batch.Push(Numbers(0, 300)), base::IsOk());
  ASSERT_EQ(batch.out().blocks.size(), 100U);
  for (const core::Block& block : batch.out().blocks) {
    const auto* const values = block.columns()[0].values().data();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(values) % core::kAlignment, 0U);
  }
}

TEST(BatchTest, RowsThatLieSideBySideAreNotCopied) {
  SingleOperator batch("batch(%0, size=64)");
  const core::Block rows = Numbers(0, 64);
  for (int64_t at = 0; at < 64; at += 8) {
    ASSERT_THAT(batch.Push(rows.Slice(at, 8)), base::IsOk());
  }
  EXPECT_EQ(batch.out().blocks[0].columns()[0].values().data(),
            rows.columns()[0].values().data());
}

}  // namespace
}  // namespace millrace::ops
