#include "millrace/storage/roots.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/status_matchers.h"
#include "millrace/base/temporary_folder.h"
#include "millrace/base/text.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/local_files.h"

namespace millrace::storage {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// A folder with a root that may be read, another that may be written, and what is
// neither's.
class RootsTest : public testing::Test {
 protected:
  RootsTest() {
    data_ = folder_.Write("data/a.txt", "a");
    folder_.Write("data/deep/b.txt", "b");
    folder_.Write("database/c.txt", "c");
    secret_ = folder_.Write("secret/key.txt", "key");
    std::filesystem::create_directories(folder_ / "cache");
    std::filesystem::create_symlink(secret_, folder_ / "data/key.txt");
    std::filesystem::create_symlink(folder_ / "secret", folder_ / "data/link");
    std::filesystem::create_symlink(folder_ / "secret", folder_ / "cache/link");
    std::filesystem::create_symlink(folder_ / "data/deep", folder_ / "data/inner");
    roots_ = Roots::Make({folder_ / "data"}, {folder_ / "cache"}).value();
  }

  // Files of this process are held to them until the end of a test.
  void Bound() const { BoundProcessFiles(roots_); }

  void TearDown() override { BoundProcessFiles(Roots()); }

  base::TemporaryFolder folder_;
  std::string data_;
  std::string secret_;
  Roots roots_;
};

TEST_F(RootsTest, WithoutAnyEverythingIsAllowed) {
  EXPECT_THAT(Roots().CheckRead("/etc/passwd"), IsOk());
  EXPECT_THAT(Roots().CheckWrite("../x"), IsOk());
}

TEST_F(RootsTest, WhatIsBeneathMayBeReadOrWritten) {
  EXPECT_THAT(roots_.CheckRead(data_), IsOk());
  EXPECT_THAT(roots_.CheckRead(folder_ / "data"), IsOk());
  EXPECT_THAT(roots_.CheckRead(folder_ / "data/inner/b.txt"), IsOk())
      << "a link that stays beneath";
  EXPECT_THAT(roots_.CheckRead(folder_ / "data/not/there"), IsOk());
  EXPECT_THAT(roots_.CheckRead("file://" + data_), IsOk());
  EXPECT_THAT(roots_.CheckWrite(folder_ / "cache/new/file"), IsOk());
}

TEST_F(RootsTest, WhatIsNotIsRefusedWithTheFlagThatAllowsIt) {
  EXPECT_THAT(roots_.CheckRead(secret_),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(secret_), HasSubstr("--read-root"))));
  EXPECT_THAT(roots_.CheckWrite(data_),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(data_), HasSubstr("--write-root"))));
  EXPECT_THAT(roots_.CheckRead(folder_ / "cache/x"),
              StatusIs(StatusCode::kPermissionDenied))
      << "they are listed apart";
  EXPECT_THAT(roots_.CheckRead(folder_ / "database/c.txt"),
              StatusIs(StatusCode::kPermissionDenied))
      << "a root is a folder, not the beginning of a name";
  EXPECT_THAT(roots_.CheckRead("a.txt"), StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(RootsTest, LinksAreWhereTheyLeadTo) {
  EXPECT_THAT(roots_.CheckRead(folder_ / "data/key.txt"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("leads to")));
  EXPECT_THAT(roots_.CheckRead(folder_ / "data/link/key.txt"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(roots_.CheckRead(folder_ / "data/link/nothing"),
              StatusIs(StatusCode::kPermissionDenied))
      << "nor is it told what is there";
  EXPECT_THAT(roots_.CheckWrite(folder_ / "cache/link/new"),
              StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(RootsTest, StepsUpAreRefused) {
  for (const char* path : {"data/../secret/key.txt", "data/deep/../a.txt", "data/.."}) {
    EXPECT_THAT(roots_.CheckRead(folder_ / path),
                StatusIs(StatusCode::kPermissionDenied, HasSubstr("..")))
        << path;
  }
}

TEST_F(RootsTest, AnOpenFileIsWhereItReallyIs) {
  const int inside = open(data_.c_str(), O_RDONLY | O_CLOEXEC);
  const int outside = open((folder_ / "data/key.txt").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_THAT(roots_.CheckOpen(inside, data_), IsOk());
  EXPECT_THAT(roots_.CheckOpen(outside, folder_ / "data/key.txt"),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("data/key.txt")));
  close(inside);
  close(outside);
}

TEST_F(RootsTest, UrlsAreComparedStepByStep) {
  const Roots roots = Roots::Make({"s3://bucket/train"}, {}).value();
  EXPECT_THAT(roots.CheckRead("s3://bucket/train/a.tar"), IsOk());
  EXPECT_THAT(roots.CheckRead("s3://bucket/training/a.tar"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(roots.CheckRead("s3://bucket/train/../a.tar"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(roots.CheckRead(data_), StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(RootsTest, ARootThatIsNotThereIsNamed) {
  EXPECT_THAT(Roots::Make({}, {"/nowhere"}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--write-root"), HasSubstr("/nowhere"))));
  EXPECT_THAT(Roots::Make({data_}, {}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(Roots::Make({""}, {}), StatusIs(StatusCode::kInvalidArgument));
}

TEST_F(RootsTest, TheWholeMachineCanBeARoot) {
  EXPECT_THAT(Roots::Make({"/"}, {})->CheckRead(secret_), IsOk());
}

TEST_F(RootsTest, FilesAreHeldToThem) {
  const BlobStore& files = ProcessFiles();
  const BlobInfo data = files.Find(data_).value();
  const BlobInfo secret = files.Find(secret_).value();
  const BlobInfo link = files.Find(folder_ / "data/key.txt").value();
  Bound();
  EXPECT_THAT(files.List({folder_ / "data/*.tx[t]"}),
              StatusIs(StatusCode::kPermissionDenied, HasSubstr("data/key.txt")));
  EXPECT_THAT(*files.List({folder_ / "data/a*", folder_ / "data/deep/*"}), SizeIs(2));
  EXPECT_THAT(files.Find(folder_ / "data/key.txt"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(files.Open(secret), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(files.Open(link), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(files.Open(data), IsOk());
  EXPECT_THAT(files.Create(folder_ / "data/new"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(files.Create(folder_ / "cache/link/new"),
              StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(files.Remove(data_), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_TRUE(std::filesystem::exists(data_));
  absl::StatusOr<std::unique_ptr<BlobWriter>> writer =
      files.Create(folder_ / "cache/new/file");
  ASSERT_THAT(writer, IsOk());
  EXPECT_THAT((*writer)->Publish(Sync::kLater), IsOk());
}

TEST_F(RootsTest, FoldersOfOthersAreNotListed) {
  Bound();
  for (const char* pattern : {"*", "secret/*", "data/link/*", "nothing/*"}) {
    const absl::Status status = ProcessFiles().List({folder_ / pattern}).status();
    EXPECT_THAT(status, StatusIs(StatusCode::kPermissionDenied)) << pattern;
    EXPECT_THAT(status.message(), Not(HasSubstr("secret/key"))) << pattern;
  }
}

}  // namespace
}  // namespace millrace::storage
