#include "millrace/exec/caches.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status_matchers.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/storage/entries.h"
#include "millrace/storage/failing_store_test.h"
#include "millrace/storage/frames_test.h"
#include "millrace/storage/local_files.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

base::Sha256 Computation(const std::string& name) { return base::Sha256Of(name); }

void Write(storage::Entries& entries, const storage::EntryKey& key) {
  const std::unique_ptr<storage::EntryWriter> writer = entries.Create(key).value();
  CHECK(writer->Append(storage::FrameOf(4)).ok());
  CHECK(writer->Publish().ok());
}

TEST(CachesTest, AFolderHasOneStore) {
  const storage::TemporaryFolder folder;
  Caches caches(1 << 20);
  const auto first = caches.EntriesAt(folder / "a", Computation("one"));
  const auto again = caches.EntriesAt(folder / "a", Computation("two"));
  const auto other = caches.EntriesAt(folder / "b", Computation("one"));
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(*first, *again);
  EXPECT_NE(*first, *other);
  EXPECT_TRUE((*first)->waits());
}

TEST(CachesTest, MemoryIsSharedByAll) {
  Caches caches(1 << 20);
  const auto first = caches.EntriesAt(std::nullopt, Computation("one"));
  const auto other = caches.EntriesAt(std::nullopt, Computation("two"));
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(*first, *other);
  EXPECT_FALSE((*first)->waits());
  EXPECT_EQ(caches.memory_bytes(), 0);
  Write(**first, {.computation = Computation("one"), .content = {1, 2}});
  EXPECT_EQ(caches.memory_bytes(), storage::FrameOf(4).bytes());
}

TEST(CachesTest, FilesTakeNoneOfTheMemory) {
  const storage::TemporaryFolder folder;
  Caches caches(0);
  const auto files = caches.EntriesAt(folder / "a", Computation("one"));
  ASSERT_THAT(files, IsOk());
  Write(**files, {.computation = Computation("one"), .content = {1, 2}});
  EXPECT_EQ(caches.memory_bytes(), 0);
}

TEST(CachesTest, FindsWhatAnotherProcessKeptOfTheComputation) {
  const storage::TemporaryFolder folder;
  const storage::EntryKey one = {.computation = Computation("one"), .content = {1, 2}};
  const storage::EntryKey two = {.computation = Computation("two"), .content = {1, 2}};
  {
    Caches before(0);
    Write(**before.EntriesAt(folder / "a", one.computation), one);
    Write(**before.EntriesAt(folder / "a", two.computation), two);
  }
  Caches caches(0);
  const auto entries = caches.EntriesAt(folder / "a", one.computation);
  ASSERT_THAT(entries, IsOk());
  EXPECT_TRUE((*entries)->Has(one));
  EXPECT_FALSE((*entries)->Has(two));  // Nobody has asked about it.
  ASSERT_THAT(caches.EntriesAt(folder / "a", two.computation), IsOk());
  EXPECT_TRUE((*entries)->Has(two));
}

TEST(CachesTest, AskingLeavesNoFileBehind) {
  const storage::TemporaryFolder folder;
  Caches caches(0);
  ASSERT_THAT(caches.EntriesAt(folder / "a", Computation("one")), IsOk());
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path())) {
    EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
}

TEST(CachesTest, APathBelowAFileIsNamed) {
  const storage::TemporaryFolder folder;
  const std::string file = folder.Write("file", "content");
  Caches caches(0);
  for (const std::string& path : {file, file + "/below"}) {
    const absl::StatusOr<std::shared_ptr<storage::Entries>> entries =
        caches.EntriesAt(path, Computation("one"));
    ASSERT_FALSE(entries.ok());
    EXPECT_THAT(std::string(entries.status().message()),
                AllOf(HasSubstr(path), HasSubstr("give a folder")));
  }
  EXPECT_EQ(storage::ReadFile(file), "content");
}

TEST(CachesTest, AStoreThatFailsIsAnErrorAndIsAskedAgain) {
  const storage::TemporaryFolder folder;
  storage::FailingStore store(storage::ProcessFiles());
  Caches caches(0, store);
  for (const int64_t call : {0, 1}) {
    store.FailAt(call);
    EXPECT_THAT(caches.EntriesAt(folder / "a", Computation("one")),
                StatusIs(absl::StatusCode::kUnavailable));
  }
  store.FailAt(-1);
  EXPECT_THAT(caches.EntriesAt(folder / "a", Computation("one")), IsOk());
}

// Runs all of a pass, and gives how many rows came from its map.
int64_t RowsOfMap(Engine& engine, const std::string& text) {
  const std::unique_ptr<Iterator> pass =
      engine.Open(AsWritten(text), ops::DefaultLibrary(), {}).value();
  while (pass->Next().value().has_value()) {
  }
  for (const profile::OperatorFacts& op : pass->Facts().operators) {
    if (op.name == "map") return op.rows_out;
  }
  return 0;
}

TEST(CachesTest, PipelinesThatBeginAlikeShareWhatIsKept) {
  const std::string alike =
      "%0 = range(stop=100)\n%1 = map(%0, function={x: .value + 1})\n%2 = cache(%1)\n";
  Engine engine({.threads = 1});
  EXPECT_EQ(RowsOfMap(engine, alike), 100);
  const int64_t kept = engine.caches().memory_bytes();
  EXPECT_GT(kept, 0);
  EXPECT_EQ(RowsOfMap(engine, alike + "%3 = batch(%2, size=5)\n"), 0);
  EXPECT_EQ(RowsOfMap(engine, alike + "%3 = filter(%2, predicate={.x > 5})\n"), 0);
  EXPECT_EQ(engine.caches().memory_bytes(), kept);
  EXPECT_EQ(RowsOfMap(engine,
                      "%0 = range(stop=100)\n%1 = map(%0, function={x: .value + 2})\n"
                      "%2 = cache(%1)\n"),
            100);
  EXPECT_GT(engine.caches().memory_bytes(), kept);
  Engine other({.threads = 1});
  EXPECT_EQ(RowsOfMap(other, alike), 100);
}

}  // namespace
}  // namespace millrace::exec
