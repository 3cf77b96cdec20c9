#include "millrace/ops/recalled.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/core/pool.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/row_index.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::ops {
namespace {

using base::IsOk;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Source> SourceOf(const std::string& call) {
  return *MakeFileSource(call, {.pool = core::HeapPool()});
}

TEST(RecalledTest, FilesThatWereListedAreNotListedAgain) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "1\n2\n");
  const std::string call = Call("read_text", folder / "*.txt");
  const lanes::Manifest manifest = *SourceOf(call)->List();
  folder.Write("b.txt", "3\n");
  const std::unique_ptr<Source> source = SourceOf(call);
  EXPECT_THAT(Recall(*source, manifest), IsOk());
  EXPECT_THAT(source->Open(WholeSplit(manifest, 0)).status(), IsOk());
}

TEST(RecalledTest, AnIndexThatIsGoneIsAnErrorThatSaysSo) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write("a.txt", "1\n2\n");
  AddIndex(path, storage::RowFormat::kLines);
  const std::string call = Call("read_text", path);
  const lanes::Manifest manifest = *SourceOf(call)->List();
  EXPECT_THAT(Recall(*SourceOf(call), manifest), IsOk());
  ASSERT_THAT(storage::ProcessFiles().Remove(storage::IndexPath(path)), IsOk());
  EXPECT_THAT(Recall(*SourceOf(call), manifest),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("2 rows"), HasSubstr(path))));
}

// Rows that are whole files: a split names only the first of them.
TEST(RecalledTest, OthersListAnewAndMustFindTheSame) {
  const storage::TemporaryFolder folder;
  folder.Write("a.bin", "1");
  const std::string call = Call("read_files", folder / "*.bin");
  const lanes::Manifest manifest = *SourceOf(call)->List();
  EXPECT_THAT(Recall(*SourceOf(call), manifest), IsOk());
  folder.Write("b.bin", "2");
  EXPECT_THAT(Recall(*SourceOf(call), manifest),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not what was listed")));
}

TEST(RecalledTest, AnAbsurdListingIsRefused) {
  const std::unique_ptr<Source> source = SourceOf(Call("read_text", "a.txt"));
  lanes::Manifest absurd;
  absurd.splits.push_back({.name = "", .bytes = {}, .version = "", .rows = {}});
  EXPECT_THAT(Recall(*source, absurd),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no name")));
}

}  // namespace
}  // namespace millrace::ops
