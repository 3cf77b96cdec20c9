#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

TEST(TakeTest, LooksUpATable) {
  const Input table = Constant(Tensor::FromTexts({"a", "b", "c"}, {3}));
  EXPECT_EQ(Shown(CallKernel("take", {table, Rows(ScalarRows<int32_t>({2, 0, -1}))})),
            "string \"c\"; string \"a\"; string \"c\"");
  const Tensor places = Tensor1<int64_t>({1, 1});
  for (const Column& column : Layouts({places, places})) {
    EXPECT_EQ(Shown(CallKernel("take", {table, Rows(column)})),
              "string[2] [\"b\", \"b\"]; string[2] [\"b\", \"b\"]");
  }
}

TEST(TakeTest, TakesPartsOfEachRow) {
  const Tensor grid = Tensor::FromValues<int64_t>({1, 2, 3, 4}, {2, 2});
  const Column rows = Column::OfTensors(
      DType::kInt64, {grid, Tensor::FromValues<int64_t>({5, 6}, {1, 2})});
  const Column places = Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({1, 0, 1}), Tensor1<int64_t>({})});
  EXPECT_EQ(Shown(CallKernel("take", {Rows(rows), Rows(places)})),
            "int64[3, 2] [3, 4, 1, 2, 3, 4]; int64[0, 2] []");
}

TEST(TakeTest, NamesTheRowWithAPlaceOutOfRange) {
  const Input table = Constant(Tensor1<int64_t>({7, 8}));
  EXPECT_THAT(Shown(CallKernel("take", {table, Rows(ScalarRows<int64_t>({0, 1, 2}))})),
              HasSubstr("row 2: index 2 is out of range for axis 0 of size 2"));
  EXPECT_THAT(Shown(CallKernel(
                  "take", {table, Rows(Column::OfTensors(
                                      DType::kInt64, {Tensor1<int64_t>({0, 1}),
                                                      Tensor1<int64_t>({0, -3})}))})),
              HasSubstr("row 1: index -3 is out of range"));
  EXPECT_THAT(Shown(CallKernel("take", {Constant(Tensor1<int64_t>({})),
                                        Rows(ScalarRows<int64_t>({0}))})),
              HasSubstr("out of range for axis 0 of size 0"));
}

TEST(TakeTest, ChecksTypes) {
  EXPECT_THAT(InferKernel("take", {{DType::kInt64, {2}}, {DType::kFloat32, {}}})
                  .status()
                  .ToString(),
              HasSubstr("needs integers"));
  EXPECT_THAT(InferKernel("take", {{DType::kInt64, {}}, {DType::kInt64, {}}})
                  .status()
                  .ToString(),
              HasSubstr("needs at least one axis"));
  EXPECT_EQ(InferKernel("take", {{DType::kString, {9, 2}}, {DType::kInt8, {3}}})->shape,
            Shape({3, 2}));
}

}  // namespace
}  // namespace millrace::kernels
