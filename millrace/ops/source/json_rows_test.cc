#include "millrace/ops/source/json_rows.h"

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
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/spec_text.h"
#include "millrace/ops/source/missing.h"
#include "millrace/ops/source/row_parser.h"
#include "millrace/ops/source/row_parser_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ParsedTexts Parse(std::string_view fields, const std::vector<std::string>& texts,
                  Missing missing = Missing::kError) {
  const std::unique_ptr<RowParser> parser =
      MakeJsonRows(*core::ParseSpec(fields), missing, 4, core::HeapPool());
  return ParseTexts(*parser, texts);
}

std::string ErrorOf(std::string_view fields, const std::string& text) {
  const ParsedTexts parsed = Parse(fields, {text});
  return parsed.wrong.empty() ? "none" : parsed.wrong[0];
}

TEST(JsonRowsTest, MembersBecomeFieldsOfTheirTypes) {
  const ParsedTexts parsed =
      Parse("{i: int8, f: float32, b: bool, s: string, l: int64[?], m.k: uint64}",
            {R"({"s": "x\"y", "i": -128, "b": true, "f": 1, "l": [], "m": {"k": 0}})",
             R"({"i":127,"f":0.1,"b":false,"s":"","l":[1,2],)"
             R"("m":{"k":18446744073709551615}})"});
  EXPECT_THAT(parsed.wrong, IsEmpty());
  EXPECT_THAT(parsed.fields,
              ElementsAre("int8 -128; int8 127", "float32 1.0; float32 0.1",
                          "bool true; bool false", R"(string "x\"y"; string "")",
                          "int64[0] []; int64[2] [1, 2]",
                          "uint64 0; uint64 18446744073709551615"));
}

TEST(JsonRowsTest, TextsTakeWhatElseThereIs) {
  EXPECT_THAT(Parse("{a: string}", {R"({"a":"s"})", R"({"a":1.50})", R"({"a":true})",
                                    R"({"a":[1, 2]})", R"({"a":{"b":1}})"})
                  .fields,
              ElementsAre(R"(string "s"; string "1.50"; string "true"; )"
                          R"(string "[1, 2]"; string "{\"b\":1}")"));
}

TEST(JsonRowsTest, SaysWhatIsWrongWithARow) {
  const std::vector<std::vector<std::string>> wrong = {
      {"{a: int8}", R"({"a": 128})", R"(field a: "128" is out of the range)"},
      {"{a: uint8}", R"({"a": -1})", R"(field a: "-1" is out of the range)"},
      {"{a: int64}", R"({"a": 1.5})", R"(field a: "1.5" is no int64)"},
      {"{a: int64}", R"({"a": 01})", R"("01" is no number)"},
      {"{a: int64}", R"({"a": -01})", R"("-01" is no number)"},
      {"{a: float32}", R"({"a": 1e39})", "is out of the range of its type, float32"},
      {"{a: float64}", R"({"a": 1.})", "is no number"},
      {"{a: int64}", R"({"a": "7"})", R"(field a: a string, "7", is no int64)"},
      {"{a: int64}", R"({"a": true})", "field a: true is no int64"},
      {"{a: bool}", R"({"a": 1})", R"(field a: "1" is no bool)"},
      {"{a: int64}", R"({"a": [1]})", R"(an array, "[1]", is no int64)"},
      {"{a: int64[?]}", R"({"a": 1})", "found a number, no array"},
      {"{a: int64[?]}", R"({"a": [1, null]})", R"(null, "null", is no int64)"},
      {"{a: int64[2]}", R"({"a": [1, 2, 3]})", "field a: "},
      {"{a: int64[?, ?]}", R"({"a": [1]})", "found a number, no array"},
      {"{a: int64[?]}", R"({"a": [1,]})", "field a: "},
      {"{a: string}", R"({"a": "\ud800"})", "a string with a wrong escape"},
      {"{a: int64}", "{}", "field a: it is missing: leave it out of `fields`"},
      {"{a: int64}", R"({"a": null})", "field a: it is null: leave it out of `fields`"},
      {"{a.b: int64}", R"({"a": 5})", "key a is a number, no object"},
      {"{a: int64}", "[]", "no JSON object, but an array"},
      {"{a: int64}", "", "no valid JSON"},
  };
  for (const std::vector<std::string>& one : wrong) {
    EXPECT_THAT(ErrorOf(one[0], one[1]), HasSubstr(one[2])) << one[0] << one[1];
  }
}

TEST(JsonRowsTest, LongTextsAreShownShortened) {
  const std::string error =
      ErrorOf("{a: int64}", base::StrCat("{\"a\":\"", std::string(10'000, 'x'), "\"}"));
  EXPECT_THAT(error, HasSubstr("xxx..."));
  EXPECT_LT(error.size(), 100U);
}

TEST(JsonRowsTest, OfAWrongRowNothingIsKept) {
  const ParsedTexts parsed =
      Parse("{l: int64[?], s: string, i: int64}",
            {R"({"l": [1], "s": "one", "i": 1})", R"({"l": [2, 3], "s": "two"})",
             R"({"l": [4, "x"], "s": "three", "i": 3})",
             R"({"l": [5, 6], "s": "four", "i": 4})"});
  EXPECT_EQ(parsed.wrong.size(), 2U);
  EXPECT_THAT(parsed.fields,
              ElementsAre("int64[1] [1]; int64[2] [5, 6]",
                          R"(string "one"; string "four")", "int64 1; int64 4"));
}

TEST(JsonRowsTest, DefaultsStandForMissingValues) {
  const ParsedTexts parsed =
      Parse("{i: int64, f: float32, b: bool, s: string, l: int64[?], p: int64[2]}",
            {"{}", R"({"i": null, "s": null, "l": null})"}, Missing::kDefault);
  EXPECT_THAT(parsed.wrong, IsEmpty());
  EXPECT_THAT(
      parsed.fields,
      ElementsAre("int64 0; int64 0", "float32 nan; float32 nan",
                  "bool false; bool false", R"(string ""; string "")",
                  "int64[0] []; int64[0] []", "int64[2] [0, 0]; int64[2] [0, 0]"));
}

TEST(JsonRowsTest, ReadsBytesBehindATextOnlyWhereItMay) {
  const std::unique_ptr<RowParser> parser = MakeJsonRows(
      *core::ParseSpec("{a: int64}"), Missing::kError, 1, core::HeapPool());
  const std::string text = R"({"a": 1}{"a": 2})";
  EXPECT_THAT(parser->Add({.text = std::string_view(text).substr(0, 8), .slack = 8}),
              IsOk());
  EXPECT_THAT(parser->Add({.text = "\xef\xbb\xbf{\"a\": 3}"}), IsOk());
  EXPECT_EQ(ShownRows((*parser->Take())[0]), "int64 1; int64 3");
  EXPECT_EQ((*parser->Take())[0].rows(), 0);
}

TEST(JsonRowsTest, ChecksFieldsBeforeAnyRow) {
  EXPECT_THAT(CheckJsonFields(core::Spec()),
              StatusIs(kInvalidArgument, HasSubstr("at least one field")));
  EXPECT_THAT(
      CheckJsonFields(
          core::Spec({{"a", core::DType::kInt64, core::Shape::Unranked()}})),
      StatusIs(kInvalidArgument, HasSubstr("field a needs a shape with known axes")));
  EXPECT_THAT(CheckJsonFields(*core::ParseSpec("{a.b.c: int64, a.b: string}")),
              StatusIs(kInvalidArgument, HasSubstr("a.b.c lies in field a.b")));
  EXPECT_THAT(CheckJsonFields(*core::ParseSpec("{a.b: int64, a.bc: string}")), IsOk());
}

}  // namespace
}  // namespace millrace::ops
