#include <cstdint>
#include <limits>
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

TEST(SizedTest, PadsToALength) {
  const Column rows = Column::OfTensors(
      DType::kInt64,
      {Tensor1<int64_t>({1, 2}), Tensor1<int64_t>({}), Tensor1<int64_t>({1, 2, 3})});
  EXPECT_EQ(Shown(CallKernel("pad_to", {Rows(rows)}, {{"length", 3}, {"value", -1}})),
            "int64[3] [1, 2, -1]; int64[3] [-1, -1, -1]; int64[3] [1, 2, 3]");
}

TEST(SizedTest, PadsInEveryLayout) {
  const Tensor grid = Tensor::FromValues<float>({1, 2, 3, 4}, {2, 2});
  for (const Column& column : Layouts({grid, grid})) {
    EXPECT_EQ(Shown(CallKernel("pad_to", {Rows(column)}, {{"length", 3}})->Slice(1, 1)),
              "float32[3, 2] [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]");
  }
  const Tensor texts = Tensor::FromTexts({"a"}, {1});
  for (const Column& column : Layouts({texts})) {
    EXPECT_EQ(Shown(CallKernel("pad_to", {Rows(column)}, {{"length", 2}})),
              "string[2] [\"a\", \"\"]");
  }
}

TEST(SizedTest, LongerOnesAreWrongOrCut) {
  const Column rows = Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({1}), Tensor1<int64_t>({1, 2, 3})});
  EXPECT_THAT(Shown(CallKernel("pad_to", {Rows(rows)}, {{"length", 2}})),
              HasSubstr("row 1: a value of length 3 is longer than 2"));
  EXPECT_EQ(
      Shown(CallKernel("pad_to", {Rows(rows)}, {{"length", 2}, {"truncate", true}})),
      "int64[2] [1, 0]; int64[2] [1, 2]");
  EXPECT_EQ(
      Shown(CallKernel("pad_to", {Rows(rows)}, {{"length", 0}, {"truncate", true}})),
      "int64[0] []; int64[0] []");
}

TEST(SizedTest, PadsValuesWithAxes) {
  EXPECT_THAT(
      Shown(CallKernel("pad_to", {Rows(ScalarRows<int64_t>({1}))}, {{"length", 2}})),
      HasSubstr("needs at least one axis"));
  EXPECT_THAT(
      InferKernel("pad_to", {{DType::kString, {2}}}, {{"length", 2}, {"value", 1.0}})
          .status()
          .ToString(),
      HasSubstr("texts are padded with empty ones"));
}

TEST(SizedTest, FillsAShape) {
  EXPECT_EQ(Shown(CallKernel("fill", {Rows(ScalarRows<int8_t>({1, 2}))},
                             {{"shape", ir::List{2}}})),
            "int8[2] [1, 1]; int8[2] [2, 2]");
  EXPECT_EQ(
      Shown(CallKernel("fill", {Rows(TextRows({"ab"}))}, {{"shape", ir::List{2}}})),
      "string[2] [\"ab\", \"ab\"]");
  EXPECT_EQ(Shown(CallKernel("fill", {Weak<int64_t>(0)}, {{"shape", ir::List{0}}})),
            "int64[0] []");
  EXPECT_THAT(InferKernel("fill", {{DType::kInt64, {2}}}, {{"shape", ir::List{2}}})
                  .status()
                  .ToString(),
              HasSubstr("needs a scalar"));
}

TEST(SizedTest, CountsUp) {
  EXPECT_EQ(Shown(CallKernel("range", {Rows(ScalarRows<int32_t>({3, 0, 1}))})),
            "int64[3] [0, 1, 2]; int64[0] []; int64[1] [0]");
  EXPECT_THAT(Shown(CallKernel("range", {Rows(ScalarRows<int64_t>({1, -1}))})),
              HasSubstr("row 1: there is no range of size -1"));
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(Shown(CallKernel("range", {Rows(ScalarRows<int64_t>({1, huge}))})),
              HasSubstr("row 1: there is no range"));
}

}  // namespace
}  // namespace millrace::kernels
