#include "millrace/kernels/values.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::HeapPool;
using core::Level;
using core::Tensor;
using core::Tensors;

// Three ragged rows of int32: [10], [], [20, 30].
Column Ragged() {
  return *core::FromRows(
      DType::kInt32,
      {Tensor1<int32_t>({10}), Tensor1<int32_t>({}), Tensor1<int32_t>({20, 30})},
      HeapPool());
}

// Two rows of words: ["a", "bcd"], ["e"].
Column Words() {
  const std::vector<std::string> first = {"a", "bcd"};
  const std::vector<std::string> second = {"e"};
  return *core::FromRows(
      DType::kString, {Tensor::FromTexts(first, {2}), Tensor::FromTexts(second, {1})},
      HeapPool());
}

// Two rows of two lists each: [[10], []], [[20, 30], [40]]; neither is rectangular.
Column NestedRagged() {
  const Column lists =
      *core::FromRows(DType::kInt32,
                      {Tensor1<int32_t>({10}), Tensor1<int32_t>({}),
                       Tensor1<int32_t>({20, 30}), Tensor1<int32_t>({40})},
                      HeapPool());
  return lists.Stack(2);
}

TEST(ValuesTest, FindsTheNumbersOfATensor) {
  const Tensor tensor = Tensor1<int16_t>({5, 6, 7});
  const Values values = ValuesOf(tensor);
  EXPECT_EQ(values.value_bytes, 2);
  EXPECT_EQ(values.As<int16_t>()[2], 7);
  EXPECT_EQ(values.From(1).As<int16_t>()[0], 6);
  EXPECT_EQ(values.From(2).From(-2).As<int16_t>()[0], 5);
}

TEST(ValuesTest, FindsTheTextsOfATensor) {
  const std::vector<std::string> texts = {"one", "", "three"};
  const Tensor tensor = Tensor::FromTexts(texts, {3});
  const Values values = ValuesOf(tensor);
  EXPECT_EQ(values.TextAt(0), "one");
  EXPECT_EQ(values.TextAt(1), "");
  EXPECT_EQ(values.From(2).TextAt(0), "three");
}

TEST(ValuesTest, StepsOverTexts) {
  const std::vector<std::string> texts = {"a", "b", "c", "d", "e"};
  const Tensor tensor = Tensor::FromTexts(texts, {5});
  Values values = ValuesOf(tensor);
  values.step = 2;
  EXPECT_EQ(values.TextAt(2), "e");
  values.step = 0;
  EXPECT_EQ(values.From(3).TextAt(100), "d");
}

TEST(ValuesTest, FindsTheValuesOfASlicedColumn) {
  EXPECT_EQ(ValuesOf(Ragged().Slice(2, 1)).As<int32_t>()[1], 30);
  EXPECT_EQ(ValuesOf(Words().Slice(1, 1)).TextAt(0), "e");
  const Column dense = ScalarRows<double>({1, 2, 3});
  EXPECT_EQ(ValuesOf(dense.Slice(1, 2)).As<double>()[0], 2);
  EXPECT_EQ(ValuesOf(NestedRagged().Slice(1, 1)).As<int32_t>()[0], 20);
}

TEST(ValuesTest, FindsTextsWithGapsBetweenThem) {
  const Column column = WithGaps(
      {Tensor::Text("a"), Tensor::Text("bc"), Tensor::Text(""), Tensor::Text("d")});
  Values values = ValuesOf(column.Slice(1, 3));
  EXPECT_EQ(values.TextAt(0), "bc");
  EXPECT_EQ(values.TextAt(2), "d");
  EXPECT_EQ(values.From(2).TextAt(0), "d");
  values.step = 0;
  EXPECT_EQ(values.From(1).From(-1).TextAt(2), "bc");
}

TEST(ValuesTest, CountsValuesNotBytes) {
  EXPECT_EQ(CountValues(Ragged()), 3);
  EXPECT_EQ(CountValues(Ragged().Slice(0, 2)), 1);
  EXPECT_EQ(CountValues(Words()), 3);
  EXPECT_EQ(CountValues(NestedRagged()), 4);
  EXPECT_EQ(CountValues(ScalarRows<int8_t>({1, 2})), 2);
  EXPECT_EQ(CountValues(Ragged().Slice(1, 1)), 0);
}

TEST(ValuesTest, ComparesShapesRowByRow) {
  const Column same = *core::FromRows(
      DType::kFloat32,
      {Tensor1<float>({1}), Tensor1<float>({}), Tensor1<float>({2, 3})}, HeapPool());
  EXPECT_TRUE(SameShapes(Ragged(), same));
  EXPECT_TRUE(SameShapes(Ragged().Slice(1, 2), same.Slice(1, 2)));
  EXPECT_FALSE(SameShapes(Ragged().Slice(0, 2), same.Slice(1, 2)));
  EXPECT_FALSE(SameShapes(Ragged(), same.Slice(0, 2)));
  EXPECT_FALSE(SameShapes(Ragged(), ScalarRows<int32_t>({1, 2, 3})));
  EXPECT_TRUE(SameShapes(NestedRagged(), NestedRagged()));
  EXPECT_FALSE(SameShapes(NestedRagged().Slice(0, 1), NestedRagged().Slice(1, 1)));
}

TEST(ValuesTest, ComparesFixedWithVariableLevels) {
  const Column variable = *core::FromRows(
      DType::kInt8,
      {Tensor1<int8_t>({1, 2}), Tensor1<int8_t>({3, 4}), Tensor1<int8_t>({})},
      HeapPool());
  const Column fixed = *core::FromRows(
      DType::kInt8, {Tensor1<int8_t>({5, 6}), Tensor1<int8_t>({7, 8})}, HeapPool());
  ASSERT_TRUE(fixed.IsDense());
  ASSERT_FALSE(variable.IsDense());
  EXPECT_TRUE(SameShapes(fixed, variable.Slice(0, 2)));
  EXPECT_FALSE(SameShapes(fixed, variable.Slice(1, 2)));
}

TEST(ValuesTest, MovesLevelsToStartAtZero) {
  const core::Levels levels = *ShapeLevels(Ragged().Slice(1, 2), HeapPool());
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_THAT(levels[0].offsets.As<int64_t>(), testing::ElementsAre(0, 0, 2));
  const core::Levels nested = *ShapeLevels(NestedRagged().Slice(1, 1), HeapPool());
  ASSERT_EQ(nested.size(), 2U);
  EXPECT_EQ(nested[0].size, 2);
  EXPECT_THAT(nested[1].offsets.As<int64_t>(), testing::ElementsAre(0, 2, 3));
}

TEST(ValuesTest, LeavesOutTheLevelOfTheTextsThemselves) {
  EXPECT_EQ(ShapeLevels(Words(), HeapPool())->size(), 1U);
  EXPECT_EQ(ShapeLevels(TextRows({"a", "b"}), HeapPool())->size(), 0U);
}

TEST(ValuesTest, FindsTheRowOfAValue) {
  EXPECT_EQ(RowOfValue(Ragged(), 0), 0);
  EXPECT_EQ(RowOfValue(Ragged(), 1), 2);  // Row 1 has no values.
  EXPECT_EQ(RowOfValue(Ragged(), 2), 2);
  EXPECT_EQ(RowOfValue(Ragged().Slice(2, 1), 1), 0);
  EXPECT_EQ(RowOfValue(NestedRagged(), 3), 1);
  EXPECT_DEATH(RowOfValue(Ragged(), 3), "row < column.rows");
}

TEST(ValuesTest, GivesTensorsAnotherShape) {
  const Tensor numbers = Reshaped(Tensor1<int8_t>({1, 2, 3, 4}), {2, 2});
  EXPECT_EQ(numbers.ToString(), "int8[2, 2] [1, 2, 3, 4]");
  const std::vector<std::string> texts = {"a", "b"};
  EXPECT_EQ(Reshaped(Tensor::FromTexts(texts, {2}), {2, 1}).ToString(),
            "string[2, 1] [\"a\", \"b\"]");
  EXPECT_DEATH(Reshaped(Tensor1<int8_t>({1, 2}), {3}), "count");
}

TEST(ValuesTest, RefusesTensorsPerRow) {
  const Column tensors = Column::OfTensors(DType::kInt8, {Tensor1<int8_t>({1})});
  EXPECT_DEATH(ValuesOf(tensors), "HoldsTensors");
}

}  // namespace
}  // namespace millrace::kernels
