#include <cstdint>
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

std::string Of(const std::string& kernel, double x) {
  return Shown(CallKernel(kernel, {Rows(ScalarRows<double>({x}))}));
}

TEST(RealFunctionsTest, ComputeInDouble) {
  EXPECT_EQ(Of("exp", 0), "float64 1.0");
  EXPECT_EQ(Of("log", 0), "float64 -inf");
  EXPECT_EQ(Of("log1p", 1e-20), "float64 1e-20");
  EXPECT_EQ(Of("sigmoid", 0), "float64 0.5");
  EXPECT_EQ(Of("tanh", -1000), "float64 -1.0");
}

TEST(RealFunctionsTest, KeepFloatsAndWidenIntegers) {
  EXPECT_EQ(Shown(CallKernel("exp", {Rows(ScalarRows<float>({1}))})),
            "float32 2.7182817");
  EXPECT_EQ(Shown(CallKernel("log", {Rows(ScalarRows<int8_t>({1}))})), "float64 0.0");
  EXPECT_THAT(Shown(CallKernel("log", {Rows(ScalarRows<bool>({true}))})),
              HasSubstr("INVALID_ARGUMENT"));
}

TEST(RealFunctionsTest, RaiseFloats) {
  EXPECT_EQ(Shown(CallKernel("power", {Rows(ScalarRows<double>({2, 9, -8})),
                                       Rows(ScalarRows<double>({10, 0.5, 3}))})),
            "float64 1024.0; float64 3.0; float64 -512.0");
  EXPECT_EQ(
      Shown(CallKernel("power", {Rows(ScalarRows<float>({3})), Weak<int64_t>(2)})),
      "float32 9.0");
}

TEST(RealFunctionsTest, RaiseIntegersWrappingAround) {
  EXPECT_EQ(Shown(CallKernel("power", {Rows(ScalarRows<int64_t>({3, -2, 0, 7})),
                                       Rows(ScalarRows<int64_t>({4, 3, 0, 1}))})),
            "int64 81; int64 -8; int64 1; int64 7");
  EXPECT_EQ(
      Shown(CallKernel("power", {Rows(ScalarRows<uint8_t>({2, 3})), Weak<int64_t>(8)})),
      "uint8 0; uint8 161");
  EXPECT_THAT(Shown(CallKernel("power", {Rows(ScalarRows<int64_t>({2, 2})),
                                         Rows(ScalarRows<int64_t>({1, -1}))})),
              HasSubstr("row 1: an integer to a negative power is no integer"));
}

}  // namespace
}  // namespace millrace::kernels
