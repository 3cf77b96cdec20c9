#include "millrace/cli/check_data.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/bench/sample_data.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(CheckDataTest, TellsFormatsByTheEndOfTheName) {
  EXPECT_EQ(*FormatOf("a/b.tar"), storage::RowFormat::kTar);
  EXPECT_EQ(*FormatOf("b.tar.zst"), storage::RowFormat::kTar);
  EXPECT_EQ(*FormatOf("b.tgz"), storage::RowFormat::kTar);
  EXPECT_EQ(*FormatOf("b.tfrecord.gz"), storage::RowFormat::kTfrecord);
  EXPECT_EQ(*FormatOf("b.txt"), storage::RowFormat::kLines);
  EXPECT_EQ(*FormatOf("b.jsonl.gz"), storage::RowFormat::kLines);
  EXPECT_EQ(*FormatOf("b.csv"), storage::RowFormat::kCsv);
  EXPECT_THAT(FormatOf("b.parquet").status().message(), HasSubstr("need no index"));
  EXPECT_THAT(FormatOf("b.bin").status().message(),
              HasSubstr("cannot tell the format of b.bin"));
}

TEST(CheckDataTest, SampleImagesAreGood) {
  const storage::TemporaryFolder folder;
  const std::vector<std::string> paths = *bench::MakeImages(
      {.folder = folder.path(), .count = 5, .files = 2, .height = 8, .width = 9});
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(CheckFile(paths[0])->rows, 2);
  EXPECT_EQ(CheckFile(paths[1])->rows, 3);
  EXPECT_THAT(CheckFile(paths[1])->bad, IsEmpty());
}

TEST(CheckDataTest, TheSameSeedMakesTheSameText) {
  const storage::TemporaryFolder folder;
  const auto make = [&](const std::string& name, uint64_t seed) {
    const std::vector<std::string> paths = *bench::MakeText(
        {.folder = folder / name, .lines = 50, .files = 1, .seed = seed});
    EXPECT_EQ(CheckFile(paths[0])->rows, 50);
    return storage::ReadFile(paths[0]);
  };
  EXPECT_EQ(make("a", 1), make("b", 1));
  EXPECT_NE(make("a", 1), make("c", 2));
}

TEST(CheckDataTest, BadRowsAreNamedAndTheRestIsRead) {
  const storage::TemporaryFolder folder;
  std::string file = storage::TfrecordOf({"one", "two", "three"});
  file[12] ^= 1;  // The first byte of the first row.
  const CheckedFile checked = *CheckFile(folder.Write("a.tfrecord", file));
  EXPECT_EQ(checked.rows, 2);
  ASSERT_EQ(checked.bad.size(), 1U);
  EXPECT_THAT(checked.bad[0], HasSubstr("a.tfrecord"));
}

TEST(CheckDataTest, LinesOfJsonAreCheckedAsSuch) {
  const storage::TemporaryFolder folder;
  const CheckedFile checked = *CheckFile(folder.Write(
      "a.jsonl", "{\"id\": 1}\n{\"id\": }\n{\"x\": 5}\n{\"id\": \"x\"}\n"));
  EXPECT_EQ(checked.rows, 3) << "what is missing is not wrong";
  EXPECT_THAT(checked.bad,
              ElementsAre(AllOf(HasSubstr("no valid JSON"), HasSubstr("at byte 10"))));
}

TEST(CheckDataTest, AFileThatIsNotThereIsAnError) {
  EXPECT_FALSE(CheckFile("no/such/file.tar").ok());
}

}  // namespace
}  // namespace millrace::cli
