#include "millrace/ir/type.h"

#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"

namespace millrace::ir {
namespace {

using base::IsOkAndHolds;
using base::StatusIs;
using core::DType;
using core::kUnknownSize;
using core::Shape;
using testing::AllOf;
using testing::HasSubstr;

ValueType Strong(DType dtype, Shape shape = {}) { return {dtype, std::move(shape)}; }

ValueType Weak(DType dtype) { return {dtype, {}, true}; }

// "uint8", "int64 (weak)", "none".
std::string Promoted(const ValueType& a, const ValueType& b) {
  const std::optional<Promotion> promotion = Promote(a, b);
  if (!promotion) return "none";
  return std::string(core::Name(promotion->dtype)) + (promotion->weak ? " (weak)" : "");
}

TEST(TypeTest, PrintsTypeAndShape) {
  EXPECT_EQ(ToString(Strong(DType::kInt64)), "int64");
  EXPECT_EQ(ToString(Strong(DType::kUint8, {kUnknownSize, 4, 3})), "uint8[?, 4, 3]");
  EXPECT_EQ(ToString(Strong(DType::kString, Shape::Unranked())), "string[...]");
  EXPECT_EQ(ToString(Weak(DType::kFloat64)), "float64");
}

TEST(TypeTest, StreamsSayWhatIsWeak) {
  std::ostringstream out;
  out << Weak(DType::kInt64) << ", " << Strong(DType::kInt64);
  EXPECT_EQ(out.str(), "int64 (weak), int64");
}

TEST(TypeTest, ComparesTypeShapeAndWeakness) {
  EXPECT_EQ(Strong(DType::kInt64), Strong(DType::kInt64));
  EXPECT_NE(Strong(DType::kInt64), Weak(DType::kInt64));
  EXPECT_NE(Strong(DType::kInt64), Strong(DType::kInt64, {1}));
  EXPECT_NE(Strong(DType::kInt64), Strong(DType::kInt32));
}

TEST(TypeTest, StrongTypesPromoteAsInNumPy) {
  EXPECT_EQ(Promoted(Strong(DType::kUint8), Strong(DType::kInt8)), "int16");
  EXPECT_EQ(Promoted(Strong(DType::kUint64), Strong(DType::kInt64)), "float64");
  EXPECT_EQ(Promoted(Strong(DType::kInt32), Strong(DType::kFloat32)), "float64");
  EXPECT_EQ(Promoted(Strong(DType::kBool), Strong(DType::kUint8)), "uint8");
  EXPECT_EQ(Promoted(Strong(DType::kFloat16), Strong(DType::kBFloat16)), "float32");
}

// NEP 50: a Python number never widens an array of its own kind or of a higher one.
TEST(TypeTest, AWeakIntegerGivesWayToEveryNumber) {
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsNumeric(dtype)) continue;
    EXPECT_EQ(Promoted(Weak(DType::kInt64), Strong(dtype)), core::Name(dtype));
    EXPECT_EQ(Promoted(Strong(dtype), Weak(DType::kInt64)), core::Name(dtype));
  }
}

TEST(TypeTest, AWeakFloatGivesWayToEveryFloatAndLiftsTheRest) {
  for (const DType dtype : core::kAllDTypes) {
    if (core::IsVariable(dtype)) continue;
    const std::string wanted(core::IsFloat(dtype) ? core::Name(dtype) : "float64");
    EXPECT_EQ(Promoted(Weak(DType::kFloat64), Strong(dtype)), wanted);
    EXPECT_EQ(Promoted(Strong(dtype), Weak(DType::kFloat64)), wanted);
  }
}

TEST(TypeTest, AWeakIntegerLiftsABool) {
  EXPECT_EQ(Promoted(Weak(DType::kInt64), Strong(DType::kBool)), "int64");
  EXPECT_EQ(Promoted(Strong(DType::kBool), Weak(DType::kInt64)), "int64");
}

TEST(TypeTest, OnlyTwoWeakOnesStayWeak) {
  EXPECT_EQ(Promoted(Weak(DType::kInt64), Weak(DType::kInt64)), "int64 (weak)");
  EXPECT_EQ(Promoted(Weak(DType::kInt64), Weak(DType::kFloat64)), "float64 (weak)");
  EXPECT_EQ(Promoted(Weak(DType::kFloat64), Weak(DType::kInt64)), "float64 (weak)");
}

TEST(TypeTest, TextsMeetTextsOnly) {
  EXPECT_EQ(Promoted(Strong(DType::kString), Strong(DType::kString)), "string");
  EXPECT_EQ(Promoted(Strong(DType::kString), Strong(DType::kBytes)), "bytes");
  EXPECT_EQ(Promoted(Strong(DType::kString), Strong(DType::kInt64)), "none");
  EXPECT_EQ(Promoted(Strong(DType::kBytes), Weak(DType::kInt64)), "none");
  EXPECT_EQ(Promoted(Strong(DType::kBool), Strong(DType::kString)), "none");
}

TEST(TypeTest, PromotionDoesNotDependOnTheOrderOfTwo) {
  std::vector<ValueType> types = {Weak(DType::kInt64), Weak(DType::kFloat64)};
  for (const DType dtype : core::kAllDTypes) types.push_back(Strong(dtype));
  for (const ValueType& a : types) {
    for (const ValueType& b : types) {
      EXPECT_EQ(Promoted(a, b), Promoted(b, a)) << a << " and " << b;
    }
  }
}

TEST(TypeTest, MeetingPromotesAndBroadcasts) {
  EXPECT_THAT(Meet(Strong(DType::kUint8, {kUnknownSize, 1}), Strong(DType::kInt8, {3})),
              IsOkAndHolds(Strong(DType::kInt16, {kUnknownSize, 3})));
  EXPECT_THAT(Meet(Strong(DType::kUint8, {2, 3}), Weak(DType::kInt64)),
              IsOkAndHolds(Strong(DType::kUint8, {2, 3})));
  EXPECT_THAT(Meet(Weak(DType::kInt64), Weak(DType::kInt64)),
              IsOkAndHolds(Weak(DType::kInt64)));
  EXPECT_THAT(Meet(Strong(DType::kInt8, Shape::Unranked()), Strong(DType::kInt8, {2})),
              IsOkAndHolds(Strong(DType::kInt8, Shape::Unranked())));
}

TEST(TypeTest, WhatCannotMeetIsNamed) {
  EXPECT_THAT(Meet(Strong(DType::kString), Strong(DType::kInt64, {2})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("types do not go together"), HasSubstr("string"),
                             HasSubstr("int64[2]"))));
  EXPECT_THAT(Meet(Strong(DType::kInt64, {2}), Strong(DType::kInt64, {3})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("shapes do not go together"),
                             HasSubstr("[2] and [3]"))));
}

}  // namespace
}  // namespace millrace::ir
