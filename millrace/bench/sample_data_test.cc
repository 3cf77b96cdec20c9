#include "millrace/bench/sample_data.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/samples_test.h"

namespace millrace::bench {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class SampleDataTest : public testing::Test {
 protected:
  // Small ones, in a folder of this name.
  SampleImages Images(const std::string& name, uint64_t seed = 0) const {
    return {.folder = folder_ / name,
            .count = 10,
            .files = 3,
            .height = 24,
            .width = 40,
            .classes = 3,
            .seed = seed};
  }

  const storage::TemporaryFolder folder_;
};

TEST_F(SampleDataTest, ImagesAreReadAndDecodedByOurOwnSources) {
  const std::vector<std::string> paths = MakeImages(Images("new/folder")).value();
  EXPECT_THAT(paths, ElementsAre(folder_ / "new/folder/images-000.tar",
                                 folder_ / "new/folder/images-001.tar",
                                 folder_ / "new/folder/images-002.tar"));
  const core::Block rows = exec::Joined(exec::MustRun(
      base::StrCat("%0 = read(paths=[\"", folder_ / "new/folder/*.tar", "\"])\n",
                   "%1 = map(%0, function={image: decode_image(.jpg), cls: .cls, "
                   "key: .__key__})\n")));
  ASSERT_EQ(rows.rows(), 10);
  for (int64_t row = 0; row < rows.rows(); ++row) {
    EXPECT_EQ(rows.Find("image")->Row(row)->shape().ToString(), "[24, 40, 3]");
    EXPECT_EQ(rows.Find("key")->TextAt(row), absl::StrFormat("%07d", row));
    const int64_t label = rows.Find("cls")->As<int64_t>()[row];
    EXPECT_TRUE(label >= 0 && label < 3) << label;
  }
}

TEST_F(SampleDataTest, TheSameSeedGivesTheSameBytesAnotherDoesNot) {
  const std::vector<std::string> a = MakeImages(Images("a")).value();
  const std::vector<std::string> b = MakeImages(Images("b")).value();
  const std::vector<std::string> c = MakeImages(Images("c", 1)).value();
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(storage::ReadFile(a[i]), storage::ReadFile(b[i]));
    EXPECT_NE(storage::ReadFile(a[i]), storage::ReadFile(c[i]));
  }
}

TEST_F(SampleDataTest, ImagesDoNotDependOnTheNumberOfFiles) {
  SampleImages one = Images("one");
  one.files = 1;
  ASSERT_THAT(MakeImages(one), IsOk());
  ASSERT_THAT(MakeImages(Images("three")), IsOk());
  const auto jpegs = [&](const std::string& name) {
    const std::string pattern = folder_ / base::StrCat(name, "/*.tar");
    return ops::ReadField(ops::Call("read", pattern), "jpg").value();
  };
  EXPECT_EQ(jpegs("one"), jpegs("three"));
  const std::vector<std::string> all = jpegs("one");
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 10);  // No two alike.
}

TEST_F(SampleDataTest, LinesAreSpreadOverTheFiles) {
  const std::vector<std::string> paths =
      MakeText({.folder = folder_ / "text", .lines = 100, .files = 3, .words = 5})
          .value();
  ASSERT_THAT(paths, SizeIs(3));
  const std::vector<std::string> lines =
      ops::ReadField(ops::Call("read", folder_ / "text/text-*.txt"), "text").value();
  ASSERT_THAT(lines, SizeIs(100));
  size_t words = 0;
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    EXPECT_LT(parts.size(), 10);
    for (const std::string& word : parts) {
      EXPECT_TRUE(!word.empty() && word.size() < 10) << line;
    }
    words += parts.size();
  }
  EXPECT_NEAR(static_cast<double>(words) / 100, 5, 1.5);
}

TEST_F(SampleDataTest, FilesMayBeMoreThanThereIsToWrite) {
  const std::vector<std::string> paths =
      MakeText({.folder = folder_ / "text", .lines = 2, .files = 4}).value();
  ASSERT_THAT(paths, SizeIs(4));
  EXPECT_THAT(ops::ReadField(ops::Call("read", folder_ / "text/*.txt"), "text").value(),
              SizeIs(2));
}

TEST_F(SampleDataTest, AFolderThatCannotBeMadeIsNamed) {
  const std::string file = folder_.Write("file", "");
  const auto named =
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(file + "/below"));
  EXPECT_THAT(MakeFolder(file + "/below"), named);
  EXPECT_THAT(MakeText({.folder = file + "/below"}), named);
  EXPECT_THAT(MakeImages({.folder = file + "/below"}), named);
  EXPECT_THAT(MakeFolder(folder_.path()), IsOk());  // It is there.
}

}  // namespace
}  // namespace millrace::bench
