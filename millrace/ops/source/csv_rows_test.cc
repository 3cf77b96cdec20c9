#include "millrace/ops/source/csv_rows.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"
#include "millrace/ops/source/row_parser_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CsvPlan PlanOf(std::vector<std::string> columns, std::string_view fields,
               Missing missing = Missing::kError) {
  return {.columns = std::move(columns),
          .fields = *core::ParseSpec(fields),
          .missing = missing};
}

CsvPlan ColumnsOf(std::vector<std::string> columns) {
  return {.columns = std::move(columns), .fields = {}};
}

ParsedTexts Parse(const CsvPlan& plan, const std::vector<std::string>& texts) {
  return ParseTexts(*MakeCsvRows(plan, 4, core::HeapPool()), texts);
}

TEST(CsvRowsTest, CellsBecomeFieldsOfTheirColumns) {
  const CsvPlan plan =
      PlanOf({"a", "b", "c", "d"}, "{d: bool, a: int16, b: string, c: float64}");
  const ParsedTexts parsed = Parse(
      plan, {"1,x,0.5,true", "-2,\"y,\"\"z\",1e3,0", "\xef\xbb\xbf\x33,,nan,FALSE"});
  EXPECT_THAT(parsed.wrong, IsEmpty());
  EXPECT_THAT(parsed.fields, ElementsAre("bool true; bool false; bool false",
                                         "int16 1; int16 -2; int16 3",
                                         R"(string "x"; string "y,\"z"; string "")",
                                         "float64 0.5; float64 1000.0; float64 nan"));
}

TEST(CsvRowsTest, SaysWhatIsWrongWithARow) {
  const CsvPlan plan = PlanOf({"a", "b", "c"}, "{a: int8, b: bool, c: string}");
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"1,true", "a row of 2 cells where there are 3 columns"},
      {"1,true,x,y", "a row of 4 cells where there are 3 columns"},
      {"", "a row of 1 cells where there are 3 columns"},
      {"x,true,", R"(field a: "x" is no int8)"},
      {"1.0,true,", R"(field a: "1.0" is no int8)"},
      {" 1,true,", R"(field a: " 1" is no int8)"},
      {"200,true,", R"(field a: "200" is out of the range of its type, int8)"},
      {"1,yes,", R"(field b: "yes" is no bool)"},
      {",true,", "field a: it is missing: leave it out of `fields`"},
      {"\"\",true,", R"(field a: "" is no int8)"},
      {"1,true,\xff", "no valid UTF-8 at its byte 7"},
      {"1,true,\"x", "quote"},
  };
  for (const auto& [text, why] : wrong) {
    EXPECT_THAT(Parse(plan, {text}).wrong, ElementsAre(HasSubstr(why))) << text;
  }
}

TEST(CsvRowsTest, BytesThatAreNoTextAreLeftToBytes) {
  EXPECT_THAT(Parse(PlanOf({"a"}, "{a: bytes}"), {"\xff"}).fields,
              ElementsAre(R"(bytes "\xff")"));
}

TEST(CsvRowsTest, OfAWrongRowNothingIsKept) {
  const ParsedTexts parsed = Parse(PlanOf({"a", "b"}, "{a: string, b: int64}"),
                                   {"one,1", "two,x", "three", "four,4"});
  EXPECT_EQ(parsed.wrong.size(), 2U);
  EXPECT_THAT(parsed.fields,
              ElementsAre(R"(string "one"; string "four")", "int64 1; int64 4"));
}

TEST(CsvRowsTest, DefaultsStandForEmptyCells) {
  const CsvPlan plan =
      PlanOf({"a", "b", "c", "d"}, "{a: int64, b: float64, c: bool, d: string}",
             Missing::kDefault);
  EXPECT_THAT(Parse(plan, {",,,"}).fields,
              ElementsAre("int64 0", "float64 nan", "bool false", R"(string "")"));
  EXPECT_THAT(Parse(plan, {"\"\",1,true,"}).wrong,
              ElementsAre(HasSubstr("is no int64")));
}

TEST(CsvRowsTest, OtherSeparatorsAndNoQuotes) {
  CsvPlan plan = PlanOf({"a", "b"}, "{a: string, b: int64}");
  plan.syntax = {.separator = '\t', .quote = '\0'};
  EXPECT_THAT(Parse(plan, {"\"x, y\t7"}).fields,
              ElementsAre(R"(string "\"x, y")", "int64 7"));
}

TEST(CsvRowsTest, AHeaderNamesColumns) {
  EXPECT_THAT(ReadCsvHeader("\xef\xbb\xbfid,,\"a,b\"", {}),
              IsOkAndHolds(ElementsAre("id", "column1", "a,b")));
  EXPECT_THAT(ReadCsvHeader("", {}), IsOkAndHolds(ElementsAre("column0")));
  EXPECT_THAT(ReadCsvHeader("\"a", {}), StatusIs(kDataLoss));
  EXPECT_THAT(ReadCsvHeader(std::string(1 << 16, ','), {}),
              StatusIs(kDataLoss, HasSubstr("more than 65536 columns")));
}

TEST(CsvRowsTest, TellsTypesByRows) {
  const CsvPlan plan = ColumnsOf({"i", "f", "b", "s", "none", "big", "mixed", "__x/"});
  const std::vector<std::string> rows = {"1,1,true,x,,9223372036854775808,1,1",
                                         "-2,0.5,0,1,,1,true,1",
                                         "two,cells",  // Passed over.
                                         ",,,,,,,", "\"3\",nan,FALSE,,,2,x,1"};
  EXPECT_THAT(TellCsvFields(rows, plan).ToString(),
              HasSubstr("i: int64, f: float64, b: bool, s: string, none: string, big: "
                        "float64, mixed: string"));
  EXPECT_EQ(TellCsvFields({}, ColumnsOf({"a"})).ToString(), "{a: string}");
}

TEST(CsvRowsTest, OnesAndZerosAreIntegersFirst) {
  EXPECT_EQ(TellCsvFields({"1", "0"}, ColumnsOf({"a"})).ToString(), "{a: int64}");
  EXPECT_EQ(TellCsvFields({"1", "true"}, ColumnsOf({"a"})).ToString(), "{a: bool}");
}

TEST(CsvRowsTest, ChecksFieldsBeforeAnyRow) {
  EXPECT_THAT(CheckCsvFields(ColumnsOf({"a"})),
              StatusIs(kInvalidArgument, HasSubstr("at least one field")));
  EXPECT_THAT(CheckCsvFields(PlanOf({"a", "b"}, "{c: int64}")),
              StatusIs(kInvalidArgument, HasSubstr("c is no column; there are a, b")));
  EXPECT_THAT(CheckCsvFields(PlanOf({"a", "a"}, "{a: int64}")),
              StatusIs(kInvalidArgument, HasSubstr("a is two columns")));
  EXPECT_THAT(CheckCsvFields(PlanOf({"a"}, "{a: int64[2]}")),
              StatusIs(kInvalidArgument, HasSubstr("holds one value")));
  EXPECT_THAT(CheckCsvFields(PlanOf({"a", "b", "b"}, "{a: int64}")), IsOk());
}

}  // namespace
}  // namespace millrace::ops
