#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source/file_source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kNotFound;
using base::IsOk;
using base::StatusIs;
using storage::TemporaryFolder;
using testing::HasSubstr;
using testing::SizeIs;

TEST(ReadFilesTest, GivesEachFileAsARow) {
  const TemporaryFolder folder;
  const std::string big = storage::Noise(200'000);
  const std::string a = folder.Write("a", "one");
  const std::string b = folder.Write("b", "");
  const std::string c = folder.Write("c", big);
  const auto rows = ReadPlain(Call("read_files", folder / "*"));
  ASSERT_THAT(rows, IsOk());
  const std::vector<PlainRow> wanted = {{{"path", a}, {"bytes", "one"}},
                                        {{"path", b}, {"bytes", ""}},
                                        {{"path", c}, {"bytes", big}}};
  EXPECT_EQ(rows->rows, wanted);
}

TEST(ReadFilesTest, ManyFilesAreFewSplits) {
  const TemporaryFolder folder;
  const int64_t files = 2 * kFilesPerSplit + 5;
  for (int64_t i = 0; i < files; ++i) folder.Write(base::StrCat(10'000 + i), "x");
  const auto source =
      *MakeFileSource(Call("read_files", folder / "*"), {.pool = core::HeapPool()});
  const lanes::Manifest manifest = *source->List();
  ASSERT_THAT(manifest.splits, SizeIs(3));
  EXPECT_EQ(manifest.total_rows(), files);
  EXPECT_TRUE(manifest.splits[1].seekable);
  EXPECT_EQ(manifest.splits[1].bytes.count(), kFilesPerSplit);
  const PlainRows rows = ToPlain(*ReadAll(*source, {2, 3, 5}));
  ASSERT_THAT(rows.rows, SizeIs(2));
  EXPECT_EQ(rows.rows[1].at("path"), folder / base::StrCat(10'000 + files - 1));
  EXPECT_EQ(rows.ids[1].lo, 4U);
}

TEST(ReadFilesTest, ARunsVersionIsThatOfAllItsFiles) {
  const TemporaryFolder folder;
  folder.Write("a", "one");
  folder.Write("b", "two");
  const auto version = [&] {
    const auto source =
        *MakeFileSource(Call("read_files", folder / "*"), {.pool = core::HeapPool()});
    return source->List()->splits[0].version;
  };
  const std::string before = version();
  EXPECT_EQ(version(), before);
  folder.Write("b", "too");
  EXPECT_NE(version(), before);
}

TEST(ReadFilesTest, FilesThatChangeOrVanishAreErrors) {
  const TemporaryFolder folder;
  folder.Write("a", "one");
  const std::string path = folder.Write("b", "two");
  LeavesOut bad;
  const auto source =
      *MakeFileSource(Call("read_files", folder / "*"), {.pool = core::HeapPool()});
  ASSERT_THAT(source->List(), IsOk());
  folder.Write("b", "three");
  EXPECT_THAT(ReadAll(*source, {0, 0, 2}, bad),
              StatusIs(kFailedPrecondition, HasSubstr(path)));
  std::filesystem::remove(path);
  EXPECT_THAT(ReadAll(*source, {0, 0, 2}, bad), StatusIs(kNotFound, HasSubstr(path)));
  EXPECT_TRUE(bad.reasons.empty()) << "that is the world's fault, not the row's";
}

TEST(ReadFilesTest, APathThatIsNoTextIsABadRow) {
  const TemporaryFolder folder;
  folder.Write("\xff", "one");
  folder.Write("b", "two");
  LeavesOut bad;
  const auto rows = ReadPlain(Call("read_files", folder / "*"), bad);
  ASSERT_THAT(rows, IsOk());
  EXPECT_THAT(rows->rows, SizeIs(1));
  EXPECT_THAT(bad.reasons, SizeIs(1));
}

}  // namespace
}  // namespace millrace::ops
