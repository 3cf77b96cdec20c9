#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

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

TEST(ReadCsvTest, TellsColumnsAndTypesByTheFirstRows) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv",
                                        "id,x,ok,name,\"a \"\"b\"\"\",,mixed,none\r\n"
                                        "1,1,true,\"a,\nb\",-3,7,1,\r\n"
                                        "\r\n"
                                        "2,0.5,False,c d,4,,x,\r\n");
  EXPECT_THAT(SpecOf(Call("read_csv", path)),
              IsOkAndHolds("{id: int64, x: float64, ok: bool, name: string, 'a \"b\"': "
                           "int64, column5: int64, mixed: string, none: string}"));
  EXPECT_THAT(SpecOf(Call("read_csv", path, ", select=[\"name\", \"id\"]")),
              IsOkAndHolds("{name: string, id: int64}"));
  EXPECT_THAT(Values(Call("read_csv", path, ", select=[\"name\"]"), "name"),
              IsOkAndHolds(ElementsAre("string \"a,\\nb\"", "string \"c d\"")));
  EXPECT_THAT(Values(Call("read_csv", path, ", select=[\"ok\"]"), "ok"),
              IsOkAndHolds(ElementsAre("bool true", "bool false")));
}

TEST(ReadCsvTest, GivesRowsOfAllFilesInOrder) {
  const TemporaryFolder folder;
  folder.Write("b.csv", "a,b\n5,6");
  folder.Write("a.csv",
               "\xef\xbb\xbf"
               "a,b\n1,2\n3,4\n");
  const std::string call = Call("read_csv", folder / "*.csv");
  EXPECT_THAT(ReadField(call, "a"), IsOkAndHolds(ElementsAre("1", "3", "5")));
  EXPECT_THAT(ReadField(call, "b"), IsOkAndHolds(ElementsAre("2", "4", "6")));
}

TEST(ReadCsvTest, ReadsOtherSyntaxAndFilesWithoutHeader) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.tsv", "1\t'a\tb'\n2\t\"c\n");
  const std::string more = ", header=false, separator=\"\\t\", quote=\"'\"";
  EXPECT_THAT(SpecOf(Call("read_csv", path, more)),
              IsOkAndHolds("{column0: int64, column1: string}"));
  EXPECT_THAT(ReadField(Call("read_csv", path, more), "column1"),
              IsOkAndHolds(ElementsAre("a\tb", "\"c")));
  EXPECT_THAT(ReadField(Call("read_csv", path,
                             base::StrCat(more, ", fields=\"{n: int64, t: bytes}\"")),
                        "n"),
              IsOkAndHolds(ElementsAre("1", "2")));
  EXPECT_THAT(
      ReadField(
          Call("read_csv", path,
               ", header=false, separator=\"\\t\", quote=\"\", select=[\"column1\"]"
               ", fields=\"{column0: int64, column1: string, c: string}\""),
          "column1"),
      StatusIs(kDataLoss, HasSubstr("a row of 2 cells where there are 3 columns")));
}

TEST(ReadCsvTest, WrongRowsAreLeftOutAndTheOthersKeepTheirPlaces) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv",
                                        "id,x,t\n"
                                        "0,1.5,a\n"
                                        "1,2\n"
                                        "2,x,b\n"
                                        "3,,c\n"
                                        "4,1,\"d\"e\n"
                                        "5,1,\xff\n"
                                        "300,1,f\n"
                                        "7,1e3,g\n");
  const std::string call =
      Call("read_csv", path, ", fields=\"{id: uint8, x: float32, t: string}\"");
  LeavesOut bad;
  EXPECT_THAT(Values(call, "t", bad),
              IsOkAndHolds(ElementsAre("string \"a\"", "string \"g\"")));
  ASSERT_EQ(bad.reasons.size(), 6U);
  EXPECT_THAT(bad.reasons[0], AllOf(HasSubstr("a row of 2 cells where there are 3"),
                                    HasSubstr("row at byte 15"), HasSubstr(path)));
  EXPECT_THAT(bad.reasons[1], HasSubstr("field x: \"x\" is no float32"));
  EXPECT_THAT(bad.reasons[2], HasSubstr("field x: it is missing"));
  EXPECT_THAT(bad.reasons[3], HasSubstr("cell 3 goes on behind its closing quote"));
  EXPECT_THAT(bad.reasons[4], HasSubstr("no valid UTF-8 at its byte 4"));
  EXPECT_THAT(bad.reasons[5], HasSubstr("field id: \"300\" is out of the range"));
  LeavesOut again;
  const PlainRows rows =
      *ReadPlain(Call("read_csv", path,
                      ", fields=\"{id: int64, x: float32, t: string}\", "
                      "select=[\"id\"]"),
                 again);
  EXPECT_EQ(rows.ids.back().lo, 7U);
}

TEST(ReadCsvTest, WhatIsMissingMayBeADefault) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "i,f,b,s\n,,,\n1,2,true,x\n");
  const std::string call = Call("read_csv", path, ", missing=\"default\"");
  EXPECT_THAT(Values(call, "i"), IsOkAndHolds(ElementsAre("int64 0", "int64 1")));
  EXPECT_THAT(
      Values(Call("read_csv", path, ", missing=\"default\", fields=\"{f: float64}\""),
             "f"),
      IsOkAndHolds(ElementsAre("float64 nan", "float64 2.0")));
  EXPECT_THAT(Values(call, "b"), IsOkAndHolds(ElementsAre("bool false", "bool true")));
  EXPECT_THAT(Values(call, "s"),
              IsOkAndHolds(ElementsAre("string \"\"", "string \"x\"")));
}

TEST(ReadCsvTest, AFileWithOtherColumnsIsWrongAsAWhole) {
  const TemporaryFolder folder;
  folder.Write("a.csv", "a,b\n1,2\n");
  folder.Write("b.csv", "b,a\n3,4\n");
  folder.Write("c.csv", "a,b\n5,6\n");
  LeavesOut bad;
  EXPECT_THAT(ReadField(Call("read_csv", folder / "*.csv"), "a", bad),
              IsOkAndHolds(ElementsAre("1", "5")));
  ASSERT_EQ(bad.reasons.size(), 1U);
  EXPECT_THAT(bad.reasons[0],
              AllOf(HasSubstr("header has other columns, b, a, than a, b"),
                    HasSubstr("the rest of the file is left out"), HasSubstr("b.csv")));
}

std::string ManyRows() {
  std::string text = "id,\"name\",x\n";
  for (int i = 0; i < 20'000; ++i) {
    const std::string filler(i == 777 ? 300'000 : i * 37 % 300, 'y');
    text += base::StrCat(i, i % 5 == 0 ? ",\"q\"\"\n" : ",\"p", filler, "\",", i, ".5",
                         i % 3 == 0 ? "\r\n" : "\n");
  }
  return text;
}

TEST(ReadCsvTest, CompressedOrIndexedItGivesTheSameRows) {
  const TemporaryFolder folder;
  const std::string text = ManyRows();
  const std::string path = folder.Write("a.csv", text);
  folder.Write("z/a.csv.gz", codec::Gzipped(text));
  folder.Write("z/a.csv.zst", codec::Zstandard(text));
  const std::string more = ", select=[\"id\", \"name\"]";
  const PlainRows plain = *ReadPlain(Call("read_csv", path, more));
  ASSERT_EQ(plain.rows.size(), 20'000U);
  EXPECT_EQ(plain.rows[777].at("name").size(), 300'001U);
  EXPECT_EQ(plain.rows[5].at("name"), "q\"\n" + std::string(185, 'y'));
  for (const char* name : {"z/a.csv.gz", "z/a.csv.zst"}) {
    EXPECT_TRUE(ReadPlain(Call("read_csv", folder / name, more))->rows == plain.rows);
  }
  AddIndex(path, storage::RowFormat::kCsv);
  const auto source =
      *MakeFileSource(Call("read_csv", path, more), {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  EXPECT_EQ(manifest.splits[0].rows, 20'000);
  for (const int64_t begin : {0, 1, 777, 19'999}) {
    const PlainRows rows = ToPlain(*ReadAll(*source, {0, begin, begin + 1}));
    ASSERT_EQ(rows.rows.size(), 1U);
    EXPECT_EQ(rows.rows[0].at("id"), base::StrCat(begin));
    EXPECT_EQ(rows.ids[0].lo, static_cast<uint64_t>(begin));
  }
  EXPECT_TRUE(ToPlain(*ReadAll(*source, WholeSplit(manifest, 0))).rows == plain.rows);
}

TEST(ReadCsvTest, SaysWhatIsWrongWithItsArguments) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "a,b,b\n1,2,3\n");
  const std::string empty = folder.Write("empty.csv", "a,b\n");
  const auto spec = [&](std::string_view more) {
    return SpecOf(Call("read_csv", path, more));
  };
  EXPECT_THAT(spec(", fields=\"{a: int65}\""),
              StatusIs(kInvalidArgument, HasSubstr("argument fields")));
  EXPECT_THAT(
      spec(", fields=\"{c: int8}\""),
      StatusIs(kInvalidArgument, HasSubstr("field c is no column; there are a")));
  EXPECT_THAT(spec(", fields=\"{b: int8}\""),
              StatusIs(kInvalidArgument, HasSubstr("field b is two columns")));
  EXPECT_THAT(spec(", fields=\"{a: int8[?]}\""),
              StatusIs(kInvalidArgument, HasSubstr("a cell of CSV holds one value")));
  EXPECT_THAT(spec(", separator=\"\""), StatusIs(kInvalidArgument));
  EXPECT_THAT(spec(", separator=\"\\n\""), StatusIs(kInvalidArgument));
  EXPECT_THAT(spec(", quote=\",\""), StatusIs(kInvalidArgument));
  EXPECT_THAT(spec(", select=[\"x\"]"), StatusIs(kInvalidArgument));
  EXPECT_THAT(spec(", missing=\"\""), StatusIs(kInvalidArgument));
  EXPECT_THAT(SpecOf(Call("read_csv", empty)),
              StatusIs(kInvalidArgument, HasSubstr("no rows to tell the fields by")));
  EXPECT_THAT(SpecOf(Call("read_csv", folder / "none")), StatusIs(kNotFound));
}

}  // namespace
}  // namespace millrace::ops
