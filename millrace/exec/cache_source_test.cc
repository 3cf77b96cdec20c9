// Caches in whole passes: the same rows whether or not anything is kept, what is kept
// is not computed again, and nothing stale, foreign or damaged is ever taken.

#include "millrace/exec/cache_source.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/caches.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/random_pipeline_test.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct Outcome {
  core::Block rows;
  profile::PassFacts facts;

  // Rows that came out of the operator of this name.
  int64_t RowsOf(const std::string& name) const {
    for (const profile::OperatorFacts& op : facts.operators) {
      if (op.name == name) return op.rows_out;
    }
    return 0;
  }
};

absl::StatusOr<Outcome> TryRun(Engine& engine, const std::string& text,
                               const PassOptions& options = {}) {
  const auto iterator =
      TRY(engine.Open(AsWritten(text), ops::DefaultLibrary(), options));
  std::vector<core::Block> blocks;
  while (std::optional<core::Block> block = TRY(iterator->Next())) {
    blocks.push_back(*std::move(block));
  }
  return Outcome{Joined(std::move(blocks)), iterator->Facts()};
}

Outcome RunIn(Engine& engine, const std::string& text,
              const PassOptions& options = {}) {
  absl::StatusOr<Outcome> run = TryRun(engine, text, options);
  CHECK(run.ok()) << run.status();
  return *std::move(run);
}

// Files of lines, read and made longer before a cache.
class CacheSourceTest : public testing::Test {
 protected:
  CacheSourceTest() {
    for (int file = 0; file < 3; ++file) WriteFile(file, 1000);
  }

  void WriteFile(int file, int lines) {
    std::string text;
    for (int line = 0; line < lines; ++line) {
      text += base::StrCat("line ", line, " of ", file, "\n");
    }
    data_.Write(base::StrCat(file, ".txt"), text);
  }

  std::string Text(const std::string& cache = "cache(%1)",
                   const std::string& behind = "") const {
    return base::StrCat("%0 = read_text(paths=[\"", data_ / "*.txt", "\"])\n",
                        "%1 = map(%0, function={text: text_join(.text, \"!\")})\n",
                        "%2 = ", cache, "\n", behind);
  }

  std::string InFiles() const {
    return base::StrCat("cache(%1, path=\"", kept_ / "here", "\")");
  }

  std::vector<std::string> KeptFiles() const {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(kept_.path())) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    return files;
  }

  const storage::TemporaryFolder data_;
  const storage::TemporaryFolder kept_;
};

TEST_F(CacheSourceTest, WhatWasKeptIsNotComputedAgain) {
  const core::Block plain = Joined(MustRun(Text()));
  for (const int threads : {1, 4}) {
    for (const std::string& cache : {std::string("cache(%1)"), InFiles()}) {
      Engine engine({.threads = threads});
      const Outcome first = RunIn(engine, Text(cache));
      const Outcome second = RunIn(engine, Text(cache));
      EXPECT_TRUE(core::SameRows(first.rows, plain));
      EXPECT_TRUE(core::SameRows(second.rows, plain));
      EXPECT_EQ(second.RowsOf("cache"), 3000);
      EXPECT_EQ(second.RowsOf("map"), 0);
    }
  }
}

TEST_F(CacheSourceTest, FilesServeOtherProcesses) {
  Engine first({.threads = 2});
  const core::Block rows = RunIn(first, Text(InFiles())).rows;
  EXPECT_THAT(KeptFiles(), SizeIs(3));
  Engine second({.threads = 2});
  const Outcome again = RunIn(second, Text(InFiles()));
  EXPECT_TRUE(core::SameRows(again.rows, rows));
  EXPECT_EQ(again.RowsOf("map"), 0);
  EXPECT_EQ(second.caches().memory_bytes(), 0);
}

TEST_F(CacheSourceTest, ShufflesAndBatchesBehindMayChange) {
  Engine engine({.threads = 2});
  RunIn(engine, Text());
  for (const std::string behind :
       {"%3 = shuffle(%2, window=100)\n", "%3 = ragged_batch(%2, size=7)\n",
        "%3 = shuffle(%2, window=9, seed=3)\n%4 = ragged_batch(%3, size=50)\n",
        "%3 = repeat(%2, count=2)\n%4 = shuffle(%3, window=9)\n"}) {
    for (const uint64_t epoch : {0, 1}) {
      const std::string text = Text("cache(%1)", behind);
      const Outcome run = RunIn(engine, text, {.epoch = epoch});
      EXPECT_TRUE(core::SameRows(run.rows, Joined(MustRun(text, {.epoch = epoch}))));
      EXPECT_EQ(run.RowsOf("map"), 0) << text;
    }
  }
}

TEST_F(CacheSourceTest, ChunksArePermutedBehindIt) {
  const std::string text =
      "%0 = range(stop=20000)\n%1 = cache(%0)\n"
      "%2 = shuffle(%1, window=10)\n";
  const std::vector<int64_t> rows = Values<int64_t>(Joined(MustRun(text)), "value");
  EXPECT_EQ(rows.size(), 20000);
  EXPECT_GT(rows[0], 10);  // Another chunk than the first comes first.
  const std::vector<int64_t> next =
      Values<int64_t>(Joined(MustRun(text, {.epoch = 1})), "value");
  EXPECT_NE(rows, next);
}

TEST_F(CacheSourceTest, DrawsBeforeItAreThoseOfEveryPassDrawsBehindAreNot) {
  const std::string text =
      "%0 = range(stop=100)\n"
      "%1 = map(%0, function={before: uniform(0.0, 1.0)})\n"
      "%2 = cache(%1)\n"
      "%3 = map(%2, function={before: .before, behind: uniform(0.0, 1.0)})\n";
  EXPECT_EQ(Values<double>(Joined(MustRun(text, {.epoch = 1})), "before"),
            Values<double>(Joined(MustRun(text, {.epoch = 2})), "before"));
  Engine engine({.threads = 2});
  for (const bool kept : {false, true}) {
    const core::Block first = RunIn(engine, text, {.epoch = 1}).rows;
    const core::Block second = RunIn(engine, text, {.epoch = 2}).rows;
    EXPECT_EQ(Values<double>(first, "before"), Values<double>(second, "before"))
        << kept;
    EXPECT_NE(Values<double>(first, "behind"), Values<double>(second, "behind"))
        << kept;
    EXPECT_TRUE(core::SameRows(first, Joined(MustRun(text, {.epoch = 1}))));
    const core::Block other = RunIn(engine, text, {.seed = 1}).rows;
    EXPECT_NE(Values<double>(first, "before"), Values<double>(other, "before"));
  }
}

TEST_F(CacheSourceTest, ChangedDataIsComputedAgain) {
  Engine engine({.threads = 2});
  RunIn(engine, Text(InFiles()));
  WriteFile(1, 500);
  const Outcome run = RunIn(engine, Text(InFiles()));
  EXPECT_EQ(run.rows.rows(), 2500);
  EXPECT_EQ(run.RowsOf("map"), 500);  // The other files are as they were.
  EXPECT_TRUE(core::SameRows(run.rows, Joined(MustRun(Text()))));
}

// Where a row stands in the pass depends on files that it is not in.
TEST_F(CacheSourceTest, PlacesBehindChangedDataAreComputedAgain) {
  const std::string text = base::StrCat(
      "%0 = read_fixed(paths=[\"", data_ / "*.bin", "\"], record_bytes=2)\n",
      "%1 = enumerate(%0)\n%2 = cache(%1, path=\"", kept_ / "here", "\")\n");
  for (const bool repeats : {false, true}) {
    std::string all = text;
    if (repeats) {
      all.replace(all.find("%2 = "), 5, "%2 = repeat(%1, count=2)\n%3 = ");
      all.replace(all.find("cache(%1"), 8, "cache(%2");
    }
    data_.Write("a.bin", std::string(2000, 'a'));
    data_.Write("b.bin", std::string(2000, 'b'));
    Engine engine({.threads = 2});
    RunIn(engine, all);
    data_.Write("a.bin", std::string(1000, 'a'));
    const Outcome run = RunIn(engine, all);
    EXPECT_TRUE(core::SameRows(run.rows, Joined(MustRun(all)))) << repeats;
  }
}

TEST_F(CacheSourceTest, AnotherPipelineFindsNothing) {
  Engine engine({.threads = 2});
  RunIn(engine, Text(InFiles()));
  std::string other = Text(InFiles());
  other.replace(other.find("\"!\""), 3, "\"?\"");
  EXPECT_EQ(RunIn(engine, other).RowsOf("map"), 3000);
}

TEST_F(CacheSourceTest, WhereThereIsNoRoomTheRestIsComputed) {
  Engine engine({.threads = 1, .cache_bytes = 60'000});  // About one file's rows.
  const core::Block plain = Joined(MustRun(Text()));
  RunIn(engine, Text());
  const Outcome second = RunIn(engine, Text());
  EXPECT_TRUE(core::SameRows(second.rows, plain));
  EXPECT_GT(second.RowsOf("map"), 0);
  EXPECT_LT(second.RowsOf("map"), 3000);
  EXPECT_LE(engine.caches().memory_bytes(), 60'000);
  EXPECT_GT(engine.caches().memory_bytes(), 0);
}

TEST_F(CacheSourceTest, PartsWithRowsLeftOutAreComputedAndCountedAgain) {
  data_.Write("1.txt", "good\n\xff\n");
  const std::string text =
      base::StrCat("%0 = read_text(paths=[\"", data_ / "*.txt", "\"])\n",
                   "%1 = map(%0, function={n: 1000 // (byte_length(.text) - 1)})\n",
                   "%2 = cache(%1)\n%3 = ignore_errors(%2)\n");
  Engine engine({.threads = 2});
  const Outcome first = RunIn(engine, text);
  const Outcome second = RunIn(engine, text);
  EXPECT_TRUE(core::SameRows(first.rows, second.rows));
  EXPECT_EQ(first.rows.rows(), 2001);
  EXPECT_EQ(second.RowsOf("map"), 1);
  EXPECT_THAT(first.facts.first_left_out, SizeIs(1));
  EXPECT_EQ(second.facts.first_left_out, first.facts.first_left_out);
}

// Runs a pass as many short ones, each going on from the state of the one before.
core::Block RunInPieces(Engine& engine, const std::string& text) {
  std::vector<core::Block> blocks;
  std::optional<lanes::State> state;
  while (true) {
    const auto iterator =
        *engine.Open(AsWritten(text), ops::DefaultLibrary(), {}, state);
    for (int i = 0; i < 97; ++i) {
      std::optional<core::Block> block = *iterator->Next();
      if (!block) return Joined(std::move(blocks));
      blocks.push_back(*std::move(block));
    }
    state = iterator->state();
  }
}

TEST_F(CacheSourceTest, GoesOnFromAnyStateKeptOrNot) {
  for (const std::string& text :
       {Text("cache(%1)",
             "%3 = shuffle(%2, window=40)\n%4 = ragged_batch(%3, size=7)\n"),
        std::string("%0 = range(stop=9000)\n%1 = cache(%0)\n"
                    "%2 = batch(%1, size=7)\n")}) {
    const core::Block plain = Joined(MustRun(text));
    for (const bool warm : {false, true}) {
      Engine engine({.threads = 2});
      if (warm) RunIn(engine, text);
      EXPECT_TRUE(core::SameRows(RunInPieces(engine, text), plain)) << warm << text;
      // Nobody has kept the rest of a part for the whole of it.
      EXPECT_TRUE(core::SameRows(RunIn(engine, text).rows, plain)) << warm << text;
    }
  }
}

TEST_F(CacheSourceTest, WhatEndsEarlyKeepsOnlyWhatIsComplete) {
  Engine engine({.threads = 2});
  RunIn(engine, Text(InFiles(), "%3 = take(%2, count=10)\n"));
  const Outcome run = RunIn(engine, Text(InFiles()));
  EXPECT_TRUE(core::SameRows(run.rows, Joined(MustRun(Text()))));
}

TEST_F(CacheSourceTest, ADamagedEntryIsNamedRemovedAndMadeAnew) {
  Engine engine({.threads = 2});
  const core::Block rows = RunIn(engine, Text(InFiles())).rows;
  const std::vector<std::string> files = KeptFiles();
  ASSERT_THAT(files, Not(IsEmpty()));
  {
    std::fstream file(files[0], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(300);
    file.put('x');
  }
  EXPECT_THAT(TryRun(engine, Text(InFiles())),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("cache (%2)"), HasSubstr(files[0]),
                             HasSubstr("computed again"))));
  EXPECT_TRUE(core::SameRows(RunIn(engine, Text(InFiles())).rows, rows));
  EXPECT_EQ(RunIn(engine, Text(InFiles())).RowsOf("map"), 0);
}

TEST_F(CacheSourceTest, AFolderThatCannotBeWrittenToIsNamed) {
  const std::string file = kept_.Write("file", "");
  Engine engine({.threads = 1});
  EXPECT_THAT(TryRun(engine, Text(base::StrCat("cache(%1, path=\"", file, "\")"))),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("cache (%2)"), HasSubstr(file),
                             HasSubstr("give a folder"))));
}

TEST_F(CacheSourceTest, BehindBatchesAllIsOneEntry) {
  const std::string text =
      "%0 = range(stop=1000)\n%1 = batch(%0, size=16)\n%2 = cache(%1)\n";
  Engine engine({.threads = 2});
  const core::Block first = RunIn(engine, text).rows;
  const Outcome second = RunIn(engine, text);
  EXPECT_TRUE(core::SameRows(first, second.rows));
  EXPECT_EQ(second.RowsOf("range"), 0);
}

TEST_F(CacheSourceTest, DrawnPipelinesGiveTheSameAgainAndAgain) {
  int hits = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const std::string text =
        RandomPipeline(base::Generator(base::RandomKey(seed, 0, 0), {}), false).Text();
    if (text.find("cache(") == std::string::npos) continue;
    Engine engine({.threads = 2});
    for (const uint64_t epoch : {0, 0, 1}) {
      const core::Block plain = Joined(MustRun(text, {.epoch = epoch}));
      const Outcome run = RunIn(engine, text, {.epoch = epoch});
      ASSERT_TRUE(core::SameRows(run.rows, plain)) << text;
    }
    hits += engine.caches().memory_bytes() > 0 ? 1 : 0;
  }
  EXPECT_GT(hits, 3);
}

}  // namespace
}  // namespace millrace::exec
