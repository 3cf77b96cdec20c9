#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using core::Column;
using core::DType;
using core::Tensor;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(WhereTest, ChoosesFromEveryFixedType) {
  const Input condition = Rows(ScalarRows<bool>({true, false, true}));
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    core::VisitDType(dtype, [&]<typename T>() {
      const T zero = static_cast<T>(0.0F);
      const T one = static_cast<T>(1.0F);
      const Column a = ScalarRows<T>({one, one, zero});
      const Column b = ScalarRows<T>({zero, zero, one});
      const Column expected = ScalarRows<T>({one, zero, zero});
      EXPECT_EQ(Shown(CallKernel("where", {condition, Rows(a), Rows(b)})),
                Shown(expected));
    });
  }
}

TEST(WhereTest, ChoosesTexts) {
  const Input condition = Rows(ScalarRows<bool>({true, false}));
  const Input a = Rows(TextRows({"yes", "yes!"}));
  EXPECT_EQ(Shown(CallKernel("where", {condition, a, Constant(Tensor::Text("no"))})),
            "string \"yes\"; string \"no\"");
  EXPECT_EQ(Shown(CallKernel(
                "where", {condition, a, Rows(TextRows({"x", "y"}, DType::kBytes))})),
            "bytes \"yes\"; bytes \"y\"");
}

TEST(WhereTest, BringsBothSidesToOneType) {
  const Input condition = Rows(ScalarRows<bool>({true, false}));
  EXPECT_EQ(Shown(CallKernel("where", {condition, Rows(ScalarRows<uint8_t>({200, 1})),
                                       Rows(ScalarRows<int8_t>({1, -1}))})),
            "int16 200; int16 -1");
  EXPECT_EQ(Shown(CallKernel("where", {condition, Rows(ScalarRows<float>({1.5F, 2})),
                                       Weak<int64_t>(0)})),
            "float32 1.5; float32 0.0");
}

TEST(WhereTest, BroadcastsAllThree) {
  const Input condition = Constant(Tensor1<bool>({true, false}));
  const Input a = Rows(ScalarRows<int32_t>({10, 20}));
  EXPECT_EQ(Shown(CallKernel("where", {condition, a, Weak<int64_t>(0)})),
            "int32[2] [10, 0]; int32[2] [20, 0]");
  const Input tall = Constant(Tensor::FromValues<int32_t>({{1, 2}}, {2, 1}));
  EXPECT_EQ(Shown(CallKernel("where", {condition, tall, Weak<int64_t>(0)})),
            "int32[2, 2] [1, 0, 2, 0]");
}

TEST(WhereTest, ChoosesInEveryLayout) {
  const core::Tensors conditions = {Tensor1<bool>({true, false}),
                                    Tensor1<bool>({false})};
  const core::Tensors values = {Tensor1<int16_t>({1, 2}), Tensor1<int16_t>({3})};
  for (const Column& condition : Layouts(conditions)) {
    for (const Column& column : Layouts(values)) {
      EXPECT_EQ(Shown(CallKernel("where",
                                 {Rows(condition), Rows(column), Weak<int64_t>(-1)})),
                "int16[2] [1, -1]; int16[1] [-1]");
    }
  }
}

TEST(WhereTest, InfersTypeAndShape) {
  const ValueType weak = {.dtype = DType::kInt64, .shape = {}, .weak = true};
  const ValueType condition = {.dtype = DType::kBool, .shape = {}};
  EXPECT_THAT(InferKernel("where", {condition, weak, weak}), IsOkAndHolds(weak));
  const ValueType many = {.dtype = DType::kBool, .shape = {core::kUnknownSize}};
  const ValueType three = {.dtype = DType::kUint8, .shape = {3}};
  EXPECT_THAT(InferKernel("where", {many, three, weak}), IsOkAndHolds(three));
}

TEST(WhereTest, RefusesWhatDoesNotGoTogether) {
  const ValueType condition = {.dtype = DType::kBool, .shape = {}};
  const ValueType number = {.dtype = DType::kInt64, .shape = {2}};
  const ValueType text = {.dtype = DType::kString, .shape = {}};
  const ValueType three = {.dtype = DType::kInt64, .shape = {3}};
  EXPECT_THAT(InferKernel("where", {number, number, number}),
              StatusIs(kInvalid, HasSubstr("needs a bool as condition, not int64[2]")));
  EXPECT_THAT(InferKernel("where", {condition, number, text}),
              StatusIs(kInvalid, HasSubstr("int64[2] and string")));
  EXPECT_THAT(InferKernel("where", {condition, number, three}),
              StatusIs(kInvalid, HasSubstr("[2] and [3]")));
}

}  // namespace
}  // namespace millrace::kernels
