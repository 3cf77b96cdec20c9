#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"

namespace millrace::kernels {
namespace {

using core::DType;
using core::Tensor;
using testing::HasSubstr;

std::string Read(const std::string& kernel, const std::vector<std::string>& texts,
                 const ir::Arguments& arguments) {
  return Shown(CallKernel(kernel, {Rows(TextRows(texts))}, arguments));
}

TEST(JsonValuesTest, ReadsValuesOfTheirType) {
  const std::vector<std::string> texts = {
      R"({"i": -7, "f": 1e3, "b": true, "s": "x\u00e9"})"};
  EXPECT_EQ(Read("json_int", texts, {{"path", "i"}}), "int64 -7");
  EXPECT_EQ(Read("json_float", texts, {{"path", "i"}}), "float64 -7.0");
  EXPECT_EQ(Read("json_float", texts, {{"path", "f"}}), "float64 1000.0");
  EXPECT_EQ(Read("json_bool", texts, {{"path", "b"}}), "bool true");
  EXPECT_EQ(Read("json_text", texts, {{"path", "s"}}), R"(string "x\xc3\xa9")");
}

TEST(JsonValuesTest, TakesWholeTextsAndMarksOfTheEncoding) {
  EXPECT_EQ(Read("json_int", {"5", " 6\n", "\xef\xbb\xbf\x37"}, {}),
            "int64 5; int64 6; int64 7");
  EXPECT_EQ(Read("json_floats", {"[1, NaN, -Infinity]"}, {}),
            "float64[3] [1.0, nan, -inf]");
}

TEST(JsonValuesTest, NumbersKeepToTheirBorders) {
  EXPECT_EQ(Read("json_int", {"9223372036854775807", "-9223372036854775808"}, {}),
            "int64 9223372036854775807; int64 -9223372036854775808");
  EXPECT_THAT(Read("json_int", {"9223372036854775808"}, {}),
              HasSubstr("9223372036854775808 is out of the range of int64"));
  EXPECT_THAT(Read("json_float", {"1e999"}, {}),
              HasSubstr("1e999 is out of the range of float64"));
  EXPECT_EQ(Read("json_float", {"1e-999"}, {}), "float64 0.0");
  for (const char* wrong : {"1.0", "1e2"}) {
    EXPECT_THAT(Read("json_int", {wrong}, {}),
                HasSubstr(base::StrCat("found a number, ", wrong, ", not int64")));
  }
  for (const char* wrong : {"01", "-", "1.", ".5", "+1", "inf", "0x10"}) {
    EXPECT_THAT(Read("json_float", {wrong}, {}), HasSubstr("no valid JSON")) << wrong;
  }
}

TEST(JsonValuesTest, SaysWhatIsThereInstead) {
  const auto error = [](const std::string& kernel, const std::string& path) {
    return Read(kernel, {R"({"a": {"s": "7"}, "l": [1, "x", null]})"},
                {{"path", path}});
  };
  EXPECT_THAT(error("json_int", "a.s"),
              HasSubstr(R"(row 0: path "a.s": found a string, "7", not int64)"));
  EXPECT_THAT(error("json_bool", "a"),
              HasSubstr(R"(found an object, {\"s\": \"7\"}, not a bool)"));
  EXPECT_THAT(error("json_int", "a.b"), HasSubstr(R"(a has no member "b"; argument)"));
  EXPECT_THAT(error("json_int", "x"), HasSubstr(R"(the text has no member "x")"));
  EXPECT_THAT(error("json_int", "l[3]"), HasSubstr("l has no item 3; argument"));
  EXPECT_THAT(error("json_int", "l[2]"), HasSubstr("l[2] is null; argument missing"));
  EXPECT_THAT(error("json_int", "a.s.x"),
              HasSubstr(R"(a.s is a string, "7", no object)"));
  EXPECT_THAT(error("json_int", "a[0]"), HasSubstr("no array"));
  EXPECT_THAT(error("json_ints", "l"),
              HasSubstr(R"(row 0: path "l": item 1: found a string, "x", not int64)"));
  EXPECT_THAT(error("json_texts", "l"), HasSubstr("item 2: found null, not a text"));
  EXPECT_THAT(error("json_ints", "a.s"),
              HasSubstr(R"(found a string, "7", not an array)"));
}

TEST(JsonValuesTest, ErrorsNameTheRow) {
  for (const char* kernel : {"json_int", "json_text", "json_ints", "json_has"}) {
    EXPECT_THAT(Read(kernel, {R"({"a": [1]})", "{]"}, {{"path", "a[0]"}}),
                HasSubstr("row"));
  }
  EXPECT_THAT(Read("json_has", {"{}", "{", "{}"}, {{"path", "a"}}),
              HasSubstr("row 1: path \"a\": no valid JSON: it has its end, too early"));
  EXPECT_THAT(Read("json_ints", {"[]", "[1,]"}, {}),
              HasSubstr("row 1: path \"\": no valid JSON"));
}

TEST(JsonValuesTest, WhatStandsForMissingValues) {
  const std::vector<std::string> texts = {"{}", R"({"a": null})", R"({"a": [5]})"};
  EXPECT_EQ(Read("json_int", texts, {{"path", "a[0]"}, {"missing", -1}}),
            "int64 -1; int64 -1; int64 5");
  EXPECT_EQ(Read("json_float", texts, {{"path", "a[0]"}, {"missing", 2}}),
            "float64 2.0; float64 2.0; float64 5.0");
  EXPECT_EQ(Read("json_text", texts, {{"path", "a"}, {"missing", ""}}),
            "string \"\"; string \"\"; string \"[5]\"");
  EXPECT_EQ(Read("json_ints", texts, {{"path", "a"}, {"missing", ir::List{1, 2}}}),
            "int64[2] [1, 2]; int64[2] [1, 2]; int64[1] [5]");
  EXPECT_EQ(Read("json_texts", texts, {{"path", "a"}, {"missing", ir::List{}}}),
            "string[0] []; string[0] []; string[1] [\"5\"]");
}

TEST(JsonValuesTest, AWrongTypeIsNotMissing) {
  EXPECT_THAT(Read("json_int", {R"({"a": "x"})"}, {{"path", "a"}, {"missing", 0}}),
              HasSubstr("found a string"));
  EXPECT_THAT(Read("json_int", {R"({"a": 1})"}, {{"path", "a.b"}, {"missing", 0}}),
              HasSubstr("a is a number, 1, no object"));
}

TEST(JsonValuesTest, TellsWhetherThereIsAValue) {
  const std::vector<std::string> texts = {"{}", R"({"a": null})", R"({"a": 1})",
                                          R"({"a": {"b": 0}})", "[1]"};
  EXPECT_EQ(Read("json_has", texts, {{"path", "a"}}),
            "bool false; bool false; bool true; bool true; bool false");
  EXPECT_EQ(Read("json_has", texts, {{"path", "a.b"}}),
            "bool false; bool false; bool false; bool true; bool false");
}

TEST(JsonValuesTest, OtherValuesAreTextsAsTheyStand) {
  const std::string text = R"({"n": 1.50, "b": false, "o": {"k": [ 1 ]}})";
  EXPECT_EQ(Read("json_text", {text}, {{"path", "n"}}), "string \"1.50\"");
  EXPECT_EQ(Read("json_text", {text}, {{"path", "b"}}), "string \"false\"");
  const absl::StatusOr<core::Column> inner =
      CallKernel("json_text", {Rows(TextRows({text}))}, {{"path", "o"}});
  ASSERT_TRUE(inner.ok()) << inner.status();
  EXPECT_EQ(Shown(CallKernel("json_ints", {Rows(*inner)}, {{"path", "k"}})),
            "int64[1] [1]");
}

TEST(JsonValuesTest, TextsAreStringsAlsoFromBytes) {
  const core::Column bytes = TextRows({R"({"a": "\ud83d\ude00"})"}, DType::kBytes);
  const auto read = CallKernel("json_text", {Rows(bytes)}, {{"path", "a"}});
  EXPECT_EQ(Shown(read), R"(string "\xf0\x9f\x98\x80")");
  EXPECT_THAT(
      Shown(CallKernel("json_text", {Rows(TextRows({"\"\xff\""}, DType::kBytes))})),
      HasSubstr("no valid UTF-8"));
  EXPECT_THAT(Read("json_text", {R"(["\ud83d"])"}, {{"path", "[0]"}}),
              HasSubstr("wrong escape"));
}

TEST(JsonValuesTest, OneValuePerTextOfAnyShape) {
  const Tensor texts = Tensor::FromTexts({"1", "2", "3", "4"}, {2, 2});
  for (const core::Column& column : Layouts({texts, texts})) {
    EXPECT_EQ(Shown(CallKernel("json_int", {Rows(column)})),
              "int64[2, 2] [1, 2, 3, 4]; int64[2, 2] [1, 2, 3, 4]");
  }
  EXPECT_THAT(InferKernel("json_ints", {{DType::kString, {2}}}).status().ToString(),
              HasSubstr("needs one text per row"));
}

TEST(JsonValuesTest, WrongPathsAreFoundBeforeAnyRow) {
  EXPECT_THAT(
      InferKernel("json_int", {{DType::kString, {}}}, {{"path", "a["}})
          .status()
          .ToString(),
      HasSubstr("argument path is no path: it has no closing bracket at its byte 2"));
  EXPECT_THAT(InferKernel("json_has", {{DType::kInt64, {}}}).status().ToString(),
              HasSubstr("needs texts, not int64"));
}

}  // namespace
}  // namespace millrace::kernels
