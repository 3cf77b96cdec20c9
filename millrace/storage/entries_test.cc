// Both kinds of entries, and what each has for itself.

#include "millrace/storage/entries.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/hash.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/frames/frame.h"
#include "millrace/storage/file_entries.h"
#include "millrace/storage/frame_run.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/memory_entries.h"
#include "millrace/storage/samples_test.h"

namespace millrace::storage {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

EntryKey Key(uint64_t content) {
  base::Sha256Hasher hasher;
  hasher.Update("a computation");
  return {.computation = hasher.Finish(), .content = {0, content}};
}

void Write(Entries& entries, uint64_t content, int64_t frames, int64_t rows = 4) {
  const std::unique_ptr<EntryWriter> writer = entries.Create(Key(content)).value();
  for (int64_t i = 0; i < frames; ++i) {
    ASSERT_THAT(writer->Append(FrameOf(rows)), IsOk());
  }
  ASSERT_THAT(writer->Publish(), IsOk());
}

void CheckEntry(const Entries& entries, uint64_t content, int64_t frames) {
  const std::unique_ptr<FrameRun> entry = entries.Open(Key(content)).value();
  ASSERT_EQ(std::ssize(entry->frames()), frames);
  for (int64_t i = 0; i < frames; ++i) {
    core::Buffer bytes = core::HeapPool().Allocate(entry->frames()[i].bytes).value();
    ASSERT_THAT(entry->Read(i, bytes.MutableAs<std::byte>()), IsOk());
    EXPECT_TRUE(core::SameRows(frames::Decode(bytes).value(), NumbersBlock(4)));
  }
}

void CheckKeepsEntries(Entries& entries) {
  EXPECT_FALSE(entries.Has(Key(1)));
  EXPECT_THAT(entries.Open(Key(1)), StatusIs(absl::StatusCode::kNotFound));
  Write(entries, 1, 3);
  Write(entries, 2, 0);
  EXPECT_TRUE(entries.Has(Key(1)));
  CheckEntry(entries, 1, 3);
  CheckEntry(entries, 2, 0);
  {  // Not complete: not there.
    const std::unique_ptr<EntryWriter> writer = entries.Create(Key(3)).value();
    EXPECT_THAT(writer->Append(FrameOf(4)), IsOk());
  }
  EXPECT_FALSE(entries.Has(Key(3)));
  Write(entries, 1, 3);  // Again: the same.
  CheckEntry(entries, 1, 3);
  EXPECT_THAT(entries.Remove(Key(1)), IsOk());
  EXPECT_FALSE(entries.Has(Key(1)));
  EXPECT_THAT(entries.Remove(Key(1)), IsOk());
}

TEST(EntriesTest, MemoryKeepsEntries) {
  MemoryEntries entries(1 << 20);
  CheckKeepsEntries(entries);
  EXPECT_EQ(entries.bytes(), 0);
}

TEST(EntriesTest, FilesKeepEntries) {
  const TemporaryFolder folder;
  FileEntries entries(ProcessFiles(), folder / "made/on the way");
  CheckKeepsEntries(entries);
}

TEST(EntriesTest, MemoryHasALimitAndWhatIsDroppedIsFreeAgain) {
  const int64_t frame = FrameOf(4).bytes();
  MemoryEntries entries(3 * frame);
  Write(entries, 1, 2);
  EXPECT_EQ(entries.bytes(), 2 * frame);
  {
    const std::unique_ptr<EntryWriter> writer = entries.Create(Key(2)).value();
    EXPECT_THAT(writer->Append(FrameOf(4)), IsOk());
    EXPECT_THAT(
        writer->Append(FrameOf(4)),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("more memory")));
  }
  EXPECT_EQ(entries.bytes(), 2 * frame);
  Write(entries, 2, 1);
  EXPECT_TRUE(entries.Has(Key(1)));
}

TEST(EntriesTest, AnEntryInUseOutlivesItsRemoval) {
  MemoryEntries entries(1 << 20);
  Write(entries, 1, 1);
  const std::unique_ptr<FrameRun> entry = entries.Open(Key(1)).value();
  EXPECT_THAT(entries.Remove(Key(1)), IsOk());
  core::Buffer bytes = core::HeapPool().Allocate(entry->frames()[0].bytes).value();
  EXPECT_THAT(entry->Read(0, bytes.MutableAs<std::byte>()), IsOk());
}

TEST(EntriesTest, FilesAreFoundByAnotherProcess) {
  const TemporaryFolder folder;
  const std::string odd = folder / "{a,b}[c]*";
  FileEntries first(ProcessFiles(), odd);
  Write(first, 1, 2);
  FileEntries second(ProcessFiles(), odd);
  EXPECT_FALSE(second.Has(Key(1)));
  ASSERT_THAT(second.Load(Key(1).computation), IsOk());
  EXPECT_TRUE(second.Has(Key(1)));
  CheckEntry(second, 1, 2);
}

}  // namespace
}  // namespace millrace::storage
