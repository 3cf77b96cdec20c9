#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/float16.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/convert.h"

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
constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

__extension__ using Wide = __int128;

// Values worth trying, among them the ends of the range.
template <typename T>
std::vector<T> Samples() {
  std::vector<T> samples;
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    for (const int value : {0, 1, 2, 3, 7, 100})
      samples.push_back(static_cast<T>(value));
    for (const int value : {0, 1, 2}) {
      samples.push_back(static_cast<T>(Limits::max() - value));
      samples.push_back(static_cast<T>(Limits::min() + value));
    }
    if (Limits::is_signed) samples.push_back(static_cast<T>(-7));
  } else {
    for (const float value : {0.0F, -0.0F, 1.0F, -1.0F, 0.5F, -2.75F, 3.0F, 100.0F,
                              1e-7F, 30000.0F, -3e38F}) {
      samples.push_back(static_cast<T>(value));
    }
    samples.push_back(static_cast<T>(std::numeric_limits<float>::infinity()));
    samples.push_back(static_cast<T>(std::numeric_limits<float>::quiet_NaN()));
  }
  return samples;
}

template <typename T>
Column ColumnOf(const std::vector<T>& values) {
  core::Tensors rows;
  for (const T value : values) rows.push_back(Tensor::Scalar(value));
  return *core::FromRows(core::kDTypeOf<T>, std::move(rows), core::HeapPool());
}

// All pairs of samples, as two columns.
template <typename T>
std::pair<std::vector<T>, std::vector<T>> Pairs(bool with_zero) {
  std::pair<std::vector<T>, std::vector<T>> pairs;
  for (const T a : Samples<T>()) {
    for (const T b : Samples<T>()) {
      if (!with_zero && b == T{}) continue;
      pairs.first.push_back(a);
      pairs.second.push_back(b);
    }
  }
  return pairs;
}

// Same bits, or both NaN: which NaN is the machine's choice.
template <typename T>
bool Alike(T a, T b) {
  const Tensor of_a = Tensor::Scalar(a);
  const Tensor of_b = Tensor::Scalar(b);
  return of_a == of_b ||
         (of_a.ToString().ends_with("nan") && of_b.ToString().ends_with("nan"));
}

template <typename T>
void ExpectAlike(const Column& result, const std::vector<T>& expected,
                 const std::string& what) {
  ASSERT_EQ(result.dtype(), core::kDTypeOf<T>) << what;
  const absl::Span<const T> values = result.As<T>();
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(Alike(values[i], expected[i]))
        << what << " row " << i << ": " << Tensor::Scalar(values[i]).ToString()
        << " instead of " << Tensor::Scalar(expected[i]).ToString();
  }
}

// What a kernel should give: of integers exactly, then cut to the type's bits; of
// floats exactly as far as double goes, then rounded.
struct Reference {
  std::string kernel;
  std::function<Wide(Wide, Wide)> of_integers;
  std::function<double(double, double)> of_floats;
  bool zero_allowed = true;
};

Wide FloorOf(Wide a, Wide b) {
  const Wide quotient = a / b;
  return quotient * b != a && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::vector<Reference> References() {
  const auto min = [](auto a, auto b) { return b < a ? b : a; };
  const auto max = [](auto a, auto b) { return b > a ? b : a; };
  const auto nan_or = [](auto choose) {
    return [choose](double a, double b) {
      return std::isnan(a) || std::isnan(b) ? kNan : choose(a, b);
    };
  };
  return {
      {"add", std::plus<>(), std::plus<>()},
      {"subtract", std::minus<>(), std::minus<>()},
      {"multiply", std::multiplies<>(), std::multiplies<>()},
      {"minimum", min, nan_or(min)},
      {"maximum", max, nan_or(max)},
      {"floor_divide", FloorOf, nullptr, false},
      {"modulo", [](Wide a, Wide b) { return a - FloorOf(a, b) * b; }, nullptr, false},
  };
}

template <typename T>
void CheckBinary(const Reference& reference) {
  const auto [a, b] = Pairs<T>(reference.zero_allowed);
  std::vector<T> expected;
  for (size_t i = 0; i < a.size(); ++i) {
    if constexpr (std::is_integral_v<T>) {
      // Two products of 64 bits reach 2^128: multiply what wraps around anyway.
      const Wide exact = reference.kernel == "multiply"
                             ? static_cast<Wide>(static_cast<uint64_t>(a[i]) *
                                                 static_cast<uint64_t>(b[i]))
                             : reference.of_integers(a[i], b[i]);
      expected.push_back(static_cast<T>(exact));
    } else {
      const auto wide = [](T value) { return ConvertValue<double>(value); };
      expected.push_back(ConvertValue<T>(reference.of_floats(wide(a[i]), wide(b[i]))));
    }
  }
  const absl::StatusOr<Column> result =
      CallKernel(reference.kernel, {Rows(ColumnOf(a)), Rows(ColumnOf(b))});
  ASSERT_TRUE(result.ok()) << reference.kernel << " " << result.status();
  ExpectAlike(*result, expected, reference.kernel);
}

TEST(ArithmeticTest, ComputesEveryNumericTypeLikeTheReference) {
  for (const Reference& reference : References()) {
    for (const DType dtype : core::kAllDTypes) {
      if (!core::IsNumeric(dtype)) continue;
      if (core::IsFloat(dtype) && reference.of_floats == nullptr) continue;
      SCOPED_TRACE(testing::Message() << reference.kernel << " of " << dtype);
      core::VisitDType(dtype, [&]<typename T>() {
        if constexpr (!std::is_same_v<T, bool>) CheckBinary<T>(reference);
      });
    }
  }
}

template <typename T>
void CheckUnary(const std::string& kernel, double (*of_floats)(double),
                Wide (*of_integers)(Wide)) {
  const std::vector<T> samples = Samples<T>();
  std::vector<T> expected;
  for (const T value : samples) {
    if constexpr (std::is_integral_v<T>) {
      expected.push_back(static_cast<T>(of_integers(value)));
    } else {
      expected.push_back(ConvertValue<T>(of_floats(ConvertValue<double>(value))));
    }
  }
  ExpectAlike(*CallKernel(kernel, {Rows(ColumnOf(samples))}), expected, kernel);
}

TEST(ArithmeticTest, ChangesSignsOfEveryNumericType) {
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsNumeric(dtype)) continue;
    SCOPED_TRACE(dtype);
    core::VisitDType(dtype, [&]<typename T>() {
      if constexpr (!std::is_same_v<T, bool>) {
        CheckUnary<T>("negate", [](double x) { return -x; }, [](Wide x) { return -x; });
        CheckUnary<T>(
            "absolute", [](double x) { return std::abs(x); },
            [](Wide x) { return x < 0 ? -x : x; });
      }
    });
  }
}

TEST(ArithmeticTest, TakesSquareRootsOfFloatsInTheirOwnType) {
  const auto root = [](double x) { return std::sqrt(x); };
  CheckUnary<double>("sqrt", root, nullptr);
  CheckUnary<float>("sqrt", root, nullptr);
  CheckUnary<core::Float16>("sqrt", root, nullptr);
  CheckUnary<core::BFloat16>("sqrt", root, nullptr);
}

TEST(ArithmeticTest, TakesSquareRootsOfIntegersAsFloat64) {
  EXPECT_EQ(Shown(CallKernel("sqrt", {Rows(ScalarRows<uint8_t>({0, 9, 255}))})),
            "float64 0.0; float64 3.0; float64 15.968719422671311");
  const Column negative = *CallKernel("sqrt", {Rows(ScalarRows<int32_t>({-1}))});
  EXPECT_TRUE(std::isnan(negative.As<double>()[0]));
}

TEST(ArithmeticTest, DividesIntegersToFloat64) {
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsInteger(dtype)) continue;
    const Column column = core::VisitDType(dtype, []<typename T>() {
      return ScalarRows<T>({static_cast<T>(7.0F), static_cast<T>(0.0F)});
    });
    EXPECT_EQ(Shown(CallKernel("divide", {Rows(column), Weak<int64_t>(2)})),
              "float64 3.5; float64 0.0")
        << dtype;
  }
}

TEST(ArithmeticTest, DividesFloatsInTheirOwnType) {
  const Column thirds =
      *CallKernel("divide", {Rows(ScalarRows<float>({1, 2})), Weak<int64_t>(3)});
  EXPECT_EQ(Shown(thirds), "float32 0.33333334; float32 0.6666667");
  const Column half = *CallKernel(
      "divide", {Rows(ScalarRows<core::Float16>({core::Float16(1.0F)})), Weak(3.0)});
  EXPECT_EQ(Shown(half), "float16 0.3333");
}

TEST(ArithmeticTest, DividesByZeroLikeIeee754) {
  const Column column = ScalarRows<double>({1, -1, 0});
  const Column result = *CallKernel("divide", {Rows(column), Weak(0.0)});
  EXPECT_EQ(result.As<double>()[0], kInf);
  EXPECT_EQ(result.As<double>()[1], -kInf);
  EXPECT_TRUE(std::isnan(result.As<double>()[2]));
  EXPECT_EQ(Shown(CallKernel("divide", {Rows(ScalarRows<int64_t>({1})),
                                        Rows(ScalarRows<int64_t>({0}))})),
            "float64 inf");
}

// Python: 7 // -2 == -4, 7 % -2 == -1, and so on around the four quadrants.
TEST(ArithmeticTest, DividesDownwardsLikePython) {
  const Column a = ScalarRows<int8_t>({7, 7, -7, -7, 6, -6, -128});
  const Column b = ScalarRows<int8_t>({2, -2, 2, -2, 3, 3, -1});
  EXPECT_EQ(Shown(CallKernel("floor_divide", {Rows(a), Rows(b)})),
            "int8 3; int8 -4; int8 -4; int8 3; int8 2; int8 -2; int8 -128");
  EXPECT_EQ(Shown(CallKernel("modulo", {Rows(a), Rows(b)})),
            "int8 1; int8 -1; int8 1; int8 -1; int8 0; int8 0; int8 0");
}

// Python: 7.5 // -2 == -4.0, 7.5 % -2 == -0.5, 1.0 // 0.1 == 9.0 and so on.
TEST(ArithmeticTest, DividesFloatsDownwardsLikePython) {
  const Column a = ScalarRows<double>({7.5, 7.5, -7.5, 1.0, -5, 5, -0.0, 0.0});
  const Column b = ScalarRows<double>({2, -2, 2, 0.1, kInf, kInf, 3, -3});
  EXPECT_EQ(Shown(CallKernel("floor_divide", {Rows(a), Rows(b)})),
            "float64 3.0; float64 -4.0; float64 -4.0; float64 9.0; float64 -1.0; "
            "float64 0.0; float64 -0.0; float64 -0.0");
  EXPECT_EQ(Shown(CallKernel("modulo", {Rows(a), Rows(b)})),
            "float64 1.5; float64 -0.5; float64 0.5; float64 0.09999999999999995; "
            "float64 inf; float64 5.0; float64 0.0; float64 -0.0");
}

TEST(ArithmeticTest, DividesFloatsByZeroWithoutAnError) {
  const Column a = ScalarRows<float>({1, -1, 0});
  const Column floors = *CallKernel("floor_divide", {Rows(a), Weak<int64_t>(0)});
  EXPECT_EQ(floors.As<float>()[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(floors.As<float>()[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(floors.As<float>()[2]));
  const Column rests = *CallKernel("modulo", {Rows(a), Weak<int64_t>(0)});
  for (const float rest : rests.As<float>()) EXPECT_TRUE(std::isnan(rest));
}

TEST(ArithmeticTest, NamesTheRowThatDividesByZero) {
  for (const std::string_view kernel : {"floor_divide", "modulo"}) {
    for (const DType dtype : core::kAllDTypes) {
      if (!core::IsInteger(dtype)) continue;
      const Column divisors = core::VisitDType(dtype, []<typename T>() {
        return ScalarRows<T>({static_cast<T>(1.0F), static_cast<T>(2.0F), T{}, T{}});
      });
      EXPECT_THAT(CallKernel(kernel, {Rows(divisors), Rows(divisors)}),
                  StatusIs(kDataLoss, "row 2: division by zero"))
          << kernel << dtype;
    }
  }
}

TEST(ArithmeticTest, NamesTheRowThatDividesByZeroInEveryLayout) {
  for (const Column& column :
       Layouts({Tensor1<int32_t>({1, 2}), Tensor1<int32_t>({3, 4, 0}),
                Tensor1<int32_t>({0})})) {
    EXPECT_THAT(CallKernel("modulo", {Weak<int64_t>(9), Rows(column)}),
                StatusIs(kDataLoss, "row 1: division by zero"));
  }
  for (const Column& column :
       Layouts({Tensor1<int32_t>({1, 2}), Tensor1<int32_t>({3, 0})})) {
    EXPECT_THAT(CallKernel("modulo", {Weak<int64_t>(9), Rows(column)}),
                StatusIs(kDataLoss, "row 1: division by zero"));
  }
}

TEST(ArithmeticTest, PromotesLikeNumPy) {
  const Column small = ScalarRows<uint8_t>({200});
  const Column with_sign = ScalarRows<int8_t>({-100});
  EXPECT_EQ(Shown(CallKernel("add", {Rows(small), Rows(with_sign)})), "int16 100");
  EXPECT_EQ(
      Shown(CallKernel("multiply", {Rows(small), Rows(ScalarRows<bool>({true}))})),
      "uint8 200");
  EXPECT_EQ(Shown(CallKernel("add", {Rows(ScalarRows<int64_t>({1})),
                                     Rows(ScalarRows<uint64_t>({2}))})),
            "float64 3.0");
  EXPECT_EQ(Shown(CallKernel("add", {Rows(ScalarRows<core::Float16>({{}})),
                                     Rows(ScalarRows<core::BFloat16>({{}}))})),
            "float32 0.0");
}

TEST(ArithmeticTest, LetsWeakNumbersTakeTheTypeTheyMeet) {
  const Column pixels = ScalarRows<uint8_t>({100, 200});
  EXPECT_EQ(Shown(CallKernel("multiply", {Rows(pixels), Weak<int64_t>(2)})),
            "uint8 200; uint8 144");
  EXPECT_EQ(Shown(CallKernel("multiply", {Weak(0.5), Rows(pixels)})),
            "float64 50.0; float64 100.0");
  EXPECT_EQ(Shown(CallKernel("add", {Rows(ScalarRows<float>({1.5F})), Weak(0.1)})),
            "float32 1.6");
}

TEST(ArithmeticTest, KeepsWhatIsWeakWeak) {
  const ValueType weak = {.dtype = DType::kInt64, .shape = {}, .weak = true};
  const ValueType weak_float = {.dtype = DType::kFloat64, .shape = {}, .weak = true};
  EXPECT_THAT(InferKernel("negate", {weak}), IsOkAndHolds(weak));
  EXPECT_THAT(InferKernel("add", {weak, weak}), IsOkAndHolds(weak));
  EXPECT_THAT(InferKernel("divide", {weak, weak}), IsOkAndHolds(weak_float));
  EXPECT_THAT(InferKernel("sqrt", {weak}), IsOkAndHolds(weak_float));
}

TEST(ArithmeticTest, InfersShapesAsFarAsTheyAreKnown) {
  const auto image = [](const core::Shape& shape) {
    return ValueType{.dtype = DType::kFloat32, .shape = shape};
  };
  const int64_t any = core::kUnknownSize;
  EXPECT_THAT(InferKernel("add", {image({any, any, 3}), image({3})}),
              IsOkAndHolds(image({any, any, 3})));
  EXPECT_THAT(InferKernel("add", {image({any}), image({4, 1})}),
              IsOkAndHolds(image({4, any})));
  EXPECT_THAT(InferKernel("add", {image(core::Shape::Unranked()), image({4})}),
              IsOkAndHolds(image(core::Shape::Unranked())));
  EXPECT_THAT(InferKernel("add", {image({2}), image({3})}),
              StatusIs(kInvalid, HasSubstr("shapes do not go together: [2] and [3]")));
}

TEST(ArithmeticTest, RefusesWhatIsNoNumber) {
  const ValueType boolean = {.dtype = DType::kBool, .shape = {}};
  const ValueType text = {.dtype = DType::kString, .shape = {}};
  const ValueType number = {.dtype = DType::kInt64, .shape = {}};
  for (const std::string_view kernel :
       {"add", "subtract", "multiply", "divide", "floor_divide", "modulo", "minimum",
        "maximum"}) {
    EXPECT_THAT(InferKernel(kernel, {boolean, boolean}),
                StatusIs(kInvalid, HasSubstr("not bool and bool; cast first")))
        << kernel;
    EXPECT_THAT(InferKernel(kernel, {number, text}),
                StatusIs(kInvalid, HasSubstr("not int64 and string")))
        << kernel;
  }
  for (const std::string_view kernel : {"negate", "absolute", "sqrt"}) {
    EXPECT_THAT(InferKernel(kernel, {boolean}), StatusIs(kInvalid)) << kernel;
    EXPECT_THAT(InferKernel(kernel, {text}), StatusIs(kInvalid)) << kernel;
  }
}

TEST(ArithmeticTest, SaysWhenEachCanFail) {
  const auto fails = [](std::string_view kernel) {
    return (*AllKernels().FindKernel(kernel))->fails;
  };
  EXPECT_EQ(fails("add"), ir::Fails::kOnUnknownShapes);
  EXPECT_EQ(fails("divide"), ir::Fails::kOnUnknownShapes);
  EXPECT_EQ(fails("floor_divide"), ir::Fails::kOnZero);
  EXPECT_EQ(fails("modulo"), ir::Fails::kOnZero);
  EXPECT_EQ(fails("negate"), ir::Fails::kNever);
}

}  // namespace
}  // namespace millrace::kernels
