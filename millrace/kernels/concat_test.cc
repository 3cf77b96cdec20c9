#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

Input Ints(const std::vector<Tensor>& rows) {
  return Rows(Column::OfTensors(rows[0].dtype(), rows));
}

TEST(ConcatTest, JoinsAlongAnAxis) {
  const Tensor a = Tensor::FromValues<int64_t>({1, 2}, {1, 2});
  const Tensor b = Tensor::FromValues<int64_t>({3, 4, 5, 6}, {2, 2});
  for (const Column& left : Layouts({a, a})) {
    for (const Column& right : Layouts({b, b})) {
      EXPECT_EQ(Shown(CallKernel("concat", {Rows(left), Rows(right)})->Slice(1, 1)),
                "int64[3, 2] [1, 2, 3, 4, 5, 6]");
    }
  }
  EXPECT_EQ(Shown(CallKernel("concat", {Ints({b}), Ints({b})}, {{"axis", -1}})),
            "int64[2, 4] [3, 4, 3, 4, 5, 6, 5, 6]");
}

TEST(ConcatTest, JoinsRowsOfDifferentLengths) {
  EXPECT_EQ(Shown(CallKernel(
                "concat", {Ints({Tensor1<int64_t>({1}), Tensor1<int64_t>({})}),
                           Ints({Tensor1<int64_t>({2, 3}), Tensor1<int64_t>({4})})})),
            "int64[3] [1, 2, 3]; int64[1] [4]");
}

TEST(ConcatTest, TakesConstants) {
  EXPECT_EQ(
      Shown(CallKernel("concat", {Ints({Tensor1<int64_t>({1}), Tensor1<int64_t>({2})}),
                                  Constant(Tensor1<int64_t>({9}))})),
      "int64[2] [1, 9]; int64[2] [2, 9]");
  EXPECT_EQ(Shown(CallKernel("stack", {Rows(ScalarRows<int64_t>({1, 2})),
                                       Constant(Tensor::Scalar<int64_t>(0))})),
            "int64[2] [1, 0]; int64[2] [2, 0]");
}

TEST(ConcatTest, BringsThemToOneType) {
  EXPECT_EQ(Shown(CallKernel("concat", {Ints({Tensor1<int8_t>({1})}),
                                        Ints({Tensor1<float>({0.5})})})),
            "float32[2] [1.0, 0.5]");
  EXPECT_EQ(Shown(CallKernel("stack", {Rows(TextRows({"a"})),
                                       Rows(TextRows({"b"}, DType::kBytes))})),
            "bytes[2] [\"a\", \"b\"]");
  EXPECT_THAT(Shown(CallKernel(
                  "stack", {Rows(TextRows({"a"})), Rows(ScalarRows<int64_t>({1}))})),
              HasSubstr("needs values of one type"));
}

TEST(ConcatTest, StacksAlongANewAxis) {
  const Input a = Ints({Tensor1<int64_t>({1, 2})});
  const Input b = Ints({Tensor1<int64_t>({3, 4})});
  EXPECT_EQ(Shown(CallKernel("stack", {a, b})), "int64[2, 2] [1, 2, 3, 4]");
  EXPECT_EQ(Shown(CallKernel("stack", {a, b}, {{"axis", -1}})),
            "int64[2, 2] [1, 3, 2, 4]");
  EXPECT_EQ(Shown(CallKernel("stack", {a, b, a}, {{"axis", 1}})),
            "int64[2, 3] [1, 3, 1, 2, 4, 2]");
  EXPECT_THAT(Shown(CallKernel("stack", {a, b}, {{"axis", 2}})),
              HasSubstr("there is no place for axis 2"));
}

TEST(ConcatTest, TellsShapesThatDoNotFit) {
  const auto error = [](const std::string& kernel, const Shape& a, const Shape& b) {
    return InferKernel(kernel, {{DType::kInt64, a}, {DType::kInt64, b}})
        .status()
        .ToString();
  };
  EXPECT_THAT(error("concat", {2, 3}, {2, 4}), HasSubstr("do not go together"));
  EXPECT_THAT(error("concat", {2}, {2, 4}), HasSubstr("do not go together"));
  EXPECT_THAT(error("concat", {}, {}), HasSubstr("axis"));
  EXPECT_THAT(error("stack", {2}, {3}), HasSubstr("[2] and [3]"));
  EXPECT_THAT(Shown(CallKernel(
                  "stack", {Ints({Tensor1<int64_t>({1}), Tensor1<int64_t>({1})}),
                            Ints({Tensor1<int64_t>({1}), Tensor1<int64_t>({1, 2})})})),
              HasSubstr("row 1: shapes do not go together: [1] and [2]"));
}

TEST(ConcatTest, InfersWhatIsKnown) {
  const auto shape = [](const std::string& kernel, const Shape& a, const Shape& b) {
    return InferKernel(kernel, {{DType::kInt64, a}, {DType::kInt64, b}})->shape;
  };
  const int64_t unknown = core::kUnknownSize;
  EXPECT_EQ(shape("concat", {2, unknown}, {3, 4}), Shape({5, 4}));
  EXPECT_EQ(shape("concat", {unknown, 4}, {3, 4}), Shape({unknown, 4}));
  EXPECT_EQ(shape("stack", {unknown}, {3}), Shape({2, 3}));
  EXPECT_FALSE(shape("stack", Shape::Unranked(), {3}).ranked());
}

}  // namespace
}  // namespace millrace::kernels
