#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using testing::HasSubstr;

std::string Parse(const std::vector<std::string>& texts,
                  const ir::Arguments& arguments = {}) {
  return Shown(CallKernel("parse_date", {Rows(TextRows(texts))}, arguments));
}

std::string Part(const std::string& part, int64_t seconds,
                 const std::string& unit = "seconds") {
  return Shown(CallKernel("date_part", {Rows(ScalarRows<int64_t>({seconds}))},
                          {{"part", part}, {"unit", unit}}));
}

TEST(DatesTest, ReadsDates) {
  EXPECT_EQ(Parse({"2024-02-29", "1969-12-31T23:59:59Z"}),
            "int64 1709164800; int64 -1");
  EXPECT_EQ(Parse({"29.2.2024"}, {{"format", "%d.%m.%Y"}}), "int64 1709164800");
}

TEST(DatesTest, CountsInUnits) {
  EXPECT_EQ(Parse({"1970-01-01T00:00:01.25"}), "int64 1");
  EXPECT_EQ(Parse({"1970-01-01T00:00:01.25"}, {{"unit", "milliseconds"}}),
            "int64 1250");
  EXPECT_EQ(Parse({"1969-12-31T23:59:59.25"}, {{"unit", "microseconds"}}),
            "int64 -750000");
  EXPECT_THAT(Parse({"2024-01-01", "9999-01-01"}, {{"unit", "nanoseconds"}}),
              HasSubstr("row 1: the date is out of the range of the unit"));
}

TEST(DatesTest, NamesTheTextThatIsNoDate) {
  EXPECT_THAT(Parse({"2024-01-01", "soon"}),
              HasSubstr("row 1: \"soon\" is no date of the format"));
  EXPECT_THAT(InferKernel("parse_date", {{DType::kString, {}}}, {{"format", "%Q"}})
                  .status()
                  .ToString(),
              HasSubstr("argument format has %Q"));
}

TEST(DatesTest, GivesParts) {
  const int64_t moment = 1709209815;  // Thursday, 2024-02-29 12:30:15.
  EXPECT_EQ(Part("year", moment), "int64 2024");
  EXPECT_EQ(Part("month", moment), "int64 2");
  EXPECT_EQ(Part("day", moment), "int64 29");
  EXPECT_EQ(Part("hour", moment), "int64 12");
  EXPECT_EQ(Part("minute", moment), "int64 30");
  EXPECT_EQ(Part("second", moment), "int64 15");
  EXPECT_EQ(Part("weekday", moment), "int64 3");
  EXPECT_EQ(Part("day_of_year", moment), "int64 60");
}

TEST(DatesTest, GivesPartsBefore1970) {
  EXPECT_EQ(Part("year", -1), "int64 1969");
  EXPECT_EQ(Part("second", -1), "int64 59");
  EXPECT_EQ(Part("weekday", -1), "int64 2");
  EXPECT_EQ(Part("weekday", int64_t{-86400} * 4), "int64 6");
  EXPECT_EQ(Part("hour", -1, "nanoseconds"), "int64 23");
}

TEST(DatesTest, TakesEveryInteger) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Part("year", most), "int64 292277026596");
  EXPECT_EQ(Part("year", least), "int64 -292277022657");
  EXPECT_EQ(Part("year", most, "nanoseconds"), "int64 2262");
  EXPECT_THAT(InferKernel("date_part", {{DType::kUint64, {}}}, {{"part", "year"}})
                  .status()
                  .ToString(),
              HasSubstr("integers that int64 holds"));
}

}  // namespace
}  // namespace millrace::kernels
