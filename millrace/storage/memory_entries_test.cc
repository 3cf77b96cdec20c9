// What only memory promises: its budget, however many write at once. What all entries
// promise is entries_test.cc's.

#include "millrace/storage/memory_entries.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/frames_test.h"

namespace millrace::storage {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;

EntryKey Key(uint64_t content) {
  return {.computation = base::Sha256Of("a computation"), .content = {0, content}};
}

core::Block BlockAt(const FrameRun& entry, int64_t frame) {
  core::Buffer bytes = core::HeapPool().Allocate(entry.frames()[frame].bytes).value();
  CHECK(entry.Read(frame, bytes.MutableAs<std::byte>()).ok());
  return frames::Decode(bytes).value();
}

TEST(MemoryEntriesTest, TheFirstOfTwoWritersIsKeptAndTheOthersRoomIsFree) {
  const int64_t small = FrameOf(2).bytes();
  const int64_t large = FrameOf(100).bytes();
  MemoryEntries entries(1 << 20);
  std::unique_ptr<EntryWriter> first = entries.Create(Key(1)).value();
  std::unique_ptr<EntryWriter> second = entries.Create(Key(1)).value();
  ASSERT_THAT(first->Append(FrameOf(2)), IsOk());
  ASSERT_THAT(second->Append(FrameOf(100)), IsOk());
  EXPECT_EQ(entries.bytes(), small + large);
  ASSERT_THAT(second->Publish(), IsOk());
  ASSERT_THAT(first->Publish(), IsOk());  // Nothing is wrong with it.
  first = nullptr;
  second = nullptr;
  EXPECT_EQ(entries.bytes(), large);
  EXPECT_EQ(entries.Open(Key(1)).value()->frames()[0].rows, 100);
}

TEST(MemoryEntriesTest, KeysDifferByComputationAndByContent) {
  MemoryEntries entries(1 << 20);
  const EntryKey other = {.computation = base::Sha256Of("other"), .content = {0, 1}};
  ASSERT_THAT(entries.Create(Key(1)).value()->Publish(), IsOk());
  EXPECT_TRUE(entries.Has(Key(1)));
  EXPECT_FALSE(entries.Has(Key(2)));
  EXPECT_FALSE(entries.Has(other));
  EXPECT_THAT(entries.Open(other), StatusIs(absl::StatusCode::kNotFound));
}

TEST(MemoryEntriesTest, TheLastByteOfTheBudgetCanBeUsed) {
  const int64_t bytes = FrameOf(4).bytes();
  MemoryEntries entries(bytes);
  const std::unique_ptr<EntryWriter> writer = entries.Create(Key(1)).value();
  EXPECT_THAT(writer->Append(FrameOf(4)), IsOk());
  EXPECT_EQ(entries.bytes(), bytes);
  MemoryEntries less(bytes - 1);
  EXPECT_THAT(less.Create(Key(1)).value()->Append(FrameOf(4)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(less.bytes(), 0);
}

TEST(MemoryEntriesTest, WithoutABudgetOnlyWhatHasNoRowsIsKept) {
  MemoryEntries entries(0);
  EXPECT_THAT(entries.Create(Key(1)).value()->Append(FrameOf(0)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(entries.Create(Key(2)).value()->Publish(), IsOk());
  EXPECT_TRUE(entries.Has(Key(2)));
}

TEST(MemoryEntriesTest, ReadingNeverWaits) {
  MemoryEntries entries(1 << 20);
  EXPECT_FALSE(entries.waits());
  const std::unique_ptr<EntryWriter> writer = entries.Create(Key(1)).value();
  ASSERT_THAT(writer->Append(FrameOf(4)), IsOk());
  ASSERT_THAT(writer->Publish(), IsOk());
  const std::unique_ptr<FrameRun> entry = entries.Open(Key(1)).value();
  core::Buffer room = core::HeapPool().Allocate(entry->frames()[0].bytes).value();
  EXPECT_THAT(entry->ReadNow(0, room.MutableAs<std::byte>()),
              IsOkAndHolds(room.size()));
  EXPECT_TRUE(core::SameRows(frames::Decode(room).value(), NumbersBlock(4)));
}

TEST(MemoryEntriesTest, AWriterMayOutliveTheEntries) {
  auto entries = std::make_unique<MemoryEntries>(1 << 20);
  const std::unique_ptr<EntryWriter> writer = entries->Create(Key(1)).value();
  ASSERT_THAT(writer->Append(FrameOf(4)), IsOk());
  entries = nullptr;
  EXPECT_THAT(writer->Append(FrameOf(4)), IsOk());
  EXPECT_THAT(writer->Publish(), IsOk());
}

// Threads write, read and remove a few keys; room is for some of them only.
TEST(MemoryEntriesTest, ThreadsStayWithinTheBudget) {
  constexpr int kThreads = 4;
  constexpr int kKeys = 6;
  const int64_t most = 4 * FrameOf(50).bytes();
  MemoryEntries entries(most);
  std::atomic<int64_t> over = 0;
  std::atomic<int64_t> wrong = 0;
  const auto work = [&](int thread) {
    for (int i = 0; i < 300; ++i) {
      const uint64_t key = (thread + 5 * i) % kKeys;
      const std::unique_ptr<EntryWriter> writer = entries.Create(Key(key)).value();
      const bool fits =
          writer->Append(FrameOf(50)).ok() && writer->Append(FrameOf(3)).ok();
      if (fits) (void)writer->Publish();
      if (entries.bytes() > most) ++over;
      const auto entry = entries.Open(Key(key));
      if (entry.ok() &&
          (BlockAt(**entry, 0).rows() != 50 || BlockAt(**entry, 1).rows() != 3)) {
        ++wrong;
      }
      if (i % 3 == 0) (void)entries.Remove(Key(key));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  }
  EXPECT_EQ(over, 0);
  EXPECT_EQ(wrong, 0);
  for (uint64_t key = 0; key < kKeys; ++key) {
    ASSERT_THAT(entries.Remove(Key(key)), IsOk());
  }
  EXPECT_EQ(entries.bytes(), 0);  // Nothing was lost on the way.
}

}  // namespace
}  // namespace millrace::storage
