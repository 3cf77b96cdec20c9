#include <cstdint>
#include <limits>
#include <string>
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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Of(const std::string& kernel, const Tensor& x,
               const ir::Arguments& arguments = {}) {
  return Shown(
      CallKernel(kernel, {Rows(Column::OfTensors(x.dtype(), {x}))}, arguments));
}

const Tensor kGrid = Tensor::FromValues<int32_t>({3, 1, 2, 1, 5, 2}, {2, 3});

TEST(OrderTest, SortsAlongAnAxis) {
  EXPECT_EQ(Of("sort", kGrid), "int32[2, 3] [1, 2, 3, 1, 2, 5]");
  EXPECT_EQ(Of("sort", kGrid, {{"axis", 0}}), "int32[2, 3] [1, 1, 2, 3, 5, 2]");
  EXPECT_EQ(Of("sort", kGrid, {{"descending", true}}),
            "int32[2, 3] [3, 2, 1, 5, 2, 1]");
  EXPECT_EQ(Of("sort", Tensor1<double>({2, kNan, 1})), "float64[3] [1.0, 2.0, nan]");
  EXPECT_EQ(Of("sort", Tensor1<double>({1, kNan, 2}), {{"descending", true}}),
            "float64[3] [2.0, 1.0, nan]");
  EXPECT_EQ(Of("sort", Tensor1<int64_t>({})), "int64[0] []");
}

TEST(OrderTest, GivesPlacesOfEqualOnesAsTheyStand) {
  EXPECT_EQ(Of("argsort", Tensor1<int8_t>({2, 1, 2, 1})), "int64[4] [1, 3, 0, 2]");
  EXPECT_EQ(Of("argsort", Tensor1<int8_t>({2, 1, 2, 1}), {{"descending", true}}),
            "int64[4] [0, 2, 1, 3]");
  EXPECT_EQ(Of("argsort", kGrid, {{"axis", 0}}), "int64[2, 3] [1, 0, 0, 0, 1, 1]");
}

TEST(OrderTest, FindsTheLargest) {
  EXPECT_EQ(Of("argmax", kGrid), "int64[2] [0, 1]");
  EXPECT_EQ(Of("argmax", kGrid, {{"axis", 0}}), "int64[3] [0, 1, 0]");
  EXPECT_EQ(Of("argmax", Tensor1<double>({1, kNan, 3, kNan})), "int64 1");
  EXPECT_EQ(Of("argmax", Tensor1<bool>({false, true, true})), "int64 1");
  EXPECT_THAT(Of("argmax", Tensor1<int64_t>({})),
              HasSubstr("no values to choose from"));
  EXPECT_EQ(Of("argmax", Tensor::FromValues<int64_t>({}, {0, 3})), "int64[0] []");
}

TEST(OrderTest, AddsUp) {
  EXPECT_EQ(Of("cumsum", kGrid), "int64[2, 3] [3, 4, 6, 1, 6, 8]");
  EXPECT_EQ(Of("cumsum", kGrid, {{"axis", 0}}), "int64[2, 3] [3, 1, 2, 4, 6, 4]");
  EXPECT_EQ(Of("cumsum", Tensor1<bool>({true, false, true})), "int64[3] [1, 1, 2]");
  EXPECT_EQ(Of("cumsum", Tensor1<uint8_t>({255, 255})), "uint64[2] [255, 510]");
  EXPECT_EQ(Of("cumsum", Tensor1<float>({0.5, 0.25})), "float32[2] [0.5, 0.75]");
  // Not rounded on the way.
  EXPECT_EQ(Of("cumsum", Tensor1<float>({16777216, 1, 1})),
            "float32[3] [16777216.0, 16777216.0, 16777218.0]");
}

TEST(OrderTest, TakesEveryLayout) {
  for (const Column& column : Layouts({kGrid, kGrid})) {
    EXPECT_EQ(Shown(CallKernel("sort", {Rows(column)})->Slice(1, 1)),
              "int32[2, 3] [1, 2, 3, 1, 2, 5]");
  }
  const Column ragged = Column::OfTensors(
      DType::kInt64, {Tensor1<int64_t>({2, 1}), Tensor1<int64_t>({3})});
  EXPECT_EQ(Shown(CallKernel("argsort", {Rows(ragged)})),
            "int64[2] [1, 0]; int64[1] [0]");
}

TEST(OrderTest, NeedsNumbersWithAnAxis) {
  for (const std::string kernel : {"sort", "argsort", "argmax", "cumsum"}) {
    EXPECT_FALSE(InferKernel(kernel, {{DType::kInt64, {}}}).ok());
    EXPECT_FALSE(InferKernel(kernel, {{DType::kInt64, {3}}}, {{"axis", 1}}).ok());
    EXPECT_THAT(InferKernel(kernel, {{DType::kString, {3}}}).status().ToString(),
                HasSubstr("needs numbers or bools"));
  }
}

}  // namespace
}  // namespace millrace::kernels
