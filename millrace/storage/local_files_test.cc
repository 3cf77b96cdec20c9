#include "millrace/storage/local_files.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/storage/blob_store.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kPermissionDenied;
using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

class LocalFilesTest : public testing::Test {
 protected:
  std::vector<std::string> Names(const std::vector<std::string>& patterns) {
    std::vector<std::string> absolute;
    absolute.reserve(patterns.size());
    for (const std::string& pattern : patterns) absolute.push_back(folder_ / pattern);
    std::vector<std::string> names;
    const auto blobs = files_.List(absolute);
    EXPECT_THAT(blobs, IsOk());
    for (const BlobInfo& blob : *blobs) {
      names.push_back(blob.path.substr(folder_.path().size() + 1));
    }
    return names;
  }

  const TemporaryFolder folder_;
  const LocalFiles files_;
};

TEST_F(LocalFilesTest, ListsWhatMatchesSortedAndOnce) {
  for (const char* name : {"b.tar", "a.tar", "c.txt", "d/e.tar", "B.tar"}) {
    folder_.Write(name, name);
  }
  EXPECT_THAT(Names({"*.tar"}), ElementsAre("B.tar", "a.tar", "b.tar"));
  EXPECT_THAT(Names({"{b,a}.tar", "*.tar", "c.txt"}),
              ElementsAre("B.tar", "a.tar", "b.tar", "c.txt"));
  EXPECT_THAT(Names({"**/*.tar"}), ElementsAre("B.tar", "a.tar", "b.tar", "d/e.tar"));
}

TEST_F(LocalFilesTest, SaysWhatMatchesNothing) {
  folder_.Write("a.tar", "a");
  EXPECT_THAT(files_.List({folder_ / "*.tgz"}),
              StatusIs(kNotFound, AllOf(HasSubstr("no file matches: "),
                                        HasSubstr("/*.tgz; check the spelling"))));
  EXPECT_THAT(files_.List({folder_ / "a.tar", folder_ / "{a,b}.tar"}),
              StatusIs(kNotFound, HasSubstr("/b.tar")));
  EXPECT_THAT(files_.List({folder_ / "none/*"}), StatusIs(kNotFound));
  EXPECT_THAT(files_.List({}), IsOkAndHolds(IsEmpty()));
}

TEST_F(LocalFilesTest, AFolderIsNoFile) {
  folder_.Write("d/a", "");
  EXPECT_THAT(files_.List({folder_ / "d"}),
              StatusIs(kInvalidArgument, HasSubstr("give a pattern such as")));
}

TEST_F(LocalFilesTest, ReadsAnyRange) {
  const BlobInfo info = *files_.Find(folder_.Write("a", "0123456789"));
  EXPECT_EQ(info.bytes, 10);
  const std::unique_ptr<Blob> blob = *files_.Open(info);
  const auto read = [&](int64_t offset, size_t size) {
    std::string room(size, '_');
    const int64_t got = *blob->Read(
        offset,
        absl::Span<std::byte>(reinterpret_cast<std::byte*>(room.data()), room.size()));
    return std::to_string(got) + " " + room;
  };
  EXPECT_EQ(read(2, 3), "3 234");
  EXPECT_EQ(read(8, 3), "2 89_");
  EXPECT_EQ(read(10, 2), "0 __");
  EXPECT_EQ(read(1000, 2), "0 __");
  EXPECT_EQ(read(0, 0), "0 ");
}

TEST_F(LocalFilesTest, ReadsWhatIsAtHandWithoutWaiting) {
  const std::unique_ptr<Blob> blob =
      *files_.Open(*files_.Find(folder_.Write("a", "0123456789")));
  std::array<std::byte, 16> room = {};
  // Not every file system can tell; where it can, what was just written is at hand.
  const int64_t got = *blob->ReadNow(2, absl::MakeSpan(room));
  ASSERT_THAT(got, AnyOf(0, 8));
  if (got > 0) {
    EXPECT_EQ(std::memcmp(room.data(), "23456789", 8), 0);
  }
  EXPECT_EQ(*blob->ReadNow(10, absl::MakeSpan(room)), 0);
}

TEST_F(LocalFilesTest, ReadsFromManyThreadsAtOnce) {
  const std::string content = Noise(100'000);
  const std::unique_ptr<Blob> blob =
      *files_.Open(*files_.Find(folder_.Write("a", content)));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  threads.reserve(wrong.size());
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<std::byte> room(1000);
      for (size_t at = thread * 7; at + 1000 < content.size(); at += 997) {
        const auto got = blob->Read(static_cast<int64_t>(at), absl::MakeSpan(room));
        const auto* text = reinterpret_cast<const char*>(room.data());
        wrong[thread] +=
            !got.ok() || std::string(text, 1000) != content.substr(at, 1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST_F(LocalFilesTest, NoticesFilesThatVanishedOrChanged) {
  const std::string path = folder_.Write("a", "0123456789");
  const BlobInfo listed = *files_.Find(path);
  EXPECT_THAT(files_.Open(listed), IsOk());
  folder_.Write("a", "012345678");
  EXPECT_THAT(files_.Open(listed),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("has changed"), HasSubstr("start anew"))));
  std::filesystem::remove(path);
  EXPECT_THAT(files_.Open(listed), StatusIs(kNotFound, HasSubstr("has vanished")));
}

TEST_F(LocalFilesTest, NoticesAnotherTimeOfChange) {
  const std::string path = folder_.Write("a", "0123456789");
  const BlobInfo listed = *files_.Find(path);
  const auto time = std::filesystem::last_write_time(path);
  std::filesystem::last_write_time(path, time + std::chrono::nanoseconds(1000));
  EXPECT_NE(files_.Find(path)->version, listed.version);
  EXPECT_THAT(files_.Open(listed), StatusIs(kFailedPrecondition));
}

TEST_F(LocalFilesTest, NoticesAFileThatGetsShorterWhileItIsRead) {
  const std::string path = folder_.Write("a", "0123456789");
  const std::unique_ptr<Blob> blob = *files_.Open(*files_.Find(path));
  std::filesystem::resize_file(path, 4);
  std::vector<std::byte> room(10);
  EXPECT_THAT(blob->Read(0, absl::MakeSpan(room)),
              StatusIs(kFailedPrecondition, HasSubstr("became shorter")));
}

TEST_F(LocalFilesTest, NamesWhatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const BlobInfo info = *files_.Find(folder_.Write("a", "content"));
  chmod(info.path.c_str(), 0);
  EXPECT_THAT(files_.Open(info), StatusIs(kPermissionDenied, HasSubstr(info.path)));
}

TEST_F(LocalFilesTest, WritesAppearAllAtOnceInPlaceOfWhatWasThere) {
  for (const char* content : {"first", "second"}) {
    const std::unique_ptr<BlobWriter> writer = *files_.Create(folder_ / "a");
    EXPECT_THAT(writer->Append(content), IsOk());
    EXPECT_THAT(writer->Append(" part"), IsOk());
    EXPECT_EQ(NamesIn(folder_.path()).size(), *content == 'f' ? 0U : 1U);
    EXPECT_THAT(writer->Publish(Sync::kNow), IsOk());
    EXPECT_EQ(ReadFile(folder_ / "a"), std::string(content) + " part");
    EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("a"));
  }
}

// They reach the disk piece by piece.
TEST_F(LocalFilesTest, LargeWritesAreWhole) {
  std::string content;
  while (content.size() < 20'000'003) content += std::to_string(content.size());
  const std::unique_ptr<BlobWriter> writer = *files_.Create(folder_ / "a");
  EXPECT_THAT(writer->Append("before "), IsOk());
  EXPECT_THAT(writer->Append(content), IsOk());
  EXPECT_THAT(writer->Publish(Sync::kNow), IsOk());
  EXPECT_TRUE(ReadFile(folder_ / "a") == "before " + content);
}

TEST_F(LocalFilesTest, WhatIsThereIsKeptWhereThatIsAskedFor) {
  for (const char* content : {"first", "second"}) {
    const std::unique_ptr<BlobWriter> writer =
        *files_.Create(folder_ / "a", Existing::kKeep);
    EXPECT_THAT(writer->Append(content), IsOk());
    EXPECT_THAT(writer->Publish(Sync::kNow), IsOk());
    EXPECT_EQ(ReadFile(folder_ / "a"), "first");
    EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("a"));
  }
}

// Files may be only so large while this lives: as when the disk is full.
class LittleRoom {
 public:
  explicit LittleRoom(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit now = {.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
  }

  LittleRoom(const LittleRoom&) = delete;
  LittleRoom& operator=(const LittleRoom&) = delete;

  ~LittleRoom() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

TEST_F(LocalFilesTest, WhereThereIsNoRoomTheFileIsNamedAndTheOldOneStays) {
  const std::string path = folder_.Write("a", "what was there");
  {
    const LittleRoom little(1000);
    const std::unique_ptr<BlobWriter> writer = *files_.Create(path);
    EXPECT_THAT(writer->Append(std::string(5000, 'x')).message(),
                AllOf(HasSubstr("cannot write file"), HasSubstr(path)));
  }
  EXPECT_EQ(ReadFile(path), "what was there");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(LocalFilesTest, WritesThatAreNotPublishedLeaveNothing) {
  {
    const std::unique_ptr<BlobWriter> writer = *files_.Create(folder_ / "a");
    EXPECT_THAT(writer->Append("half"), IsOk());
  }
  EXPECT_THAT(NamesIn(folder_.path()), IsEmpty());
}

TEST_F(LocalFilesTest, FoldersAreMadeWhereTheyAreMissing) {
  const std::unique_ptr<BlobWriter> writer = *files_.Create(folder_ / "a/b/c");
  EXPECT_THAT(writer->Publish(Sync::kLater), IsOk());
  EXPECT_THAT(files_.Find(folder_ / "a/b/c"), IsOk());
  EXPECT_THAT(files_.Create(folder_ / "a/b/c/d"),
              StatusIs(kNotFound, HasSubstr("cannot make folder")));
}

TEST_F(LocalFilesTest, RemovesFilesAlsoThoseThatAreNotThere) {
  const std::string path = folder_.Write("a", "b");
  EXPECT_THAT(files_.Remove(path), IsOk());
  EXPECT_THAT(files_.Find(path), StatusIs(kNotFound));
  EXPECT_THAT(files_.Remove(path), IsOk());
  EXPECT_THAT(files_.Remove(folder_.path()), Not(IsOk()));
}

}  // namespace
}  // namespace millrace::storage
