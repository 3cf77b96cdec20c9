#include "millrace/exec/kept_rows.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/log.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/stage_run.h"
#include "millrace/lanes/chunks.h"
#include "millrace/ops/collector_test.h"
#include "millrace/ops/source.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/file_entries.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/memory_entries.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::IsOkAndHolds;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kSplits = 4;

std::shared_ptr<KeptRows> Keeping(std::shared_ptr<storage::Entries> entries) {
  auto kept = std::make_shared<KeptRows>();
  kept->name = "cache (%2)";
  kept->entries = std::move(entries);
  for (uint64_t split = 0; split < kSplits; ++split) {
    kept->keys.push_back(
        {.computation = base::Sha256Of("a computation"), .content = {7, split}});
  }
  return kept;
}

std::shared_ptr<KeptRows> InMemory(int64_t bytes = 1 << 20) {
  return Keeping(std::make_shared<storage::MemoryEntries>(bytes));
}

Item RowsItem(int64_t rows, int64_t first = 0) {
  return Item::Of(storage::NumbersBlock(rows, first));
}

Item WrongRow() {
  return Item::LeftOut({.number = 1, .by = 3, .why = absl::DataLossError("torn")});
}

// Writes rows 0, 1, 2, ... down, in blocks of these sizes.
void Record(const std::shared_ptr<KeptRows>& kept, int64_t split,
            const std::vector<int64_t>& blocks) {
  Recorder recorder(kept, split, core::HeapPool());
  int64_t first = 0;
  for (const int64_t rows : blocks) {
    recorder.Add(RowsItem(rows, first));
    first += rows;
  }
  recorder.End();
}

absl::StatusOr<std::vector<int64_t>> ReadKept(const std::shared_ptr<KeptRows>& kept,
                                              const lanes::RowRange& rows) {
  const KeptSource source(kept, core::HeapPool());
  std::vector<int64_t> values;
  for (const core::Block& block : TRY(ops::ReadAll(source, rows))) {
    const auto more = block.Find("x")->As<int64_t>();
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

// What is said while it lives.
class Said {
 public:
  Said() {
    base::SetLogSink([this](const base::LogRecord& record) {
      messages.emplace_back(record.message);
    });
  }

  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;

  ~Said() { base::SetLogSink(nullptr); }

  std::vector<std::string> messages;
};

TEST(KeptRowsTest, AnEntryAppearsOnlyAtTheEnd) {
  const std::shared_ptr<KeptRows> kept = InMemory();
  Recorder recorder(kept, 2, core::HeapPool());
  recorder.Add(RowsItem(3));
  EXPECT_FALSE(kept->Has(2));
  recorder.Add(RowsItem(2, 3));
  EXPECT_FALSE(kept->Has(2));
  recorder.End();
  EXPECT_TRUE(kept->Has(2));
  EXPECT_FALSE(kept->Has(1));
  EXPECT_THAT(ReadKept(kept, {.split = 2, .begin = 0, .end = 5}),
              IsOkAndHolds(ElementsAre(0, 1, 2, 3, 4)));
}

TEST(KeptRowsTest, WhatDidNotComeToItsEndIsNotKept) {
  auto entries = std::make_shared<storage::MemoryEntries>(1 << 20);
  const std::shared_ptr<KeptRows> kept = Keeping(entries);
  {
    Recorder recorder(kept, 0, core::HeapPool());
    recorder.Add(RowsItem(3));
    EXPECT_GT(entries->bytes(), 0);
  }
  EXPECT_FALSE(kept->Has(0));
  EXPECT_EQ(entries->bytes(), 0);
  EXPECT_FALSE(kept->gave_up);
}

TEST(KeptRowsTest, ASplitWithoutRowsIsKeptAsWell) {
  const std::shared_ptr<KeptRows> kept = InMemory();
  Record(kept, 1, {});
  EXPECT_TRUE(kept->Has(1));
  EXPECT_THAT(ReadKept(kept, {.split = 1, .begin = 0, .end = 100}),
              IsOkAndHolds(IsEmpty()));
}

TEST(KeptRowsTest, WhereARowWasLeftOutNothingIsKept) {
  for (const int at : {0, 1, 2}) {
    auto entries = std::make_shared<storage::MemoryEntries>(1 << 20);
    const std::shared_ptr<KeptRows> kept = Keeping(entries);
    Recorder recorder(kept, 0, core::HeapPool());
    for (int i = 0; i < 3; ++i) {
      recorder.Add(i == at ? WrongRow() : RowsItem(2));
    }
    recorder.End();
    EXPECT_FALSE(kept->Has(0)) << at;
    EXPECT_EQ(entries->bytes(), 0) << at;
    EXPECT_FALSE(kept->gave_up);  // There is room for the others.
    Record(kept, 1, {2});
    EXPECT_TRUE(kept->Has(1));
  }
}

TEST(KeptRowsTest, AFullStoreGivesUpAndSaysSoOnce) {
  const Said said;
  const int64_t frame = storage::FrameOf(4).bytes();
  auto entries = std::make_shared<storage::MemoryEntries>(2 * frame);
  const std::shared_ptr<KeptRows> kept = Keeping(entries);
  Record(kept, 0, {4});
  EXPECT_FALSE(kept->gave_up);
  Record(kept, 1, {4, 4, 4});  // The first of these finds room.
  EXPECT_TRUE(kept->gave_up);
  Record(kept, 2, {4, 4, 4});
  EXPECT_TRUE(kept->Has(0));
  EXPECT_FALSE(kept->Has(1));
  EXPECT_FALSE(kept->Has(2));
  EXPECT_EQ(entries->bytes(), frame);
  EXPECT_THAT(said.messages, ElementsAre("a cache keeps no more rows"));
}

TEST(KeptRowsTest, AFolderThatFailsIsNoErrorEither) {
  const Said said;
  const storage::TemporaryFolder folder;
  const std::string file = folder.Write("file", "");
  const std::shared_ptr<KeptRows> kept =
      Keeping(std::make_shared<storage::FileEntries>(storage::ProcessFiles(), file));
  Record(kept, 0, {4});
  Record(kept, 1, {});
  EXPECT_TRUE(kept->gave_up);
  EXPECT_FALSE(kept->Has(0));
  EXPECT_FALSE(kept->Has(1));
  EXPECT_THAT(said.messages, ElementsAre("a cache keeps no more rows"));
}

TEST(KeptRowsTest, TheSourceReadsFromAnyRow) {
  const storage::TemporaryFolder folder;
  for (const std::shared_ptr<KeptRows>& kept :
       {InMemory(), Keeping(std::make_shared<storage::FileEntries>(
                        storage::ProcessFiles(), folder.path()))}) {
    Record(kept, 3, {3, 1, 4});
    for (int64_t begin = 0; begin <= 8; ++begin) {
      std::vector<int64_t> expected;
      for (int64_t row = begin; row < 8; ++row) expected.push_back(row);
      EXPECT_THAT(ReadKept(kept, {.split = 3, .begin = begin, .end = 1000}),
                  IsOkAndHolds(expected));
    }
  }
}

TEST(KeptRowsTest, IdentitiesAreKeptWithTheRows) {
  const std::shared_ptr<KeptRows> kept = InMemory();
  const std::vector<core::RowId> ids = {{1, 2}, {3, 4}};
  const core::Block rows =
      storage::NumbersBlock(2).WithIds(core::IdColumn(ids, core::HeapPool()).value());
  Recorder recorder(kept, 0, core::HeapPool());
  recorder.Add(Item::Of(rows));
  recorder.End();
  const KeptSource source(kept, core::HeapPool());
  const std::vector<core::Block> read =
      ops::ReadAll(source, {.split = 0, .begin = 0, .end = 2}).value();
  ASSERT_EQ(read.size(), 1);
  EXPECT_TRUE(core::SameRows(read[0], rows));
}

TEST(KeptRowsTest, OnlyFilesAreWaitedFor) {
  const storage::TemporaryFolder folder;
  const std::shared_ptr<KeptRows> memory = InMemory();
  const std::shared_ptr<KeptRows> files = Keeping(
      std::make_shared<storage::FileEntries>(storage::ProcessFiles(), folder.path()));
  for (const std::shared_ptr<KeptRows>& kept : {memory, files}) {
    Record(kept, 0, {3});
    const KeptSource source(kept, core::HeapPool());
    EXPECT_EQ(source.waits(), kept == files);
    const std::unique_ptr<ops::Reader> reader =
        source.Open({.split = 0, .begin = 0, .end = 3}).value();
    EXPECT_THAT(reader->FetchNow(), IsOkAndHolds(kept == memory));
  }
}

TEST(KeptRowsTest, ADamagedEntryIsRemovedAndComputedAgain) {
  const storage::TemporaryFolder folder;
  const std::shared_ptr<KeptRows> kept = Keeping(
      std::make_shared<storage::FileEntries>(storage::ProcessFiles(), folder.path()));
  Record(kept, 0, {100});
  Record(kept, 1, {100});
  std::string path;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) path = std::max(path, entry.path().string());
  }
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('x');
  }
  // Entries are named by their content's number: the last is split 1.
  EXPECT_THAT(
      ReadKept(kept, {.split = 1, .begin = 0, .end = 100}),
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(path), HasSubstr("frame 0"), HasSubstr("it was removed"),
                     HasSubstr("computed again"))));
  EXPECT_FALSE(kept->Has(1));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(kept->Has(0));
  Record(kept, 1, {100});
  EXPECT_THAT(ReadKept(kept, {.split = 1, .begin = 98, .end = 100}),
              IsOkAndHolds(ElementsAre(98, 99)));
}

TEST(KeptRowsTest, AnEntryThatSomebodyRemovedIsForgotten) {
  const storage::TemporaryFolder folder;
  const std::shared_ptr<KeptRows> kept = Keeping(
      std::make_shared<storage::FileEntries>(storage::ProcessFiles(), folder / "here"));
  Record(kept, 0, {5});
  std::filesystem::remove_all(folder / "here");
  EXPECT_TRUE(kept->Has(0));  // As far as anybody knows.
  EXPECT_THAT(ReadKept(kept, {.split = 0, .begin = 0, .end = 5}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("start anew")));
  EXPECT_FALSE(kept->Has(0));
}

}  // namespace
}  // namespace millrace::exec
