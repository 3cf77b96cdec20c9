#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
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

ir::Arguments To(std::string_view dtype) {
  return {{"dtype", ir::Value(std::string(dtype))}};
}

absl::StatusOr<Column> Cast(const Input& input, std::string_view dtype) {
  return CallKernel("cast", {input}, To(dtype));
}

TEST(CastTest, TruncatesAndClampsFloats) {
  const double inf = std::numeric_limits<double>::infinity();
  const Column column = ScalarRows<double>({1.9, -1.9, 300, -300, inf, std::nan("")});
  EXPECT_EQ(Shown(Cast(Rows(column), "uint8")),
            "uint8 1; uint8 0; uint8 255; uint8 0; uint8 255; uint8 0");
  EXPECT_EQ(Shown(Cast(Rows(column), "int8")),
            "int8 1; int8 -1; int8 127; int8 -128; int8 127; int8 0");
}

TEST(CastTest, WrapsIntegers) {
  EXPECT_EQ(Shown(Cast(Rows(ScalarRows<int64_t>({256, -1, 511})), "uint8")),
            "uint8 0; uint8 255; uint8 255");
}

TEST(CastTest, GivesBoolsOfWhatIsNotZero) {
  EXPECT_EQ(Shown(Cast(Rows(ScalarRows<float>({0, -0.0F, 0.5F, NAN})), "bool")),
            "bool false; bool false; bool true; bool true");
  EXPECT_EQ(Shown(Cast(Rows(ScalarRows<bool>({true, false})), "float16")),
            "float16 1.0; float16 0.0");
}

TEST(CastTest, KeepsEveryLayout) {
  for (const Column& column : Layouts(
           {Tensor1<float>({1.5F, 2}), Tensor1<float>({}), Tensor1<float>({-3.5F})})) {
    EXPECT_EQ(Shown(Cast(Rows(column), "int32")),
              "int32[2] [1, 2]; int32[0] []; int32[1] [-3]");
  }
}

TEST(CastTest, CostsNothingWhereTypesAgree) {
  const Column column = ScalarRows<int32_t>({1, 2});
  EXPECT_EQ(Cast(Rows(column), "int32")->values().data(), column.values().data());
}

TEST(CastTest, MakesStringsOfValidBytes) {
  const Column bytes = TextRows({"plain", "", "\xE2\x82\xAC"}, DType::kBytes);
  const Column strings = *Cast(Rows(bytes), "string");
  EXPECT_EQ(strings.dtype(), DType::kString);
  EXPECT_EQ(strings.TextAt(2), "\xE2\x82\xAC");
}

TEST(CastTest, NamesTheRowThatIsNotValid) {
  EXPECT_THAT(Cast(Rows(TextRows({"a", "b", "\xFF"}, DType::kBytes)), "string"),
              StatusIs(absl::StatusCode::kDataLoss,
                       "row 2: bytes are not valid UTF-8 from byte 0 on"));
  const std::vector<std::string> good = {"x", "y"};
  const std::vector<std::string> bad = {"x", "\xC3"};
  for (const Column& column : Layouts({Tensor::FromTexts(good, {2}, DType::kBytes),
                                       Tensor::Text("z", DType::kBytes),
                                       Tensor::FromTexts(bad, {2}, DType::kBytes)})) {
    EXPECT_THAT(Cast(Rows(column), "string"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 2")));
  }
}

TEST(CastTest, MakesBytesOfAnyString) {
  const std::vector<std::string> words = {"a", "bc"};
  for (const Column& column :
       Layouts({Tensor::FromTexts(words, {2}), Tensor::Text("z")})) {
    EXPECT_EQ(Shown(Cast(Rows(column), "bytes")),
              "bytes[2] [\"a\", \"bc\"]; bytes \"z\"");
  }
}

TEST(CastTest, MakesWeakNumbersStrong) {
  const ValueType weak = {.dtype = DType::kInt64, .shape = {}, .weak = true};
  const ValueType strong = {.dtype = DType::kInt64, .shape = {}};
  EXPECT_THAT(InferKernel("cast", {weak}, To("int64")), IsOkAndHolds(strong));
  EXPECT_EQ(Shown(Cast(Weak<int64_t>(7), "float32")), "float32 7.0");
}

TEST(CastTest, KeepsTheShape) {
  for (const core::Shape& shape :
       {core::Shape::Unranked(), core::Shape{core::kUnknownSize, 3}, core::Shape{}}) {
    const ValueType from = {.dtype = DType::kUint8, .shape = shape};
    const ValueType to = {.dtype = DType::kFloat32, .shape = shape};
    EXPECT_THAT(InferKernel("cast", {from}, To("float32")), IsOkAndHolds(to));
  }
}

TEST(CastTest, RefusesNumbersOfTextsAndTextsOfNumbers) {
  const ValueType text = {.dtype = DType::kString, .shape = {}};
  const ValueType number = {.dtype = DType::kInt64, .shape = {2}};
  EXPECT_THAT(InferKernel("cast", {text}, To("int64")),
              StatusIs(kInvalid, "cannot make int64 of string"));
  EXPECT_THAT(InferKernel("cast", {number}, To("string")),
              StatusIs(kInvalid,
                       "cannot make string of int64[2]; to_text makes texts of "
                       "numbers"));
}

TEST(CastTest, RefusesTypesThatDoNotExist) {
  const ValueType number = {.dtype = DType::kInt64, .shape = {}};
  EXPECT_THAT(InferKernel("cast", {number}, To("int65")),
              StatusIs(kInvalid, HasSubstr("must be one of bool, int8")));
  EXPECT_THAT(InferKernel("cast", {number}),
              StatusIs(kInvalid, HasSubstr("dtype is missing")));
}

}  // namespace
}  // namespace millrace::kernels
