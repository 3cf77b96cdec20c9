// What only files promise: they are shared with others. What all entries promise is
// entries_test.cc's.

#include "millrace/storage/file_entries.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

class FileEntriesTest : public testing::Test {
 protected:
  static EntryKey Key(uint64_t content) {
    return {.computation = base::Sha256Of("a computation"), .content = {0, content}};
  }

  std::string PathOf(const EntryKey& key) const {
    return base::StrCat(folder_.path(), "/", base::ToHex(key.computation), "/",
                        base::ToHex(key.content), ".frames");
  }

  static int64_t RowsOf(const Entries& entries, const EntryKey& key) {
    const std::unique_ptr<FrameRun> entry = entries.Open(key).value();
    int64_t rows = 0;
    for (size_t i = 0; i < entry->frames().size(); ++i) {
      core::Buffer bytes = core::HeapPool().Allocate(entry->frames()[i].bytes).value();
      CHECK(entry->Read(static_cast<int64_t>(i), bytes.MutableAs<std::byte>()).ok());
      rows += frames::Decode(bytes).value().rows();
    }
    return rows;
  }

  static void Write(Entries& entries, const EntryKey& key, int64_t rows) {
    const std::unique_ptr<EntryWriter> writer = entries.Create(key).value();
    ASSERT_THAT(writer->Append(FrameOf(rows)), IsOk());
    ASSERT_THAT(writer->Publish(), IsOk());
  }

  int64_t Files() const {
    int64_t files = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(folder_.path())) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  }

  const TemporaryFolder folder_;
  FileEntries entries_{ProcessFiles(), folder_.path()};
};

TEST_F(FileEntriesTest, AnEntryIsAFileNamedByItsKey) {
  Write(entries_, Key(7), 4);
  EXPECT_TRUE(std::filesystem::exists(PathOf(Key(7))));
  EXPECT_EQ(entries_.Open(Key(7)).value()->name(), PathOf(Key(7)));
  EXPECT_TRUE(entries_.waits());
}

TEST_F(FileEntriesTest, OfTwoWritersTheLastIsThereWhole) {
  const std::unique_ptr<EntryWriter> first = entries_.Create(Key(1)).value();
  const std::unique_ptr<EntryWriter> second = entries_.Create(Key(1)).value();
  ASSERT_THAT(first->Append(FrameOf(2)), IsOk());
  ASSERT_THAT(second->Append(FrameOf(3)), IsOk());
  ASSERT_THAT(second->Append(FrameOf(3)), IsOk());
  ASSERT_THAT(first->Append(FrameOf(2)), IsOk());
  ASSERT_THAT(first->Publish(), IsOk());
  EXPECT_EQ(RowsOf(entries_, Key(1)), 4);
  ASSERT_THAT(second->Publish(), IsOk());
  EXPECT_EQ(RowsOf(entries_, Key(1)), 6);
}

TEST_F(FileEntriesTest, ProcessesThatWriteTheSameDoNotDisturbEachOther) {
  FileEntries other(ProcessFiles(), folder_.path());
  Write(entries_, Key(1), 4);
  const std::unique_ptr<FrameRun> reading = entries_.Open(Key(1)).value();
  Write(other, Key(1), 4);
  core::Buffer bytes = core::HeapPool().Allocate(reading->frames()[0].bytes).value();
  ASSERT_THAT(reading->Read(0, bytes.MutableAs<std::byte>()), IsOk());
  EXPECT_TRUE(core::SameRows(frames::Decode(bytes).value(), NumbersBlock(4)));
  EXPECT_EQ(Files(), 1);
}

TEST_F(FileEntriesTest, WhatWasDroppedLeavesNoFile) {
  {
    const std::unique_ptr<EntryWriter> writer = entries_.Create(Key(1)).value();
    ASSERT_THAT(writer->Append(FrameOf(100)), IsOk());
  }
  EXPECT_EQ(Files(), 0);
}

TEST_F(FileEntriesTest, RemovingRemovesTheFile) {
  Write(entries_, Key(1), 4);
  Write(entries_, Key(2), 4);
  ASSERT_THAT(entries_.Remove(Key(1)), IsOk());
  EXPECT_FALSE(std::filesystem::exists(PathOf(Key(1))));
  EXPECT_TRUE(entries_.Has(Key(2)));
  FileEntries other(ProcessFiles(), folder_.path());
  ASSERT_THAT(other.Load(Key(1).computation), IsOk());
  EXPECT_FALSE(other.Has(Key(1)));
  EXPECT_TRUE(other.Has(Key(2)));
}

TEST_F(FileEntriesTest, LoadsOnlyWhatIsOfTheComputation) {
  EntryKey other = Key(1);
  other.computation = base::Sha256Of("another");
  Write(entries_, Key(1), 4);
  Write(entries_, other, 4);
  folder_.Write(base::StrCat(base::ToHex(other.computation), "/notes.txt"), "mine");
  FileEntries again(ProcessFiles(), folder_.path());
  ASSERT_THAT(again.Load(other.computation), IsOk());
  EXPECT_TRUE(again.Has(other));
  EXPECT_FALSE(again.Has(Key(1)));
}

TEST_F(FileEntriesTest, AFolderThatIsNotThereYetIsEmpty) {
  FileEntries none(ProcessFiles(), folder_ / "not/there");
  EXPECT_THAT(none.Load(Key(1).computation), IsOk());
  EXPECT_FALSE(none.Has(Key(1)));
  EXPECT_THAT(none.Remove(Key(1)), IsOk());
}

TEST_F(FileEntriesTest, WhatIsNoEntryIsNamed) {
  folder_.Write(base::StrCat(base::ToHex(Key(1).computation), "/",
                             base::ToHex(Key(1).content), ".frames"),
                "not frames at all");
  ASSERT_THAT(entries_.Load(Key(1).computation), IsOk());
  EXPECT_TRUE(entries_.Has(Key(1)));
  EXPECT_THAT(entries_.Open(Key(1)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(PathOf(Key(1)))));
}

TEST_F(FileEntriesTest, FaultsOfTheDiskAreErrors) {
  FailingStore store(ProcessFiles());
  FileEntries failing(store, folder_.path());
  Write(entries_, Key(1), 4);
  const auto gone = StatusIs(absl::StatusCode::kUnavailable);
  store.FailAt(0);
  EXPECT_THAT(failing.Load(Key(1).computation), gone);
  EXPECT_THAT(failing.Open(Key(1)), gone);
  EXPECT_THAT(failing.Create(Key(2)), gone);
  EXPECT_THAT(failing.Remove(Key(1)), gone);
  EXPECT_TRUE(std::filesystem::exists(PathOf(Key(1))));
}

TEST_F(FileEntriesTest, ThreadsWriteTheSameKeys) {
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (uint64_t key = 0; key < 10; ++key) Write(entries_, Key(key), 5);
      });
    }
  }
  EXPECT_EQ(Files(), 10);
  for (uint64_t key = 0; key < 10; ++key) EXPECT_EQ(RowsOf(entries_, Key(key)), 5);
}

}  // namespace
}  // namespace millrace::storage
