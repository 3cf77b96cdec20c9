#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/random.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/pairwise_sum.h"

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

const std::vector<std::string> kOfNumbers = {"sum", "mean", "min", "max"};

ir::Arguments Along(int64_t axis, bool keep_axis = false) {
  return {{"axis", axis}, {"keep_axis", keep_axis}};
}

template <typename T>
Tensor Tensor2(const std::vector<double>& values, const Shape& shape) {
  const auto store = std::make_unique<T[]>(values.size());
  for (size_t i = 0; i < values.size(); ++i) store[i] = ConvertValue<T>(values[i]);
  return Tensor::FromValues<T>(absl::MakeConstSpan(store.get(), values.size()), shape);
}

Tensor OfType(DType dtype, const std::vector<double>& values, const Shape& shape) {
  return core::VisitDType(dtype,
                          [&]<typename T>() { return Tensor2<T>(values, shape); });
}

// The plain way: all values of the result, each from the values on its line.
std::vector<double> Expected(std::string_view kernel, const std::vector<double>& values,
                             const Shape& shape, int axis) {
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  std::vector<double> results;
  for (int64_t i = 0; i < shape.Count() / shape[axis]; ++i) {
    const int64_t first = i / inner * inner * shape[axis] + i % inner;
    double result = values[first];
    for (int64_t j = 1; j < shape[axis]; ++j) {
      const double value = values[first + j * inner];
      if (kernel == "min") {
        result = std::min(result, value);
      } else if (kernel == "max") {
        result = std::max(result, value);
      } else {
        result += value;
      }
    }
    if (kernel == "mean") result /= static_cast<double>(shape[axis]);
    results.push_back(result);
  }
  return results;
}

Shape Without(const Shape& shape, int axis) {
  std::vector<int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

DType ResultType(std::string_view kernel, DType dtype) {
  if (core::IsFloat(dtype) || kernel == "min" || kernel == "max") return dtype;
  if (kernel == "mean") return DType::kFloat64;
  const bool signless = core::IsInteger(dtype) && !core::IsSigned(dtype);
  return signless ? DType::kUint64 : DType::kInt64;
}

// Small numbers whose sums and means every type holds exactly.
TEST(ReduceTest, ReducesEveryTypeAxisAndLayout) {
  const Shape shape = {2, 4, 2};
  const std::vector<double> values = {0, 1, 2, 5, 4, 1, 2, 1, 0, 0, 8, 1, 0, 3, 0, 4};
  const std::vector<double> bools = {0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0};
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const std::vector<double>& used = dtype == DType::kBool ? bools : values;
    const Tensor row = OfType(dtype, used, shape);
    for (const std::string& kernel : kOfNumbers) {
      for (int axis = 0; axis < 3; ++axis) {
        const Tensor expected =
            OfType(ResultType(kernel, dtype), Expected(kernel, used, shape, axis),
                   Without(shape, axis));
        for (const Column& column : Layouts({row, row})) {
          const Column result = *CallKernel(kernel, {Rows(column)}, Along(axis - 3));
          EXPECT_EQ(result.Row(1)->ToString(), expected.ToString())
              << kernel << " of " << dtype << " along " << axis;
        }
      }
    }
  }
}

TEST(ReduceTest, ReducesAllValuesWithoutAnAxis) {
  const core::Tensors rows = {Tensor2<int16_t>({3, 1, 2, 6}, {2, 2}),
                              Tensor2<int16_t>({-1, 5}, {2, 1})};
  for (const Column& column : Layouts(rows)) {
    EXPECT_EQ(Shown(CallKernel("sum", {Rows(column)})), "int64 12; int64 4");
    EXPECT_EQ(Shown(CallKernel("mean", {Rows(column)})), "float64 3.0; float64 2.0");
    EXPECT_EQ(Shown(CallKernel("min", {Rows(column)})), "int16 1; int16 -1");
    EXPECT_EQ(Shown(CallKernel("max", {Rows(column)})), "int16 6; int16 5");
  }
}

TEST(ReduceTest, KeepsTheAxisWhenAsked) {
  const Input x = Constant(Tensor2<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(Shown(CallKernel("sum", {x}, Along(0, true))),
            "float32[1, 3] [5.0, 7.0, 9.0]");
  EXPECT_EQ(Shown(CallKernel("sum", {x}, Along(1, true))), "float32[2, 1] [6.0, 15.0]");
  EXPECT_EQ(Shown(CallKernel("sum", {x}, {{"keep_axis", true}})),
            "float32[1, 1] [21.0]");
}

TEST(ReduceTest, ReducesScalarsToThemselves) {
  const Column column = ScalarRows<int32_t>({4, -5});
  EXPECT_EQ(Shown(CallKernel("sum", {Rows(column)})), "int64 4; int64 -5");
  EXPECT_EQ(Shown(CallKernel("max", {Rows(column)})), "int32 4; int32 -5");
}

TEST(ReduceTest, WrapsSumsOfIntegersAround) {
  const Input large = Constant(Tensor1<int64_t>({INT64_MAX, 1}));
  EXPECT_EQ(Shown(CallKernel("sum", {large})), "int64 -9223372036854775808");
  const Input unsigned_large = Constant(Tensor1<uint64_t>({UINT64_MAX, 2}));
  EXPECT_EQ(Shown(CallKernel("sum", {unsigned_large})), "uint64 1");
  const Input negative = Constant(Tensor1<int8_t>({-100, -100}));
  EXPECT_EQ(Shown(CallKernel("sum", {negative})), "int64 -200");
}

TEST(ReduceTest, CountsTheTrueBools) {
  EXPECT_EQ(Shown(CallKernel("sum", {Constant(Tensor1<bool>({true, false, true}))})),
            "int64 2");
  EXPECT_EQ(Shown(CallKernel("mean", {Constant(Tensor1<bool>({true, false}))})),
            "float64 0.5");
}

TEST(ReduceTest, SumsFloatsInDoubleAndRoundsOnce) {
  // In float the ones would vanish beside 2^24.
  std::vector<float> values(101, 1.0F);
  values[0] = 0x1p24F;
  const Input x = Constant(Tensor::FromValues<float>(values, {101}));
  EXPECT_EQ(CallKernel("sum", {x})->As<float>()[0], 0x1p24F + 100);
  const std::vector<core::Float16> halves(4096, core::Float16(1.0F));
  const Input many = Constant(Tensor::FromValues<core::Float16>(halves, {4096}));
  EXPECT_EQ(Shown(CallKernel("sum", {many})), "float16 4096.0");
  EXPECT_EQ(Shown(CallKernel("mean", {many})), "float16 1.0");
}

TEST(ReduceTest, SumsInTheSameOrderInEveryLayoutAndAlongEveryAxis) {
  base::Generator random(base::RandomKey(3, 3, 3), {});
  std::vector<double> values(1000);
  for (double& value : values)
    value = std::ldexp(random.Uniform(-1, 1), static_cast<int>(random.Integer(0, 60)));
  const double expected = PairwiseSum(0, 1000, [&](int64_t i) { return values[i]; });
  const Tensor flat = Tensor::FromValues<double>(values, {1000});
  const Tensor tall = Tensor::FromValues<double>(values, {1000, 1});
  for (const Column& column : Layouts({flat, tall})) {
    const Column sums = *CallKernel("sum", {Rows(column)});
    EXPECT_EQ(sums.As<double>()[0], expected);
    EXPECT_EQ(sums.As<double>()[1], expected);
  }
  // Each column of a table of equal columns gives the same again.
  std::vector<double> table;
  for (const double value : values) table.insert(table.end(), 3, value);
  const Input x = Constant(Tensor::FromValues<double>(table, {1000, 3}));
  const Tensor sums = *CallKernel("sum", {x}, Along(0))->Row(0);
  EXPECT_THAT(sums.As<double>(), testing::Each(expected));
}

TEST(ReduceTest, LetsNanWin) {
  const float nan = std::nanf("");
  for (const std::string kernel : {"min", "max"}) {
    for (const Tensor& x : {Tensor1<float>({nan, 1, 2}), Tensor1<float>({1, nan, 2}),
                            Tensor1<float>({1, 2, nan})}) {
      EXPECT_EQ(Shown(CallKernel(kernel, {Constant(x)})), "float32 nan");
    }
  }
}

TEST(ReduceTest, TakesTheFirstOfEqualZeros) {
  EXPECT_EQ(Shown(CallKernel("min", {Constant(Tensor1<double>({0.0, -0.0}))})),
            "float64 0.0");
  EXPECT_EQ(Shown(CallKernel("max", {Constant(Tensor1<double>({-0.0, 0.0}))})),
            "float64 -0.0");
}

TEST(ReduceTest, KnowsWhatNothingSumsTo) {
  const Input none = Constant(Tensor1<float>({}));
  EXPECT_EQ(Shown(CallKernel("sum", {none})), "float32 0.0");
  EXPECT_EQ(Shown(CallKernel("mean", {none})), "float32 nan");
  EXPECT_EQ(Shown(CallKernel("any", {Constant(Tensor1<bool>({}))})), "bool false");
  EXPECT_EQ(Shown(CallKernel("all", {Constant(Tensor1<bool>({}))})), "bool true");
  const Input table = Constant(Tensor2<int8_t>({}, {0, 3}));
  EXPECT_EQ(Shown(CallKernel("sum", {table}, Along(0))), "int64[3] [0, 0, 0]");
  EXPECT_EQ(Shown(CallKernel("sum", {table}, Along(1))), "int64[0] []");
}

TEST(ReduceTest, RefusesTheLeastOfNothing) {
  for (const std::string kernel : {"min", "max"}) {
    const ValueType none = {.dtype = DType::kInt8, .shape = {0}};
    EXPECT_THAT(InferKernel(kernel, {none}),
                StatusIs(kInvalid, "there are no values to choose from"));
    const core::Tensors rows = {Tensor1<int8_t>({1}), Tensor1<int8_t>({})};
    for (const Column& column : Layouts(rows)) {
      EXPECT_THAT(CallKernel(kernel, {Rows(column)}),
                  StatusIs(kDataLoss, "row 1: there are no values to choose from"));
    }
    // Along an axis with values, an empty table is an empty result.
    const Input table = Constant(Tensor2<int8_t>({}, {3, 0}));
    EXPECT_EQ(Shown(CallKernel(kernel, {table}, Along(0))), "int8[0] []");
    EXPECT_THAT(CallKernel(kernel, {table}, Along(1)), StatusIs(kInvalid));
  }
}

TEST(ReduceTest, FindsTrueAndFalse) {
  const core::Tensors rows = {Tensor1<bool>({false, false}),
                              Tensor1<bool>({false, true}), Tensor1<bool>({true})};
  for (const Column& column : Layouts(rows)) {
    EXPECT_EQ(Shown(CallKernel("any", {Rows(column)})),
              "bool false; bool true; bool true");
    EXPECT_EQ(Shown(CallKernel("all", {Rows(column)})),
              "bool false; bool false; bool true");
  }
  const Input table = Constant(Tensor2<bool>({1, 0, 1, 1}, {2, 2}));
  EXPECT_EQ(Shown(CallKernel("all", {table}, Along(0))), "bool[2] [true, false]");
  EXPECT_EQ(Shown(CallKernel("any", {table}, Along(1))), "bool[2] [true, true]");
}

TEST(ReduceTest, InfersShapesAsFarAsTheyAreKnown) {
  const auto infer = [](const Shape& shape, const ir::Arguments& arguments) {
    const ValueType type = {.dtype = DType::kUint8, .shape = shape};
    return InferKernel("sum", {type}, arguments);
  };
  const auto type = [](const Shape& shape) {
    return ValueType{.dtype = DType::kUint64, .shape = shape};
  };
  const Shape image = {kUnknownSize, kUnknownSize, 3};
  EXPECT_THAT(infer(image, {}), IsOkAndHolds(type({})));
  EXPECT_THAT(infer(image, Along(0)), IsOkAndHolds(type({kUnknownSize, 3})));
  EXPECT_THAT(infer(image, Along(-1)),
              IsOkAndHolds(type({kUnknownSize, kUnknownSize})));
  EXPECT_THAT(infer(image, Along(1, true)), IsOkAndHolds(type({kUnknownSize, 1, 3})));
  EXPECT_THAT(infer(image, {{"keep_axis", true}}), IsOkAndHolds(type({1, 1, 1})));
  EXPECT_THAT(infer(Shape::Unranked(), {}), IsOkAndHolds(type({})));
  EXPECT_THAT(infer(Shape::Unranked(), Along(3)),
              IsOkAndHolds(type(Shape::Unranked())));
  EXPECT_THAT(infer(image, Along(3)), StatusIs(kInvalid, HasSubstr("no axis 3")));
}

TEST(ReduceTest, NamesTheRowWithoutTheAxis) {
  const core::Tensors rows = {Tensor2<int8_t>({1, 2}, {1, 2}), Tensor1<int8_t>({1})};
  for (const Column& column : Layouts(rows)) {
    EXPECT_THAT(
        CallKernel("sum", {Rows(column)}, Along(1)),
        StatusIs(kDataLoss, "row 1: there is no axis 1 in a value of shape [1]"));
  }
}

TEST(ReduceTest, RefusesOtherTypes) {
  const ValueType text = {.dtype = DType::kString, .shape = {2}};
  const ValueType number = {.dtype = DType::kInt8, .shape = {2}};
  for (const std::string& kernel : kOfNumbers) {
    EXPECT_THAT(InferKernel(kernel, {text}),
                StatusIs(kInvalid, HasSubstr("needs numbers or bools, not string[2]")));
  }
  for (const std::string kernel : {"any", "all"}) {
    EXPECT_THAT(InferKernel(kernel, {number}),
                StatusIs(kInvalid, HasSubstr("needs bools, not int8[2]; compare")));
  }
}

}  // namespace
}  // namespace millrace::kernels
