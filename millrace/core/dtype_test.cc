#include "millrace/core/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace::core {
namespace {

using testing::Optional;

TEST(DtypeTest, ListsEveryTypeInTheOrderOfTheEnum) {
  for (size_t i = 0; i < kAllDTypes.size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(kAllDTypes[i]), i);
  }
  EXPECT_EQ(kAllDTypes.back(), DType::kString);
}

TEST(DtypeTest, NamesAreThoseUsersWrite) {
  EXPECT_EQ(Name(DType::kBool), "bool");
  EXPECT_EQ(Name(DType::kUint8), "uint8");
  EXPECT_EQ(Name(DType::kInt64), "int64");
  EXPECT_EQ(Name(DType::kFloat16), "float16");
  EXPECT_EQ(Name(DType::kBFloat16), "bfloat16");
  EXPECT_EQ(Name(DType::kFloat64), "float64");
  EXPECT_EQ(Name(DType::kBytes), "bytes");
  EXPECT_EQ(Name(DType::kString), "string");
}

TEST(DtypeTest, EveryNameAndSuffixIsReadBackAsItsType) {
  for (const DType dtype : kAllDTypes) {
    EXPECT_THAT(ParseDType(Name(dtype)), Optional(dtype));
    if (LiteralSuffix(dtype).empty()) continue;
    EXPECT_THAT(ParseDType(LiteralSuffix(dtype)), Optional(dtype));
  }
}

TEST(DtypeTest, NoTwoTypesShareANameOrSuffix) {
  std::set<std::string_view> seen;
  for (const DType dtype : kAllDTypes) {
    EXPECT_TRUE(seen.insert(Name(dtype)).second) << dtype;
    if (LiteralSuffix(dtype).empty()) continue;
    EXPECT_TRUE(seen.insert(LiteralSuffix(dtype)).second) << dtype;
  }
}

TEST(DtypeTest, OnlyTypesWhoseLiteralsShowItHaveNoSuffix) {
  for (const DType dtype : kAllDTypes) {
    const bool shown =
        dtype == DType::kBool || dtype == DType::kBytes || dtype == DType::kString;
    EXPECT_EQ(LiteralSuffix(dtype).empty(), shown) << dtype;
  }
}

TEST(DtypeTest, OtherNamesAreNoTypes) {
  for (const std::string_view name : {"", " ", "int", "Int8", "int8 ", "float", "u",
                                      "i", "f8", "complex64", "object"}) {
    EXPECT_EQ(ParseDType(name), std::nullopt) << name;
  }
}

TEST(DtypeTest, PrintsItsName) {
  std::ostringstream out;
  out << DType::kUint16;
  EXPECT_EQ(out.str(), "uint16");
}

TEST(DtypeTest, KindsDivideTheTypes) {
  for (const DType dtype : kAllDTypes) {
    const int kinds = static_cast<int>(dtype == DType::kBool) + IsInteger(dtype) +
                      IsFloat(dtype) + IsVariable(dtype);
    EXPECT_EQ(kinds, 1) << dtype;
    EXPECT_EQ(IsNumeric(dtype), IsInteger(dtype) || IsFloat(dtype)) << dtype;
  }
}

TEST(DtypeTest, FactsAgreeWithTheCppType) {
  for (const DType dtype : kAllDTypes) {
    if (IsVariable(dtype)) {
      EXPECT_EQ(SizeOf(dtype), 0);
      EXPECT_FALSE(IsSigned(dtype));
      continue;
    }
    VisitDType(dtype, [&]<typename T>() {
      constexpr bool kSmallFloat = std::is_class_v<T>;
      EXPECT_EQ(SizeOf(dtype), static_cast<int64_t>(sizeof(T))) << dtype;
      EXPECT_EQ(kDTypeOf<T>, dtype);
      EXPECT_EQ(IsFloat(dtype), std::is_floating_point_v<T> || kSmallFloat) << dtype;
      EXPECT_EQ(IsSigned(dtype), std::is_signed_v<T> || kSmallFloat) << dtype;
      EXPECT_EQ(IsInteger(dtype), (std::is_integral_v<T> && !std::is_same_v<T, bool>))
          << dtype;
    });
  }
}

TEST(DtypeTest, VisitingATextTypeIsAProgrammingError) {
  const auto visit = []<typename T>() { return sizeof(T); };
  EXPECT_EQ(VisitDType(DType::kInt16, visit), 2U);
  EXPECT_DEATH(VisitDType(DType::kString, visit), "string");
}

// numpy.result_type of every pair, checked against NumPy 2.4.
constexpr std::array<std::string_view, 12> kNumPyTypes = {
    "bool",   "int8",   "int16",  "int32",   "int64",   "uint8",
    "uint16", "uint32", "uint64", "float16", "float32", "float64"};
constexpr std::array<std::array<std::string_view, 12>, 12> kNumPyPromotion = {{
    {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"},
    {"i8", "i8", "i16", "i32", "i64", "i16", "i32", "i64", "f64", "f16", "f32", "f64"},
    {"i16", "i16", "i16", "i32", "i64", "i16", "i32", "i64", "f64", "f32", "f32",
     "f64"},
    {"i32", "i32", "i32", "i32", "i64", "i32", "i32", "i64", "f64", "f64", "f64",
     "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "i64", "f64", "f64", "f64",
     "f64"},
    {"u8", "i16", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"},
    {"u16", "i32", "i32", "i32", "i64", "u16", "u16", "u32", "u64", "f32", "f32",
     "f64"},
    {"u32", "i64", "i64", "i64", "i64", "u32", "u32", "u32", "u64", "f64", "f64",
     "f64"},
    {"u64", "f64", "f64", "f64", "f64", "u64", "u64", "u64", "u64", "f64", "f64",
     "f64"},
    {"f16", "f16", "f32", "f64", "f64", "f16", "f32", "f64", "f64", "f16", "f32",
     "f64"},
    {"f32", "f32", "f32", "f64", "f64", "f32", "f32", "f64", "f64", "f32", "f32",
     "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64",
     "f64"},
}};

TEST(DtypeTest, PromotesAsNumPyDoes) {
  for (size_t i = 0; i < kNumPyTypes.size(); ++i) {
    for (size_t j = 0; j < kNumPyTypes.size(); ++j) {
      const DType a = *ParseDType(kNumPyTypes[i]);
      const DType b = *ParseDType(kNumPyTypes[j]);
      EXPECT_THAT(Promote(a, b), Optional(*ParseDType(kNumPyPromotion[i][j])))
          << a << " with " << b;
    }
  }
}

// bfloat16 has eight bits of precision: it holds bytes, and no other integer.
TEST(DtypeTest, PromotesBFloat16AsAFloatOfEightBits) {
  const DType bf16 = DType::kBFloat16;
  for (const DType small : {DType::kBool, DType::kInt8, DType::kUint8, bf16}) {
    EXPECT_THAT(Promote(bf16, small), Optional(bf16)) << small;
  }
  for (const DType middle :
       {DType::kInt16, DType::kUint16, DType::kFloat16, DType::kFloat32}) {
    EXPECT_THAT(Promote(bf16, middle), Optional(DType::kFloat32)) << middle;
  }
  for (const DType large : {DType::kInt32, DType::kUint32, DType::kInt64,
                            DType::kUint64, DType::kFloat64}) {
    EXPECT_THAT(Promote(bf16, large), Optional(DType::kFloat64)) << large;
  }
}

TEST(DtypeTest, PromotionDoesNotDependOnTheOrder) {
  for (const DType a : kAllDTypes) {
    EXPECT_THAT(Promote(a, a), Optional(a));
    for (const DType b : kAllDTypes) EXPECT_EQ(Promote(a, b), Promote(b, a)) << a << b;
  }
}

TEST(DtypeTest, TextMeetsOnlyText) {
  EXPECT_THAT(Promote(DType::kBytes, DType::kString), Optional(DType::kBytes));
  for (const DType dtype : kAllDTypes) {
    if (IsVariable(dtype)) continue;
    EXPECT_EQ(Promote(dtype, DType::kString), std::nullopt) << dtype;
    EXPECT_EQ(Promote(DType::kBytes, dtype), std::nullopt) << dtype;
  }
}

}  // namespace
}  // namespace millrace::core
