#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
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

const std::vector<std::string_view> kAll = {"equal",      "not_equal", "less",
                                            "less_equal", "greater",   "greater_equal"};

// What each relation says of two things that can be compared.
template <typename T>
bool Holds(std::string_view kernel, const T& a, const T& b) {
  if (kernel == "equal") return a == b;
  if (kernel == "not_equal") return a != b;
  if (kernel == "less") return a < b;
  if (kernel == "less_equal") return a <= b;
  if (kernel == "greater") return a > b;
  return a >= b;
}

// The bits of a column of bools, as "0110".
std::string Bits(const Column& column) {
  std::string bits;
  for (const bool value : column.As<bool>()) bits += value ? '1' : '0';
  return bits;
}

template <typename T>
Column ColumnOf(const std::vector<double>& values) {
  core::Tensors rows;
  for (const double value : values) {
    rows.push_back(Tensor::Scalar(ConvertValue<T>(value)));
  }
  return *core::FromRows(core::kDTypeOf<T>, std::move(rows), core::HeapPool());
}

TEST(CompareTest, ComparesEveryTypeOfNumber) {
  const std::vector<double> a = {0, 0, 1, 1, 2, 100, 3};
  const std::vector<double> b = {0, 1, 0, 1, 3, 100, 2};
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    for (const std::string_view kernel : kAll) {
      const auto [of_a, of_b] = core::VisitDType(dtype, [&]<typename T>() {
        return std::pair(ColumnOf<T>(a), ColumnOf<T>(b));
      });
      std::string expected;
      for (size_t i = 0; i < a.size(); ++i) {
        const bool is_bool = dtype == DType::kBool;
        const double left = is_bool ? (a[i] != 0) : a[i];
        const double right = is_bool ? (b[i] != 0) : b[i];
        expected += Holds(kernel, left, right) ? '1' : '0';
      }
      EXPECT_EQ(Bits(*CallKernel(kernel, {Rows(of_a), Rows(of_b)})), expected)
          << kernel << " of " << dtype;
    }
  }
}

TEST(CompareTest, ComparesSignedWithUnsignedExactly) {
  const std::vector<int64_t> with_sign = {
      -1, 0, 1, INT64_MAX, INT64_MAX - 1, (int64_t{1} << 53) + 1, INT64_MIN};
  const std::vector<uint64_t> without = {0,
                                         1,
                                         UINT64_MAX,
                                         static_cast<uint64_t>(INT64_MAX),
                                         uint64_t{1} << 53,
                                         uint64_t{1} << 63};
  __extension__ using Wide = __int128;
  for (const int64_t a : with_sign) {
    for (const uint64_t b : without) {
      for (const std::string_view kernel : kAll) {
        const Input of_a = Rows(ScalarRows<int64_t>({a}));
        const Input of_b = Rows(ScalarRows<uint64_t>({b}));
        EXPECT_EQ(Bits(*CallKernel(kernel, {of_a, of_b})),
                  Holds<Wide>(kernel, a, b) ? "1" : "0")
            << a << " " << kernel << " " << b;
        EXPECT_EQ(Bits(*CallKernel(kernel, {of_b, of_a})),
                  Holds<Wide>(kernel, b, a) ? "1" : "0")
            << b << " " << kernel << " " << a;
      }
    }
  }
}

TEST(CompareTest, ComparesSmallSignedWithUnsigned64) {
  EXPECT_EQ(Bits(*CallKernel("less", {Rows(ScalarRows<int8_t>({-1, 5})),
                                      Rows(ScalarRows<uint64_t>({0, 5}))})),
            "10");
}

TEST(CompareTest, SaysThatNanEqualsNothing) {
  const double nan = std::nan("");
  const Column a = ScalarRows<double>({nan, nan, 1});
  const Column b = ScalarRows<double>({nan, 1, nan});
  EXPECT_EQ(Bits(*CallKernel("equal", {Rows(a), Rows(b)})), "000");
  EXPECT_EQ(Bits(*CallKernel("not_equal", {Rows(a), Rows(b)})), "111");
  for (const std::string_view kernel : {"less", "less_equal", "greater"}) {
    EXPECT_EQ(Bits(*CallKernel(kernel, {Rows(a), Rows(b)})), "000") << kernel;
  }
}

TEST(CompareTest, ComparesTextsByteByByte) {
  const std::vector<std::string> a = {"", "a", "b", "ab", "Z", "same", "\xC3\xBC"};
  const std::vector<std::string> b = {"a", "", "ab", "b", "a", "same", "z"};
  for (const std::string_view kernel : kAll) {
    std::string expected;
    for (size_t i = 0; i < a.size(); ++i) {
      expected += Holds<std::string>(kernel, a[i], b[i]) ? '1' : '0';
    }
    for (const DType of_a : {DType::kString, DType::kBytes}) {
      for (const DType of_b : {DType::kString, DType::kBytes}) {
        EXPECT_EQ(Bits(*CallKernel(kernel,
                                   {Rows(TextRows(a, of_a)), Rows(TextRows(b, of_b))})),
                  expected)
            << kernel;
      }
    }
  }
}

TEST(CompareTest, BroadcastsTexts) {
  const std::vector<std::string> words = {"cat", "dog", "cat"};
  for (const Column& column :
       Layouts({Tensor::FromTexts(words, {3}), Tensor::Text("cat")})) {
    EXPECT_EQ(Shown(CallKernel("equal", {Rows(column), Constant(Tensor::Text("cat"))})),
              "bool[3] [true, false, true]; bool true");
  }
}

TEST(CompareTest, BroadcastsNumbersInEveryLayout) {
  for (const Column& column :
       Layouts({Tensor1<float>({1, 5}), Tensor1<float>({3, 0, 4})})) {
    EXPECT_EQ(Shown(CallKernel("greater", {Rows(column), Weak<int64_t>(3)})),
              "bool[2] [false, true]; bool[3] [false, false, true]");
    EXPECT_EQ(Shown(CallKernel("less", {Weak<int64_t>(3), Rows(column)})),
              "bool[2] [false, true]; bool[3] [false, false, true]");
  }
}

TEST(CompareTest, ComparesWeakNumbersAsTheTypeTheyMeet) {
  EXPECT_EQ(Bits(*CallKernel("equal", {Rows(ScalarRows<float>({0.1F})), Weak(0.1)})),
            "1");  // As doubles they differ.
  EXPECT_EQ(
      Bits(*CallKernel("less", {Rows(ScalarRows<uint64_t>({1})), Weak<int64_t>(2)})),
      "1");
}

TEST(CompareTest, InfersBoolsThatAreNeverWeak) {
  const ValueType weak = {.dtype = DType::kInt64, .shape = {}, .weak = true};
  const ValueType one = {.dtype = DType::kBool, .shape = {}};
  EXPECT_THAT(InferKernel("less", {weak, weak}), IsOkAndHolds(one));
  const ValueType some = {.dtype = DType::kInt8, .shape = {core::kUnknownSize, 1}};
  const ValueType four = {.dtype = DType::kInt8, .shape = {4}};
  const ValueType both = {.dtype = DType::kBool, .shape = {core::kUnknownSize, 4}};
  EXPECT_THAT(InferKernel("less", {some, four}), IsOkAndHolds(both));
}

TEST(CompareTest, RefusesNumbersWithTexts) {
  const ValueType text = {.dtype = DType::kBytes, .shape = {}};
  const ValueType number = {.dtype = DType::kFloat32, .shape = {}};
  for (const std::string_view kernel : kAll) {
    EXPECT_THAT(
        InferKernel(kernel, {number, text}),
        StatusIs(kInvalid,
                 HasSubstr("needs two numbers or two texts, not float32 and bytes")));
  }
}

TEST(CompareTest, RefusesShapesThatDoNotMeet) {
  const ValueType two = {.dtype = DType::kInt8, .shape = {2}};
  const ValueType three = {.dtype = DType::kInt8, .shape = {3}};
  EXPECT_THAT(InferKernel("equal", {two, three}),
              StatusIs(kInvalid, HasSubstr("int8[2] and int8[3]")));
}

}  // namespace
}  // namespace millrace::kernels
