#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

const Tensor kGrid = Tensor::FromValues<int32_t>({1, 2, 3, 4, 5, 6}, {2, 3});

TEST(AxesTest, Transposes) {
  for (const Column& column : Layouts({kGrid, kGrid})) {
    EXPECT_EQ(Shown(CallKernel("transpose", {Rows(column)})),
              "int32[3, 2] [1, 4, 2, 5, 3, 6]; int32[3, 2] [1, 4, 2, 5, 3, 6]");
    EXPECT_EQ(Shown(CallKernel("transpose", {Rows(column.Slice(0, 1))},
                               {{"axes", ir::List{0, -1}}})),
              "int32[2, 3] [1, 2, 3, 4, 5, 6]");
  }
  const Tensor texts = Tensor::FromTexts({"a", "b", "c", "d"}, {2, 2});
  EXPECT_EQ(Shown(CallKernel("transpose",
                             {Rows(Column::OfTensors(DType::kString, {texts}))})),
            "string[2, 2] [\"a\", \"c\", \"b\", \"d\"]");
}

TEST(AxesTest, TransposesRowsOfDifferentShapes) {
  const Column rows = Column::OfTensors(
      DType::kInt64,
      {Tensor::FromValues<int64_t>({1, 2}, {1, 2}), Tensor1<int64_t>({3}),
       Tensor::Scalar<int64_t>(4), Tensor::FromValues<int64_t>({}, {0, 2})});
  EXPECT_EQ(Shown(CallKernel("transpose", {Rows(rows)})),
            "int64[2, 1] [1, 2]; int64[1] [3]; int64 4; int64[2, 0] []");
}

TEST(AxesTest, WantsEachAxisOnce) {
  const auto error = [](const ir::List& axes) {
    return InferKernel("transpose", {{DType::kInt64, {2, 3}}}, {{"axes", axes}})
        .status()
        .ToString();
  };
  EXPECT_THAT(error({0, 0}), HasSubstr("has axis 0 twice"));
  EXPECT_THAT(error({0}), HasSubstr("argument axes has 1 axes"));
  EXPECT_THAT(error({0, 2}), HasSubstr("axis"));
  EXPECT_EQ(error({1, 0}), "OK");
}

TEST(AxesTest, AddsAnAxis) {
  const Input rows = Rows(Column::OfTensors(DType::kInt32, {kGrid}));
  EXPECT_EQ(CallKernel("expand_dims", {rows}, {{"axis", 0}})->Row(0)->shape(),
            Shape({1, 2, 3}));
  EXPECT_EQ(CallKernel("expand_dims", {rows}, {{"axis", -1}})->Row(0)->shape(),
            Shape({2, 3, 1}));
  EXPECT_EQ(CallKernel("expand_dims", {rows}, {{"axis", 1}})->Row(0)->shape(),
            Shape({2, 1, 3}));
  EXPECT_EQ(
      Shown(CallKernel("expand_dims", {Rows(TextRows({"a", "b"}))}, {{"axis", 0}})),
      "string[1] [\"a\"]; string[1] [\"b\"]");
  EXPECT_THAT(Shown(CallKernel("expand_dims", {rows}, {{"axis", 3}})),
              HasSubstr("there is no place for axis 3 in shape [2, 3]"));
}

TEST(AxesTest, TakesAnAxisAway) {
  const Tensor thin = Tensor::FromValues<int32_t>({1, 2}, {2, 1});
  for (const Column& column : Layouts({thin, thin})) {
    EXPECT_EQ(Shown(CallKernel("squeeze", {Rows(column)}, {{"axis", -1}})),
              "int32[2] [1, 2]; int32[2] [1, 2]");
  }
  EXPECT_THAT(
      Shown(CallKernel("squeeze", {Rows(Column::OfTensors(DType::kInt32, {thin}))},
                       {{"axis", 0}})),
      HasSubstr("axis 0 of shape [2, 1] has not size 1"));
}

TEST(AxesTest, NamesTheRowThatCannotBeSqueezed) {
  const Column rows = Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({1}), Tensor1<int64_t>({1, 2})});
  EXPECT_THAT(Shown(CallKernel("squeeze", {Rows(rows)}, {{"axis", 0}})),
              HasSubstr("row 1: axis 0 of shape [2] has not size 1"));
}

}  // namespace
}  // namespace millrace::kernels
