#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string Of(const std::string& kernel, double x) {
  return Shown(CallKernel(kernel, {Rows(ScalarRows<double>({x}))}));
}

TEST(RoundingTest, RoundsToWholeNumbers) {
  EXPECT_EQ(Of("floor", -1.5), "float64 -2.0");
  EXPECT_EQ(Of("ceil", -1.5), "float64 -1.0");
  EXPECT_EQ(Of("ceil", 1.25), "float64 2.0");
  EXPECT_EQ(Of("round", 2.5), "float64 2.0");
  EXPECT_EQ(Of("round", 3.5), "float64 4.0");
  EXPECT_EQ(Of("round", -0.5), "float64 -0.0");
  EXPECT_EQ(Of("floor", kInfinity), "float64 inf");
  EXPECT_EQ(Of("round", kNan), "float64 nan");
}

TEST(RoundingTest, LeavesIntegers) {
  const int64_t large = std::numeric_limits<int64_t>::max();
  for (const std::string kernel : {"floor", "ceil", "round"}) {
    EXPECT_EQ(Shown(CallKernel(kernel, {Rows(ScalarRows<int64_t>({large}))})),
              "int64 9223372036854775807");
    EXPECT_THAT(Shown(CallKernel(kernel, {Rows(TextRows({"1"}))})),
                HasSubstr("INVALID_ARGUMENT"));
  }
}

TEST(RoundingTest, TellsNanAndInfinity) {
  EXPECT_EQ(Of("is_nan", kNan), "bool true");
  EXPECT_EQ(Of("is_nan", kInfinity), "bool false");
  EXPECT_EQ(Of("is_finite", -kInfinity), "bool false");
  EXPECT_EQ(Of("is_finite", kNan), "bool false");
  EXPECT_EQ(Of("is_finite", 1e308), "bool true");
  EXPECT_EQ(Shown(CallKernel("is_finite", {Rows(ScalarRows<int8_t>({1}))})),
            "bool true");
}

TEST(RoundingTest, Clips) {
  EXPECT_EQ(Shown(CallKernel("clip", {Rows(ScalarRows<int32_t>({-5, 3, 50})),
                                      Weak<int64_t>(0), Weak<int64_t>(10)})),
            "int32 0; int32 3; int32 10");
  EXPECT_EQ(Shown(CallKernel("clip", {Rows(ScalarRows<double>({kNan, kInfinity})),
                                      Weak(0.0), Weak(1.0)})),
            "float64 nan; float64 1.0");
  // Of bounds that cross, the upper one counts.
  EXPECT_EQ(Shown(CallKernel("clip", {Rows(ScalarRows<int64_t>({5})), Weak<int64_t>(9),
                                      Weak<int64_t>(2)})),
            "int64 2");
}

TEST(RoundingTest, ClipsByBoundsPerValue) {
  const Tensor x = Tensor1<int64_t>({1, 5, 9});
  EXPECT_EQ(Shown(CallKernel("clip", {Rows(Column::OfTensors(DType::kInt64, {x})),
                                      Constant(Tensor1<int64_t>({2, 2, 2})),
                                      Constant(Tensor1<int64_t>({4, 5, 6}))})),
            "int64[3] [2, 5, 6]");
}

}  // namespace
}  // namespace millrace::kernels
