#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/single_operator_test.h"
#include "millrace/ops/source/packed_rows.h"

namespace millrace::ops {
namespace {

using base::StatusIs;
using core::DType;
using core::Shape;
using core::Tensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

template <typename T>
Tensor Of(const std::vector<T>& values, const Shape& shape) {
  return Tensor::FromValues<T>(absl::MakeConstSpan(values), shape);
}

// padded_batch behind rows of the field x, and those rows.
class Padding {
 public:
  Padding(const std::vector<Tensor>& rows, ir::Arguments arguments) {
    std::vector<GivenRow> given;
    for (const Tensor& row : rows) given.push_back({{"x", row}});
    const PackedRows packed = *PackRows(given);
    const ir::Catalog& catalog = DefaultLibrary().catalog();
    const ir::Pipeline source =
        *ir::Pipeline::Make(catalog, "from_rows",
                            {{"names", ir::List{"x"}},
                             {"values", ir::List{packed.values[0]}},
                             {"shapes", ir::List{packed.shapes[0]}}},
                            {});
    arguments.Set("size", std::ssize(rows));
    node_ = ir::Pipeline::Make(catalog, "padded_batch", arguments, {source});
    block_ = core::Block(std::ssize(rows), core::FieldNames{"x"},
                         {*core::FromRows(rows[0].dtype(), rows, core::HeapPool())});
  }

  // Why there is no such node; or the batch, or why there is none.
  absl::StatusOr<Tensor> Run() const {
    if (!node_.ok()) return node_.status();
    const auto runs = DefaultLibrary().Make(*node_, SingleOperator::TestLane());
    Collector out;
    const absl::Status status = runs->Push(block_, out);
    if (!status.ok()) return status;
    CHECK_EQ(out.blocks.size(), 1U);
    return out.blocks[0].columns()[0].Row(0);
  }

 private:
  absl::StatusOr<ir::Pipeline> node_ = absl::UnknownError("not made");
  core::Block block_;
};

absl::StatusOr<Tensor> Padded(const std::vector<Tensor>& rows,
                              const ir::Arguments& arguments = {}) {
  return Padding(rows, arguments).Run();
}

TEST(PaddedBatchTest, PadsRowsToTheLongest) {
  EXPECT_EQ(*Padded({Of<int64_t>({1, 2, 3}, {3}), Of<int64_t>({}, {0}),
                     Of<int64_t>({4}, {1})}),
            Of<int64_t>({1, 2, 3, 0, 0, 0, 4, 0, 0}, {3, 3}));
}

TEST(PaddedBatchTest, PadsEveryAxisThatDiffers) {
  EXPECT_EQ(*Padded({Of<int32_t>({1, 2, 3, 4}, {2, 2}), Of<int32_t>({5, 6, 7}, {1, 3})},
                    {{"pad_value", -1.0}}),
            Of<int32_t>({1, 2, -1, 3, 4, -1, 5, 6, 7, -1, -1, -1}, {2, 2, 3}));
}

TEST(PaddedBatchTest, PadsInnerAxes) {
  EXPECT_EQ(
      *Padded(
          {Of<uint8_t>({1, 2, 3, 4}, {2, 1, 2}), Of<uint8_t>({5, 6, 7, 8}, {1, 2, 2})}),
      Of<uint8_t>({1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0, 0, 0}, {2, 2, 2, 2}));
}

TEST(PaddedBatchTest, RoundsSizesThatAreNotKnownUpToAMultiple) {
  const ir::Arguments by_four = {{"to_multiple_of", 4}};
  EXPECT_EQ(
      Padded({Of<int64_t>({1, 2, 3}, {3}), Of<int64_t>({4}, {1})}, by_four)->shape(),
      Shape({2, 4}));
  // The second axis is 3 in every row: the spec says so, and it stays.
  EXPECT_EQ(
      Padded({Of<int64_t>({1, 2, 3}, {1, 3}), Of<int64_t>({1, 2, 3, 4, 5, 6}, {2, 3})},
             by_four)
          ->shape(),
      Shape({2, 4, 3}));
  EXPECT_EQ(Padded({Of<int64_t>({1, 2, 3}, {3}), Of<int64_t>({4, 5, 6}, {3})}, by_four)
                ->shape(),
            Shape({2, 3}));
}

TEST(PaddedBatchTest, PadsWithWhatTheTypeCanHold) {
  const std::vector<Tensor> flags = {Tensor::FromValues<bool>({true, true}, {2}),
                                     Tensor::FromValues<bool>({false}, {1})};
  EXPECT_EQ(Padded(flags, {{"pad_value", 1.0}})->As<bool>()[3], true);
  EXPECT_THAT(Padded(flags, {{"pad_value", 2.0}}),
              StatusIs(kInvalid, HasSubstr("argument pad_value is 2, which field x of "
                                           "bool cannot hold")));
  const std::vector<Tensor> bytes = {Of<uint8_t>({1, 2}, {2}), Of<uint8_t>({3}, {1})};
  EXPECT_EQ(Padded(bytes, {{"pad_value", 255.0}})->As<uint8_t>()[3], 255);
  for (const double wrong : {-1.0, 256.0, 0.5, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(Padded(bytes, {{"pad_value", wrong}}), StatusIs(kInvalid)) << wrong;
  }
}

TEST(PaddedBatchTest, PadsTheWidestIntegersExactly) {
  const std::vector<Tensor> rows = {Of<int64_t>({1, 2}, {2}), Of<int64_t>({3}, {1})};
  const double least = -9223372036854775808.0;
  EXPECT_EQ(Padded(rows, {{"pad_value", least}})->As<int64_t>()[3],
            std::numeric_limits<int64_t>::min());
  EXPECT_THAT(Padded(rows, {{"pad_value", -least}}), StatusIs(kInvalid));
}

TEST(PaddedBatchTest, PadsFloatsOfEveryWidth) {
  const ir::Arguments half = {{"pad_value", 0.5}};
  EXPECT_EQ(
      Padded({Of<double>({1, 2}, {2}), Of<double>({3}, {1})}, half)->As<double>()[3],
      0.5);
  EXPECT_EQ(Padded({Of<float>({1, 2}, {2}), Of<float>({3}, {1})}, half)->As<float>()[3],
            0.5F);
  const core::Float16 one(1);
  EXPECT_EQ(
      Padded({Of<core::Float16>({one, one}, {2}), Of<core::Float16>({one}, {1})}, half)
          ->As<core::Float16>()[3],
      core::Float16(0.5F));
}

TEST(PaddedBatchTest, TextsAreStackedAsTheyAre) {
  const absl::StatusOr<Tensor> batch = Padded({Tensor::Text("a"), Tensor::Text("bcd")});
  ASSERT_THAT(batch, base::IsOk());
  EXPECT_EQ(batch->TextAt(1), "bcd");
  EXPECT_THAT(
      Padded({Tensor::FromTexts({"a"}, {1}), Tensor::FromTexts({"b", "c"}, {2})}),
      StatusIs(kInvalid, HasSubstr("field x")));
}

// A spec of rows whose number of axes is not known: only the data tells.
TEST(PaddedBatchTest, RowsThatDifferInTheirNumberOfAxesAreAnError) {
  SingleOperator batch("padded_batch(%0, size=2)");
  core::Tensors rows = {Of<int64_t>({1, 2}, {2}), Of<int64_t>({3}, {1, 1})};
  const core::Block block(2, core::FieldNames{"value"},
                          {core::Column::OfTensors(DType::kInt64, std::move(rows))});
  EXPECT_THAT(batch.Push(block),
              StatusIs(kInvalid, HasSubstr("field value: padding needs rows with "
                                           "the same number of axes, not [2] and "
                                           "[1, 1]")));
}

TEST(PaddedBatchTest, WhatIsRaggedWithinARowIsAnError) {
  const std::vector<Tensor> rows = {Of<int64_t>({1, 2}, {2}), Of<int64_t>({3}, {1})};
  const core::Column ragged = *core::FromRows(DType::kInt64, rows, core::HeapPool());
  const core::Block block(1, core::FieldNames{"value"}, {ragged.Stack(2)});
  SingleOperator batch("padded_batch(%0, size=1)");
  EXPECT_THAT(batch.Push(block),
              StatusIs(kInvalid, HasSubstr("does not pad what is ragged within one")));
}

TEST(PaddedBatchTest, HasTailsLikeAnyBatch) {
  SingleOperator batch("padded_batch(%0, size=4)");
  ASSERT_THAT(batch.Push(Numbers(0, 6)), base::IsOk());
  ASSERT_THAT(batch.Finish(), base::IsOk());
  EXPECT_THAT(batch.Values(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(batch.out().tail.rows(), 2);
  EXPECT_TRUE(core::SameRows(*batch.out().blocks[0].Unstack(), Numbers(0, 4)));
  SingleOperator drops("padded_batch(%0, size=4, drop_remainder=true)");
  ASSERT_THAT((*drops).FinishPass(Numbers(0, 2), drops.out()), base::IsOk());
  EXPECT_TRUE(drops.out().blocks.empty());
  EXPECT_EQ(drops.node().spec().ToString(), "{value: int64[4]}");
  EXPECT_EQ(drops.node().cardinality(), ir::Cardinality::Known(250));
}

}  // namespace
}  // namespace millrace::ops
