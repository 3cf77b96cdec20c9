#include "millrace/core/shape.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using core::Column;
using core::DType;
using core::kUnknownSize;
using core::Shape;
using core::Tensor;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;

Tensor Zeros(const Shape& shape) {
  return Tensor::FromValues<int8_t>(std::vector<int8_t>(shape.Count()), shape);
}

ValueType Of(const Shape& shape, DType dtype = DType::kInt8) {
  return {.dtype = dtype, .shape = shape};
}

ir::Arguments To(const std::vector<int64_t>& sizes) {
  ir::List list;
  for (const int64_t size : sizes) list.emplace_back(size);
  return {{"shape", list}};
}

// --- shape ---

TEST(ShapeTest, GivesTheSizesOfEveryRow) {
  for (const Column& column : Layouts({Zeros({2, 3}), Zeros({2, 3})})) {
    EXPECT_EQ(Shown(CallKernel("shape", {Rows(column)})),
              "int64[2] [2, 3]; int64[2] [2, 3]");
  }
  for (const Column& column : Layouts({Zeros({2, 3}), Zeros({0, 3})})) {
    EXPECT_EQ(Shown(CallKernel("shape", {Rows(column)})),
              "int64[2] [2, 3]; int64[2] [0, 3]");
  }
  for (const Column& column : Layouts({Zeros({}), Zeros({4})})) {
    EXPECT_EQ(Shown(CallKernel("shape", {Rows(column)})), "int64[0] []; int64[1] [4]");
  }
}

TEST(ShapeTest, GivesTheSizesOfTexts) {
  const std::vector<std::string> words = {"a", "b"};
  for (const Column& column :
       Layouts({Tensor::FromTexts(words, {2}), Tensor::FromTexts(words, {2, 1})})) {
    EXPECT_EQ(Shown(CallKernel("shape", {Rows(column)})),
              "int64[1] [2]; int64[2] [2, 1]");
  }
}

TEST(ShapeTest, InfersHowManySizesThereAre) {
  EXPECT_THAT(InferKernel("shape", {Of({kUnknownSize, 3})}),
              IsOkAndHolds(Of({2}, DType::kInt64)));
  EXPECT_THAT(InferKernel("shape", {Of({})}), IsOkAndHolds(Of({0}, DType::kInt64)));
  EXPECT_THAT(InferKernel("shape", {Of(Shape::Unranked())}),
              IsOkAndHolds(Of({kUnknownSize}, DType::kInt64)));
}

TEST(ShapeTest, BlamesRowsThatAreNotRectangular) {
  const Column batch =
      core::FromRows(DType::kInt8, {Zeros({1}), Zeros({2})}, core::HeapPool())
          ->Stack(2);
  EXPECT_THAT(CallKernel("shape", {Rows(batch)}),
              StatusIs(kDataLoss, HasSubstr("row 0: row is not rectangular")));
}

// --- length ---

TEST(ShapeTest, GivesTheLengthOfEveryRow) {
  for (const Column& column : Layouts({Zeros({2, 3}), Zeros({0, 3}), Zeros({5, 3})})) {
    EXPECT_EQ(Shown(CallKernel("length", {Rows(column)})), "int64 2; int64 0; int64 5");
  }
  for (const Column& column : Layouts({Zeros({2, 3}), Zeros({4})})) {
    EXPECT_EQ(Shown(CallKernel("length", {Rows(column)})), "int64 2; int64 4");
  }
  for (const Column& column : Layouts({Zeros({7}), Zeros({7})})) {
    EXPECT_EQ(Shown(CallKernel("length", {Rows(column)})), "int64 7; int64 7");
  }
}

TEST(ShapeTest, GivesTheLengthOfRowsThatAreNotRectangular) {
  const core::Tensors rows = {Zeros({1}), Zeros({2}), Zeros({3}), Zeros({4})};
  for (const Column& column : Layouts(rows)) {
    EXPECT_EQ(Shown(CallKernel("length", {Rows(column.Stack(2))})), "int64 2; int64 2");
  }
}

TEST(ShapeTest, CountsTextsNotTheirBytes) {
  const std::vector<std::string> words = {"abc", "defg"};
  for (const Column& column :
       Layouts({Tensor::FromTexts(words, {2}), Tensor::FromTexts({}, {0})})) {
    EXPECT_EQ(Shown(CallKernel("length", {Rows(column)})), "int64 2; int64 0");
  }
  EXPECT_THAT(InferKernel("length", {Of({}, DType::kString)}),
              StatusIs(kInvalid, HasSubstr("byte_length counts the bytes")));
}

TEST(ShapeTest, RefusesTheLengthOfScalars) {
  EXPECT_THAT(InferKernel("length", {Of({})}),
              StatusIs(kInvalid, HasSubstr("needs at least one axis, not int8")));
  for (const Column& column : Layouts({Zeros({2}), Zeros({})})) {
    EXPECT_THAT(CallKernel("length", {Rows(column)}),
                StatusIs(kDataLoss, HasSubstr("row 1: needs at least one axis")));
  }
}

// --- reshape ---

TEST(ShapeTest, GivesDenseRowsAnotherShapeWithoutACopy) {
  const Column column = *core::FromRows(
      DType::kInt16, {Tensor1<int16_t>({1, 2, 3, 4}), Tensor1<int16_t>({5, 6, 7, 8})},
      core::HeapPool());
  const Column reshaped = *CallKernel("reshape", {Rows(column)}, To({2, -1}));
  EXPECT_EQ(Shown(reshaped), "int16[2, 2] [1, 2, 3, 4]; int16[2, 2] [5, 6, 7, 8]");
  EXPECT_EQ(reshaped.values().data(), column.values().data());
}

TEST(ShapeTest, ReshapesEveryLayout) {
  for (const Column& column :
       Layouts({Tensor1<int8_t>({1, 2, 3, 4}), Tensor1<int8_t>({5, 6})})) {
    EXPECT_EQ(Shown(CallKernel("reshape", {Rows(column)}, To({-1, 2}))),
              "int8[2, 2] [1, 2, 3, 4]; int8[1, 2] [5, 6]");
  }
  const std::vector<std::string> words = {"a", "b"};
  for (const Column& column :
       Layouts({Tensor::FromTexts(words, {2}), Tensor::FromTexts(words, {1, 2})})) {
    EXPECT_EQ(Shown(CallKernel("reshape", {Rows(column)}, To({2, 1}))),
              "string[2, 1] [\"a\", \"b\"]; string[2, 1] [\"a\", \"b\"]");
  }
}

TEST(ShapeTest, ReshapesSlicedTexts) {
  const std::vector<std::string> first = {"a", "b"};
  const std::vector<std::string> second = {"c", "d"};
  const Column column = *core::FromRows(
      DType::kString, {Tensor::FromTexts(first, {2}), Tensor::FromTexts(second, {2})},
      core::HeapPool());
  EXPECT_EQ(Shown(CallKernel("reshape", {Rows(column.Slice(1, 1))}, To({1, 2}))),
            "string[1, 2] [\"c\", \"d\"]");
}

TEST(ShapeTest, ReshapesTextsWithGaps) {
  const Column column = WithGaps({Tensor::Text("a"), Tensor::Text("bc")});
  EXPECT_EQ(Shown(CallKernel("reshape", {Rows(column)}, To({1}))),
            "string[1] [\"a\"]; string[1] [\"bc\"]");
}

TEST(ShapeTest, ReshapesToAndFromScalars) {
  EXPECT_EQ(
      Shown(CallKernel("reshape", {Rows(ScalarRows<int8_t>({7, 8}))}, To({1, 1}))),
      "int8[1, 1] [7]; int8[1, 1] [8]");
  EXPECT_EQ(Shown(CallKernel("reshape", {Constant(Tensor1<int8_t>({7}))}, To({}))),
            "int8 7");
}

TEST(ShapeTest, InfersTheOpenSize) {
  const auto infer = [](const Shape& from, const std::vector<int64_t>& to) {
    return InferKernel("reshape", {Of(from)}, To(to));
  };
  EXPECT_THAT(infer({4, 6}, {-1, 8}), IsOkAndHolds(Of({3, 8})));
  EXPECT_THAT(infer({0, 6}, {-1, 8}), IsOkAndHolds(Of({0, 8})));
  EXPECT_THAT(infer({kUnknownSize, 6}, {-1, 8}), IsOkAndHolds(Of({kUnknownSize, 8})));
  EXPECT_THAT(infer(Shape::Unranked(), {2, 3}), IsOkAndHolds(Of({2, 3})));
}

TEST(ShapeTest, RefusesShapesThatDoNotFit) {
  const auto infer = [](const Shape& from, const std::vector<int64_t>& to) {
    return InferKernel("reshape", {Of(from)}, To(to));
  };
  EXPECT_THAT(infer({4}, {3}),
              StatusIs(kInvalid, "a value of shape [4] cannot have shape [3]"));
  EXPECT_THAT(infer({4}, {-1, 3}), StatusIs(kInvalid, HasSubstr("[?, 3]")));
  EXPECT_THAT(infer({0}, {-1, 0}), StatusIs(kInvalid, HasSubstr("cannot have shape")));
  EXPECT_THAT(infer({4}, {-1, -1}),
              StatusIs(kInvalid, HasSubstr("more than one size")));
  EXPECT_THAT(infer({4}, {-2}), StatusIs(kInvalid, HasSubstr("at least -1")));
  EXPECT_THAT(infer({4}, {int64_t{1} << 40, int64_t{1} << 40}),
              StatusIs(kInvalid, HasSubstr("too large")));
}

TEST(ShapeTest, NamesTheRowThatDoesNotFit) {
  for (const Column& column : Layouts({Zeros({4}), Zeros({3})})) {
    EXPECT_THAT(
        CallKernel("reshape", {Rows(column)}, To({2, 2})),
        StatusIs(kDataLoss, "row 1: a value of shape [3] cannot have shape [2, 2]"));
  }
  Input dense = Rows(*core::FromRows(DType::kInt8, {Zeros({3})}, core::HeapPool()));
  dense.type.shape = Shape::Unranked();
  EXPECT_THAT(CallKernel("reshape", {dense}, To({2})),
              StatusIs(kDataLoss, HasSubstr("row 0: a value of shape [3]")));
}

}  // namespace
}  // namespace millrace::kernels
