#include <string_view>

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

TEST(LogicTest, KnowsTheTruthTables) {
  const Column a = ScalarRows<bool>({false, false, true, true});
  const Column b = ScalarRows<bool>({false, true, false, true});
  EXPECT_EQ(Shown(CallKernel("and", {Rows(a), Rows(b)})),
            "bool false; bool false; bool false; bool true");
  EXPECT_EQ(Shown(CallKernel("or", {Rows(a), Rows(b)})),
            "bool false; bool true; bool true; bool true");
  EXPECT_EQ(Shown(CallKernel("not", {Rows(b)})),
            "bool true; bool false; bool true; bool false");
}

TEST(LogicTest, WorksInEveryLayout) {
  for (const Column& column :
       Layouts({Tensor1<bool>({true, false}), Tensor1<bool>({true})})) {
    EXPECT_EQ(Shown(CallKernel("not", {Rows(column)})),
              "bool[2] [false, true]; bool[1] [false]");
    EXPECT_EQ(Shown(CallKernel("or", {Rows(column), Constant(Tensor::Scalar(true))})),
              "bool[2] [true, true]; bool[1] [true]");
    EXPECT_EQ(Shown(CallKernel("and", {Rows(column), Rows(column)})),
              "bool[2] [true, false]; bool[1] [true]");
  }
}

TEST(LogicTest, Broadcasts) {
  const Column rows = ScalarRows<bool>({true, false});
  EXPECT_EQ(
      Shown(CallKernel("and", {Rows(rows), Constant(Tensor1<bool>({true, false}))})),
      "bool[2] [true, false]; bool[2] [false, false]");
}

TEST(LogicTest, InfersShapes) {
  const ValueType some = {.dtype = DType::kBool, .shape = {core::kUnknownSize}};
  const ValueType one = {.dtype = DType::kBool, .shape = {}};
  EXPECT_THAT(InferKernel("and", {some, one}), IsOkAndHolds(some));
  EXPECT_THAT(InferKernel("not", {some}), IsOkAndHolds(some));
}

TEST(LogicTest, RefusesWhatIsNotBoolAndSaysWhatToDo) {
  const ValueType number = {.dtype = DType::kInt64, .shape = {}};
  const ValueType boolean = {.dtype = DType::kBool, .shape = {}};
  for (const std::string_view kernel : {"and", "or"}) {
    EXPECT_THAT(InferKernel(kernel, {boolean, number}),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("needs bools, not bool and int64; compare first")));
  }
  EXPECT_THAT(InferKernel("not", {number}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs bools, not int64; compare first")));
}

}  // namespace
}  // namespace millrace::kernels
