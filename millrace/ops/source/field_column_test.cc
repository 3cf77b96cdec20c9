#include "millrace/ops/source/field_column.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/allocator.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ops/source/row_builder.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kResourceExhausted;
using base::IsOk;
using base::StatusIs;
using core::DType;
using core::kUnknownSize;
using testing::ElementsAre;
using testing::HasSubstr;

FieldColumn Make(DType dtype, core::Shape shape = {}, int64_t rows = 4) {
  return FieldColumn({"f", dtype, std::move(shape)}, rows, core::HeapPool());
}

std::vector<std::string> Rows(const core::Column& column) {
  std::vector<std::string> rows;
  for (int64_t row = 0; row < column.rows(); ++row) {
    rows.push_back(column.Row(row)->ToString());
  }
  return rows;
}

TEST(FieldColumnTest, ReadsNumbersAndSaysWhichAreNone) {
  FieldColumn column = Make(DType::kInt8);
  for (const char* text : {"1", "-128", "127"}) {
    EXPECT_THAT(column.PutNumber(text), IsOk());
    column.EndRow();
  }
  EXPECT_THAT(column.PutNumber("128"),
              StatusIs(kDataLoss, HasSubstr("out of the range")));
  EXPECT_THAT(column.PutNumber("x"),
              StatusIs(kDataLoss, HasSubstr("\"x\" is no int8")));
  EXPECT_THAT(column.PutNumber(std::string(1000, '9')),
              StatusIs(kDataLoss, HasSubstr("9...\"")));
  EXPECT_THAT(column.PutText("1"), StatusIs(kDataLoss));
  EXPECT_THAT(column.PutBool(true), StatusIs(kDataLoss));
  column.DropRow();
  EXPECT_THAT(Rows(*column.Take()), ElementsAre("int8 1", "int8 -128", "int8 127"));
  EXPECT_EQ(column.Take()->rows(), 0) << "it begins anew";
}

TEST(FieldColumnTest, FloatsThatAreTooLargeAreOutOfRange) {
  for (const DType dtype : {DType::kFloat16, DType::kFloat32, DType::kBFloat16}) {
    FieldColumn column = Make(dtype);
    EXPECT_THAT(column.PutNumber("1e300"), StatusIs(kDataLoss)) << dtype;
    EXPECT_THAT(column.PutNumber("inf"), IsOk()) << dtype;
    EXPECT_THAT(column.PutNumber("-nan"), IsOk()) << dtype;
  }
  EXPECT_THAT(Make(DType::kFloat16).PutNumber("65520"), StatusIs(kDataLoss));
  EXPECT_THAT(Make(DType::kFloat16).PutNumber("65504"), IsOk());
}

TEST(FieldColumnTest, DropsARowWhereverItWasLeft) {
  FieldColumn column = Make(DType::kString, {kUnknownSize, 2, kUnknownSize});
  const auto put = [&](int outer) {
    for (int i = 0; i < outer; ++i) {
      for (int j = 0; j < 2; ++j) {
        ASSERT_THAT(column.PutText("a"), IsOk());
        ASSERT_THAT(column.EndAxis(2, 1), IsOk());
      }
      ASSERT_THAT(column.EndAxis(1, 2), IsOk());
    }
    ASSERT_THAT(column.EndAxis(0, outer), IsOk());
  };
  ASSERT_THAT(column.PutText("dropped"), IsOk());
  column.DropRow();
  put(2);
  column.EndRow();
  put(3);
  ASSERT_THAT(column.PutText("x"), IsOk());
  ASSERT_THAT(column.EndAxis(2, 1), IsOk());
  EXPECT_THAT(column.EndAxis(1, 1), StatusIs(kDataLoss, HasSubstr("1 items, not 2")));
  column.DropRow();
  put(0);
  column.EndRow();
  put(1);
  column.EndRow();
  EXPECT_THAT(
      Rows(*column.Take()),
      ElementsAre("string[2, 2, 1] [\"a\", \"a\", \"a\", \"a\"]",
                  testing::StartsWith("string[0, "), "string[1, 2, 1] [\"a\", \"a\"]"));
}

TEST(FieldColumnTest, DefaultsHaveTheShapeOfTheField) {
  FieldColumn column = Make(DType::kFloat32, {2, kUnknownSize});
  ASSERT_THAT(column.PutDefault(), IsOk());
  column.EndRow();
  EXPECT_THAT(Rows(*column.Take()), ElementsAre("float32[2, 0] []"));
  FieldColumn fixed = Make(DType::kInt16, {3});
  ASSERT_THAT(fixed.PutDefault(), IsOk());
  fixed.EndRow();
  EXPECT_THAT(Rows(*fixed.Take()), ElementsAre("int16[3] [0, 0, 0]"));
}

TEST(FieldColumnTest, LongTextsHaveBuffersOfTheirOwn) {
  FieldColumn column = Make(DType::kString);
  const std::string big(kLongTextBytes, 'x');
  for (const std::string& text : {std::string("a"), big, std::string("b")}) {
    ASSERT_THAT(column.PutText(text), IsOk());
    column.EndRow();
  }
  const core::Column texts = *column.Take();
  EXPECT_TRUE(texts.HoldsTensors());
  EXPECT_EQ(texts.Row(1)->TextAt(0), big);
  EXPECT_EQ(texts.Row(2)->TextAt(0), "b");
  ASSERT_THAT(column.PutText("c"), IsOk());
  column.EndRow();
  EXPECT_FALSE(column.Take()->HoldsTensors());
}

TEST(FieldColumnTest, NoMemoryIsNoFaultOfTheRow) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 1 << 16});
  FieldColumn column({"f", DType::kBytes, {}}, 1, pool);
  EXPECT_THAT(column.PutText(std::string(1 << 20, 'x')), StatusIs(kResourceExhausted));
}

}  // namespace
}  // namespace millrace::ops
