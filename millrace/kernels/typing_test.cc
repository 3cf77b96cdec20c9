#include "millrace/kernels/typing.h"

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"

namespace millrace::kernels {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using core::DType;
using core::kUnknownSize;
using core::Shape;
using ir::ValueType;
using testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ValueType Of(DType dtype, const Shape& shape = {}, bool weak = false) {
  return {.dtype = dtype, .shape = shape, .weak = weak};
}

std::vector<ValueType> Types(std::initializer_list<ValueType> types) { return types; }

TEST(TypingTest, ListsTheTypesInWords) {
  EXPECT_THAT(Needs("numbers", Types({Of(DType::kBool)})),
              StatusIs(kInvalid, "needs numbers, not bool"));
  EXPECT_THAT(Needs("numbers", Types({Of(DType::kBool), Of(DType::kString, {3})})),
              StatusIs(kInvalid, "needs numbers, not bool and string[3]"));
  EXPECT_THAT(
      Needs("one kind", Types({Of(DType::kBool), Of(DType::kInt8), Of(DType::kBytes)}),
            "cast first"),
      StatusIs(kInvalid, "needs one kind, not bool, int8 and bytes; cast first"));
}

TEST(TypingTest, ChecksEveryOperand) {
  EXPECT_THAT(CheckAll(Types({Of(DType::kInt8), Of(DType::kFloat32)}), core::IsNumeric,
                       "numbers"),
              IsOk());
  EXPECT_THAT(
      CheckAll(Types({Of(DType::kInt8), Of(DType::kBool)}), core::IsNumeric, "numbers"),
      StatusIs(kInvalid, "needs numbers, not int8 and bool"));
}

TEST(TypingTest, PromotesNumbers) {
  EXPECT_THAT(MeetNumbers(Types({Of(DType::kUint8, {3}), Of(DType::kInt8, {2, 1})})),
              IsOkAndHolds(Of(DType::kInt16, {2, 3})));
  EXPECT_THAT(MeetNumbers(Types({Of(DType::kBool), Of(DType::kFloat16)})),
              IsOkAndHolds(Of(DType::kFloat16)));
}

TEST(TypingTest, LetsWeakNumbersGiveWay) {
  const ValueType weak = Of(DType::kInt64, {}, true);
  EXPECT_THAT(MeetNumbers(Types({Of(DType::kUint8), weak})),
              IsOkAndHolds(Of(DType::kUint8)));
  EXPECT_THAT(MeetNumbers(Types({weak, weak})), IsOkAndHolds(weak));
  EXPECT_THAT(MeetNumbers(Types({weak})), IsOkAndHolds(weak));
}

TEST(TypingTest, RefusesBoolsAloneAndTexts) {
  EXPECT_THAT(MeetNumbers(Types({Of(DType::kBool), Of(DType::kBool)})),
              StatusIs(kInvalid, HasSubstr("not bool and bool; cast first")));
  EXPECT_THAT(MeetNumbers(Types({Of(DType::kInt64), Of(DType::kString)})),
              StatusIs(kInvalid, HasSubstr("not int64 and string")));
}

TEST(TypingTest, GivesStringsOnlyOfStrings) {
  const ValueType string = Of(DType::kString);
  const ValueType bytes = Of(DType::kBytes, {2});
  EXPECT_THAT(MeetTexts(Types({string, string})), IsOkAndHolds(string));
  EXPECT_THAT(MeetTexts(Types({string, bytes})), IsOkAndHolds(bytes));
  EXPECT_THAT(MeetTexts(Types({string, Of(DType::kInt8)})),
              StatusIs(kInvalid, HasSubstr("needs texts, not string and int8")));
}

TEST(TypingTest, BroadcastsShapesAsFarAsTheyAreKnown) {
  const auto shape = [](const Shape& a, const Shape& b) {
    return MeetShapes(Types({Of(DType::kBool, a), Of(DType::kBool, b)}));
  };
  EXPECT_THAT(shape({kUnknownSize}, {3}), IsOkAndHolds(Shape({3})));
  EXPECT_THAT(shape({kUnknownSize}, {1}), IsOkAndHolds(Shape({kUnknownSize})));
  EXPECT_THAT(shape(Shape::Unranked(), {1}), IsOkAndHolds(Shape::Unranked()));
  EXPECT_THAT(shape({2}, {3}), StatusIs(kInvalid, HasSubstr("bool[2] and bool[3]")));
}

TEST(TypingTest, ResolvesAxesFromBothEnds) {
  const Shape shape = {4, kUnknownSize, 6};
  EXPECT_THAT(ResolveAxis(0, shape), IsOkAndHolds(0));
  EXPECT_THAT(ResolveAxis(2, shape), IsOkAndHolds(2));
  EXPECT_THAT(ResolveAxis(-1, shape), IsOkAndHolds(2));
  EXPECT_THAT(ResolveAxis(-3, shape), IsOkAndHolds(0));
  EXPECT_THAT(ResolveAxis(3, shape),
              StatusIs(kInvalid, "there is no axis 3 in a value of shape [4, ?, 6]"));
  EXPECT_THAT(ResolveAxis(-4, shape), StatusIs(kInvalid));
  EXPECT_THAT(ResolveAxis(0, {}), StatusIs(kInvalid));
  EXPECT_THAT(ResolveAxis(INT64_MIN, shape), StatusIs(kInvalid));
}

}  // namespace
}  // namespace millrace::kernels
