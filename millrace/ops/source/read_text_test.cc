#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/codec/compress_test.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
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
using testing::IsEmpty;

std::vector<std::string> ManyLines(int lines) {
  std::vector<std::string> texts;
  texts.reserve(lines);
  for (int i = 0; i < lines; ++i) {
    texts.push_back(base::StrCat(i, std::string(i * 37 % 300, 'x')));
  }
  return texts;
}

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(ReadTextTest, GivesLinesOfAllFilesInOrder) {
  const TemporaryFolder folder;
  folder.Write("b.txt", "three\n");
  folder.Write("a.txt", "one\r\ntwo \xc3\xa9");
  EXPECT_THAT(ReadField(Call("read_text", folder / "*.txt"), "text"),
              IsOkAndHolds(ElementsAre("one", "two \xc3\xa9", "three")));
}

TEST(ReadTextTest, EmptyFilesGiveNothing) {
  const TemporaryFolder folder;
  folder.Write("a.txt", "");
  EXPECT_THAT(ReadField(Call("read_text", folder / "a.txt"), "text"),
              IsOkAndHolds(IsEmpty()));
}

TEST(ReadTextTest, ReadsManyBlocksAndLongLines) {
  const TemporaryFolder folder;
  std::vector<std::string> lines = ManyLines(20'000);
  lines[777] = std::string(3'000'000, 'y');
  lines[778] = std::string(40'000, 'z');
  const std::string path = folder.Write("a.txt", JoinLines(lines));
  EXPECT_THAT(ReadField(Call("read_text", path), "text"), IsOkAndHolds(lines));
}

TEST(ReadTextTest, ReadsCompressedFilesByTheirNames) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines = ManyLines(20'000);
  const std::string text = JoinLines(lines);
  const std::string half = text.substr(0, text.size() / 2);
  folder.Write("a.txt.gz",
               codec::Gzipped(half) + codec::Gzipped(text.substr(half.size())));
  folder.Write("a.txt.zst", codec::Zstandard(text));
  for (const char* name : {"a.txt.gz", "a.txt.zst"}) {
    EXPECT_THAT(ReadField(Call("read_text", folder / name), "text"),
                IsOkAndHolds(lines))
        << name;
  }
}

TEST(ReadTextTest, InvalidUtf8IsABadRow) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "one\nb\xff!\nthree\n");
  EXPECT_THAT(ReadField(Call("read_text", path), "text"),
              StatusIs(kDataLoss, AllOf(HasSubstr("no valid UTF-8 at its byte 1"),
                                        HasSubstr("row at byte 4"), HasSubstr(path))));
  LeavesOut bad;
  const PlainRows rows = *ReadPlain(Call("read_text", path), bad);
  ASSERT_EQ(rows.rows.size(), 2U);
  EXPECT_EQ(rows.rows[1].at("text"), "three");
  EXPECT_EQ(rows.ids[1].lo, 2U) << "a row is known by its place, bad ones counted";
  EXPECT_EQ(bad.reasons.size(), 1U);
}

TEST(ReadTextTest, AnIndexCountsAndSeeks) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines = ManyLines(5000);
  const std::string path = folder.Write("a.txt", JoinLines(lines));
  const auto list = [&] {
    return *(*MakeFileSource(Call("read_text", path), {.pool = core::HeapPool()}))
                ->List();
  };
  EXPECT_FALSE(list().counted());
  AddIndex(path, storage::RowFormat::kLines);
  EXPECT_EQ(list().splits[0].rows, 5000);
  EXPECT_TRUE(list().splits[0].seekable);

  const auto source =
      *MakeFileSource(Call("read_text", path), {.pool = core::HeapPool()});
  ASSERT_TRUE(source->List().ok());
  for (const int64_t begin : {0, 1, 4321, 4999}) {
    const PlainRows rows = ToPlain(*ReadAll(*source, {0, begin, begin + 1}));
    ASSERT_EQ(rows.rows.size(), 1U);
    EXPECT_EQ(rows.rows[0].at("text"), lines[begin]);
    EXPECT_EQ(rows.ids[0].lo, static_cast<uint64_t>(begin));
  }
  EXPECT_THAT(*ReadAll(*source, {0, 7, 7}), IsEmpty());
}

TEST(ReadTextTest, AStaleIndexIsNotUsed) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "one\ntwo\n");
  AddIndex(path, storage::RowFormat::kLines);
  folder.Write("a.txt", "one\nthree\nfour\n");
  EXPECT_THAT(ReadField(Call("read_text", folder / "*"), "text"),
              IsOkAndHolds(ElementsAre("one", "three", "four")));
}

TEST(ReadTextTest, ShortLinesShareABufferAndLongOnesDoNot) {
  const TemporaryFolder folder;
  const auto columns = [&](const std::string& text) {
    const std::string path = folder.Write("a.txt", text);
    const auto source =
        *MakeFileSource(Call("read_text", path), {.pool = core::HeapPool()});
    CHECK(source->List().ok());
    return *ReadAll(*source, {0, 0, lanes::kRowsMax});
  };
  EXPECT_FALSE(columns("one\ntwo\n")[0].columns()[0].HoldsTensors());
  const std::string big(100'000, 'x');
  EXPECT_TRUE(columns("one\n" + big + "\ntwo\n")[0].columns()[0].HoldsTensors());
}

TEST(ReadTextTest, SaysWhatIsWrongWithItsPaths) {
  EXPECT_THAT(ReadPlain("read_text(paths=[])"),
              StatusIs(kInvalidArgument, HasSubstr("must name a file or pattern")));
  EXPECT_THAT(ReadPlain("read_text(paths=[\"\"])"), StatusIs(kInvalidArgument));
  EXPECT_THAT(ReadPlain("read_text(paths=[\"no/such/file\"])"),
              StatusIs(kNotFound, HasSubstr("no file matches: no/such/file")));
}

}  // namespace
}  // namespace millrace::ops
