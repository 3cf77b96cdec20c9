#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string Fields(std::string_view fields, std::string_view more = "") {
  return base::StrCat(", fields=\"", fields, "\"", more);
}

TEST(ReadJsonlTest, TellsFieldsByTheFirstRows) {
  const TemporaryFolder folder;
  const std::string path = folder.Write(
      "a.jsonl",
      "{\"id\":1,\"x\":1,\"ok\":true,\"name\":\"a\",\"tags\":[\"x\"],\"m\":{\"b\":"
      "{\"c\":2}, \"d\":[]},\"odd\":[{}],\"n\":null}\n"
      "{\"id\":2,\"x\":0.5,\"ok\":false,\"name\":\"\",\"tags\":[],\"m\":{\"b\":"
      "{\"c\":3}, \"d\":[]},\"odd\":1,\"e\":[1,2.5]}\n");
  EXPECT_THAT(SpecOf(Call("read_jsonl", path)),
              IsOkAndHolds("{id: int64, x: float64, ok: bool, name: string, tags: "
                           "string[?], m.b.c: int64, m.d: string, odd: string, n: "
                           "string, e: float64[?]}"));
}

TEST(ReadJsonlTest, GivesTypedFieldsOfAllFiles) {
  const TemporaryFolder folder;
  folder.Write("b.jsonl", "{\"id\": 3, \"x\": [], \"m\": {\"s\": \"\\u00e9\"}}");
  folder.Write("a.jsonl",
               "{\"m\":{\"s\":\"a\\n\"},\"id\":1,\"x\":[1,2]}\r\n"
               "{\"id\":-2,\"x\":[3],\"m\":{\"s\":\"\"},\"more\":{}}\n");
  const std::string call =
      Call("read_jsonl", folder / "*.jsonl", Fields("{id: int64, x: int64[?]}"));
  EXPECT_THAT(Values(call, "id"),
              IsOkAndHolds(ElementsAre("int64 1", "int64 -2", "int64 3")));
  EXPECT_THAT(
      Values(call, "x"),
      IsOkAndHolds(ElementsAre("int64[2] [1, 2]", "int64[1] [3]", "int64[0] []")));
  EXPECT_THAT(
      ReadField(Call("read_jsonl", folder / "*", Fields("{m.s: string}")), "m.s"),
      IsOkAndHolds(ElementsAre("a\n", "", "\xc3\xa9")));
}

TEST(ReadJsonlTest, ReadsEveryType) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a",
                                        "{\"a\": 200, \"b\": 0.5, \"c\": [[1,2],[3,"
                                        "4]], \"d\": true, \"e\": [[\"x\"],[]]}");
  const auto value = [&](const std::string& type, const std::string& field) {
    const auto values = Values(
        Call("read_jsonl", path, Fields(base::StrCat(field, ": ", type))), field);
    return values.ok() ? values->at(0) : std::string(values.status().message());
  };
  for (const std::string type : {"uint8", "int16", "uint16", "int32", "uint32", "int64",
                                 "uint64", "float16", "bfloat16", "float32"}) {
    EXPECT_EQ(
        value(type, "a"),
        base::StrCat(type, type.find("float") == std::string::npos ? " 200" : " 200.0"))
        << type;
  }
  EXPECT_THAT(value("int8", "a"), HasSubstr("field a: \"200\" is out of the range"));
  EXPECT_THAT(value("int64", "b"), HasSubstr("field b: \"0.5\" is no int64"));
  EXPECT_EQ(value("float64", "b"), "float64 0.5");
  EXPECT_EQ(value("string", "b"), "string \"0.5\"");
  EXPECT_EQ(value("int32[2, 2]", "c"), "int32[2, 2] [1, 2, 3, 4]");
  EXPECT_EQ(value("int32[?, 2]", "c"), "int32[2, 2] [1, 2, 3, 4]");
  EXPECT_EQ(value("float32[?, ?]", "c"), "float32[2, 2] [1.0, 2.0, 3.0, 4.0]");
  EXPECT_THAT(value("int32[2, 3]", "c"), HasSubstr("an array has 2 items, not 3"));
  EXPECT_THAT(value("int32[?]", "c"), HasSubstr("an array, \"[1,2]\", is no int32"));
  EXPECT_EQ(value("string", "c"), "string \"[[1,2],[3,4]]\"");
  EXPECT_EQ(value("bool", "d"), "bool true");
  EXPECT_THAT(value("int8", "d"), HasSubstr("true is no int8"));
  EXPECT_THAT(value("bool", "a"), HasSubstr("\"200\" is no bool"));
  EXPECT_THAT(value("string[?]", "a"), HasSubstr("found a number, no array"));
}

TEST(ReadJsonlTest, WhatIsMissingIsAnErrorOrADefault) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "{\"a\":1}\n{\"a\":null,\"f\":2.5}\n");
  const std::string fields =
      "{a: int32, f: float32, s: string, t: string[?], v: int8[2]}";
  EXPECT_THAT(Values(Call("read_jsonl", path, Fields(fields)), "a"),
              StatusIs(kDataLoss, AllOf(HasSubstr("field f: it is missing"),
                                        HasSubstr("missing=\"default\""),
                                        HasSubstr("row at byte 0"), HasSubstr(path))));
  const std::string call =
      Call("read_jsonl", path, Fields(fields, ", missing=\"default\""));
  EXPECT_THAT(Values(call, "a"), IsOkAndHolds(ElementsAre("int32 1", "int32 0")));
  EXPECT_THAT(Values(call, "f"),
              IsOkAndHolds(ElementsAre("float32 nan", "float32 2.5")));
  EXPECT_THAT(Values(call, "s"),
              IsOkAndHolds(ElementsAre("string \"\"", "string \"\"")));
  EXPECT_THAT(Values(call, "t"),
              IsOkAndHolds(ElementsAre("string[0] []", "string[0] []")));
  EXPECT_THAT(Values(call, "v"),
              IsOkAndHolds(ElementsAre("int8[2] [0, 0]", "int8[2] [0, 0]")));
}

TEST(ReadJsonlTest, WrongRowsAreLeftOutAndTheOthersKeepTheirPlaces) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.jsonl",
                                        "{\"t\":[\"a\",\"b\"],\"id\":0}\n"
                                        "{\"t\":[\"c\",\"d\"],\"id\":\"x\"}\n"
                                        "{\"t\":[\"e\"],\"id\":\n"
                                        "\n"
                                        "{\"t\":[\"\xff\"],\"id\":4}\n"
                                        "{\"t\":[\"f\"],\"id\":99999999999999999999}\n"
                                        "{\"t\":[\"g\"],\"id\":6}\n");
  const std::string call =
      Call("read_jsonl", path, Fields("{t: string[?], id: int64}"));
  LeavesOut bad;
  EXPECT_THAT(
      Values(call, "t", bad),
      IsOkAndHolds(ElementsAre("string[2] [\"a\", \"b\"]", "string[1] [\"g\"]")));
  ASSERT_EQ(bad.reasons.size(), 5U);
  const auto reason = [&](int i) { return bad.reasons[i]; };
  EXPECT_THAT(reason(0), AllOf(HasSubstr("field id: a string, \"x\", is no int64"),
                               HasSubstr("row at byte 23")));
  EXPECT_THAT(reason(1), HasSubstr("no valid JSON: it has its end, too early"));
  EXPECT_THAT(reason(2), HasSubstr("its end, too early at its byte 0"));
  EXPECT_THAT(reason(3), HasSubstr("no valid UTF-8 at its byte 7"));
  EXPECT_THAT(reason(4), HasSubstr("out of the range of its type, int64"));
  LeavesOut again;
  const PlainRows rows =
      *ReadPlain(Call("read_jsonl", path, Fields("id: int64")), again);
  EXPECT_EQ(rows.ids.back().lo, 6U);
}

// Rows of many sizes, one of them longer than any window.
std::vector<std::string> ManyRows() {
  std::vector<std::string> rows;
  for (int i = 0; i < 6000; ++i) {
    const int size = i == 3333 ? 3'000'000 : i * 37 % 900;
    rows.push_back(base::StrCat("{\"id\": ", i, ", \"text\": \"",
                                std::string(size, 'x'), i % 3 == 0 ? "\\n" : "",
                                "\", \"n\": [", i, ", ", i + 1, "]}"));
  }
  rows[7] = base::StrCat("{\"n\":[7,8],\"text\":\"", std::string(40'000, 'y'),
                         "\",\"id\":7}");
  return rows;
}

TEST(ReadJsonlTest, CompressedOrIndexedItGivesTheSameRows) {
  const TemporaryFolder folder;
  const std::string text = absl::StrJoin(ManyRows(), "\n");
  const std::string path = folder.Write("a.jsonl", text);
  folder.Write("z/a.jsonl.gz", codec::Gzipped(text));
  folder.Write("z/a.jsonl.zst", codec::Zstandard(text));
  const PlainRows plain =
      *ReadPlain(Call("read_jsonl", path, Fields("{id: int64, text: string}")));
  ASSERT_EQ(plain.rows.size(), 6000U);
  EXPECT_EQ(plain.rows[3333].at("text").size(), 3'000'001U);
  EXPECT_EQ(plain.rows[3].at("text"), std::string(111, 'x') + "\n");
  for (const char* name : {"z/a.jsonl.gz", "z/a.jsonl.zst"}) {
    const PlainRows other = *ReadPlain(
        Call("read_jsonl", folder / name, Fields("{id: int64, text: string}")));
    EXPECT_TRUE(other.rows == plain.rows) << name;
  }
  AddIndex(path, storage::RowFormat::kLines);
  const auto source = *MakeFileSource(Call("read_jsonl", path, Fields("id: int64")),
                                      {.pool = core::HeapPool()});
  EXPECT_EQ(source->List()->splits[0].rows, 6000);
  for (const int64_t begin : {0, 7, 3333, 5999}) {
    const PlainRows rows = ToPlain(*ReadAll(*source, {0, begin, begin + 1}));
    ASSERT_EQ(rows.rows.size(), 1U);
    EXPECT_EQ(rows.rows[0].at("id"), base::StrCat(begin));
    EXPECT_EQ(rows.ids[0].lo, static_cast<uint64_t>(begin));
  }
}

TEST(ReadJsonlTest, AMarkOfTheEncodingIsNoPartOfTheFirstRow) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "\xef\xbb\xbf{\"id\": 1}\n");
  EXPECT_THAT(ReadField(Call("read_jsonl", path), "id"),
              IsOkAndHolds(ElementsAre("1")));
}

TEST(ReadJsonlTest, SaysWhatIsWrongWithItsArguments) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a", "{\"a\":1}\n");
  const std::string empty = folder.Write("empty", "");
  const std::string text = folder.Write("text", "plain\n");
  EXPECT_THAT(SpecOf(Call("read_jsonl", path, Fields("{a: int65}"))),
              StatusIs(kInvalidArgument, HasSubstr("argument fields")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", path, Fields("{}"))),
              StatusIs(kInvalidArgument, HasSubstr("at least one field")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", path, Fields("{a: string, a.b: int8}"))),
              StatusIs(kInvalidArgument, HasSubstr("field a.b lies in field a")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", path, ", missing=\"no\"")),
              StatusIs(kInvalidArgument, HasSubstr("\"error\" or \"default\"")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", empty)),
              StatusIs(kInvalidArgument, HasSubstr("no rows to tell the fields by")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", text)),
              StatusIs(kInvalidArgument, HasSubstr("are these lines of JSON?")));
  EXPECT_THAT(SpecOf(Call("read_jsonl", folder / "none")), StatusIs(kNotFound));
  EXPECT_THAT(SpecOf("read_jsonl(paths=[])"), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace millrace::ops
