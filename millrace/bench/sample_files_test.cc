#include "millrace/bench/sample_files.h"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOkAndHolds;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class SampleFilesTest : public testing::Test {
 protected:
  const storage::TemporaryFolder folder_;
};

TEST_F(SampleFilesTest, RecordsAreReadByOurOwnSource) {
  const std::string path = MakeTfrecord(folder_.path(), 7, 1000).value();
  const std::vector<std::string> rows =
      ops::ReadField(ops::Call("read", path), "record").value();
  ASSERT_THAT(rows, SizeIs(7));
  EXPECT_THAT(rows, Each(SizeIs(1000)));
  EXPECT_GT(std::set<char>(rows[0].begin(), rows[0].end()).size(), 200);  // Noise.
}

TEST_F(SampleFilesTest, AFrameIsWhatTheFormatSays) {
  for (const std::string& row :
       {std::string(), std::string("one"), storage::Noise(99)}) {
    EXPECT_EQ(TfrecordFrame(row), storage::TfrecordRow(row));
  }
}

TEST_F(SampleFilesTest, TarFilesAreReadByOurOwnSource) {
  const std::string path = MakeTar(folder_.path(), 5, 513).value();
  EXPECT_THAT(ops::ReadField(ops::Call("read", path), "bin"),
              IsOkAndHolds(Each(SizeIs(513))));
  EXPECT_THAT(ops::ReadField(ops::Call("read", path), "__key__"),
              IsOkAndHolds(ElementsAre("00000000", "00000001", "00000002", "00000003",
                                       "00000004")));
}

TEST_F(SampleFilesTest, EverySizeIsAFileOfItsOwnMadeOnce) {
  const std::string small = MakeTfrecord(folder_.path(), 3, 10).value();
  EXPECT_NE(MakeTfrecord(folder_.path(), 3, 11).value(), small);
  EXPECT_NE(MakeTfrecord(folder_.path(), 4, 10).value(), small);
  EXPECT_NE(MakeTar(folder_.path(), 3, 10).value(), small);
  const std::string content = storage::TfrecordOf({"mine"});
  folder_.Write(std::filesystem::path(small).filename().string(), content);
  EXPECT_EQ(MakeTfrecord(folder_.path(), 3, 10).value(), small);
  EXPECT_EQ(storage::ReadFile(small), content);  // It is kept.
}

TEST_F(SampleFilesTest, RowFilesHaveAHeadAndRows) {
  const auto row = [](int64_t number) { return base::StrCat(number, ",x\n"); };
  const absl::StatusOr<RowFile> file =
      MakeRowFile(folder_ / "rows.csv", "n,t\n", 3, row);
  ASSERT_THAT(file, base::IsOk());
  EXPECT_EQ(storage::ReadFile(file->path), "n,t\n0,x\n1,x\n2,x\n");
  EXPECT_EQ(file->bytes, 16);
  EXPECT_THAT(ops::ReadField(ops::Call("read", file->path), "n"),
              IsOkAndHolds(ElementsAre("0", "1", "2")));
}

TEST_F(SampleFilesTest, ARowFileThatIsThereIsKept) {
  const std::string path = folder_.Write("rows.csv", "n\n5\n");
  const absl::StatusOr<RowFile> file =
      MakeRowFile(path, "n,t\n", 3, [](int64_t) -> std::string {
        ADD_FAILURE() << "nothing is to be made";
        return "";
      });
  ASSERT_THAT(file, base::IsOk());
  EXPECT_EQ(file->bytes, 4);
}

TEST_F(SampleFilesTest, WhatCannotBeWrittenIsAnError) {
  const std::string file = folder_.Write("file", "");
  EXPECT_FALSE(MakeTfrecord(file, 1, 1).ok());
  EXPECT_FALSE(MakeTar(file, 1, 1).ok());
  EXPECT_FALSE(
      MakeRowFile(file + "/x", "", 1, [](int64_t) { return std::string(); }).ok());
}

}  // namespace
}  // namespace millrace::bench
