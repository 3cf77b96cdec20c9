#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using base::IsOkAndHolds;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<ir::Pipeline> Parse(std::string_view text) {
  return ir::Parse(text, {}, DefaultLibrary().catalog());
}

TEST(ReadTest, TellsTheKindByTheName) {
  const TemporaryFolder folder;
  folder.Write("a.txt", "one\n");
  folder.Write("b.jsonl", "{\"id\": 1}\n");
  folder.Write("c.csv", "id,x\n2,0.5\n");
  folder.Write("d.TFRECORD", storage::TfrecordOf({"three"}));
  folder.Write("e.jpg", "image");
  folder.Write("f.ndjson.lz4", codec::Lz4Framed("{\"id\": 4}\n"));
  folder.Write("g.csv.sz", codec::SnappyFramed("id\n5\n"));
  const auto values = [&](std::string_view name, const std::string& field) {
    return ReadField(Call("read", folder / name), field);
  };
  EXPECT_THAT(values("*.txt", "text"), IsOkAndHolds(ElementsAre("one")));
  EXPECT_THAT(values("b.jsonl", "id"), IsOkAndHolds(ElementsAre("1")));
  EXPECT_THAT(SpecOf(Call("read", folder / "c.csv")),
              IsOkAndHolds("{id: int64, x: float64}"));
  EXPECT_THAT(values("d.TFRECORD", "record"), IsOkAndHolds(ElementsAre("three")));
  EXPECT_THAT(values("e.jpg", "bytes"), IsOkAndHolds(ElementsAre("image")));
  EXPECT_THAT(values("f.ndjson.lz4", "id"), IsOkAndHolds(ElementsAre("4")));
  EXPECT_THAT(values("g.csv.sz", "id"), IsOkAndHolds(ElementsAre("5")));
}

TEST(ReadTest, WhatTheDataTellsStandsInTheTextForm) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.csv", "id,x\n2,0.5\n");
  const std::string text =
      ir::Print(*Parse(base::StrCat("%0 = ", Call("read", path)))).text;
  EXPECT_THAT(text, HasSubstr("fields=\"{id: int64, x: float64}\""));
  EXPECT_THAT(text, HasSubstr("columns=[\"id\", \"x\"]"));
  folder.Write("a.csv", "");  // Nobody looks again.
  EXPECT_EQ(ir::Print(*Parse(text)).text, text);
}

TEST(ReadTest, TellsTheFieldsOfTarFilesByTheFirstRow) {
  const TemporaryFolder folder;
  const std::string bytes = storage::TarMember("a.txt", "one") +
                            storage::TarMember("a.cls", "1") +
                            storage::TarMember("b.txt", "two") +
                            storage::TarMember("b.cls", "2") + storage::TarEnd();
  for (const std::string& path :
       {folder.Write("a.tar", bytes), folder.Write("b.tar.gz", codec::Gzipped(bytes)),
        folder.Write("c.TGZ", codec::Gzipped(bytes))}) {
    EXPECT_THAT(SpecOf(Call("read", path)),
                IsOkAndHolds("{cls: int64, txt: string, __key__: string}"));
    EXPECT_THAT(ReadField(Call("read", path), "txt"),
                IsOkAndHolds(ElementsAre("one", "two")));
    EXPECT_THAT(ReadField(Call("read", path, ", fields=\"{cls: int64}\""), "cls"),
                IsOkAndHolds(ElementsAre("1", "2")));
    EXPECT_THAT(SpecOf(Call("read", path, ", fields=\"{cls: bytes}\"")),
                StatusIs(kInvalidArgument,
                         HasSubstr("must have the types of read_tar, which gives "
                                   "{cls: int64, __key__: string}")));
    EXPECT_THAT(SpecOf(Call("read", path, ", fields=\"{cls\"")),
                StatusIs(kInvalidArgument, HasSubstr("argument fields")));
  }
}

TEST(ReadTest, FilesThatAreGoneAreToldWhereTheyAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "one\n");
  const auto source = MakeFileSource(Call("read", path), {.pool = core::HeapPool()});
  std::filesystem::remove(path);
  EXPECT_THAT((*source)->List(), StatusIs(kNotFound, HasSubstr("a.txt")));
}

TEST(ReadTest, SaysWhatIsWrongWithItsArguments) {
  const TemporaryFolder folder;
  const auto call = [&](std::string_view paths, std::string_view more = "") {
    return SpecOf(base::StrCat("read(paths=[", paths, "]", more, ")"));
  };
  EXPECT_THAT(call(""), StatusIs(kInvalidArgument));
  EXPECT_THAT(call("\"a\""), StatusIs(kInvalidArgument, HasSubstr("does not tell")));
  EXPECT_THAT(
      call("\"a.bin\""),
      StatusIs(kInvalidArgument,
               HasSubstr("use read_csv, read_files, read_frames, read_jsonl, read_tar, "
                         "read_text, read_tfrecord or read_fixed")));
  EXPECT_THAT(call("\"a.txt\", \"b.csv\""),
              StatusIs(kInvalidArgument, HasSubstr("of different kinds")));
  EXPECT_THAT(call("\"a.txt\"", ", fields=\"{a: int8}\""),
              StatusIs(kInvalidArgument, HasSubstr("takes no fields")));
  EXPECT_THAT(call("\"a.txt\"", ", columns=[\"a\"]"),
              StatusIs(kInvalidArgument, HasSubstr("takes no columns")));
}

}  // namespace
}  // namespace millrace::ops
