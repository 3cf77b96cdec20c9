#include "millrace/exec/engine.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/profile/facts.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Iterator> MustOpen(Engine& engine, std::string_view text,
                                   const std::optional<lanes::State>& state = {}) {
  auto iterator = engine.Open(AsWritten(text), ops::DefaultLibrary(), {}, state);
  CHECK(iterator.ok()) << iterator.status();
  return *std::move(iterator);
}

std::vector<core::Block> Drain(Iterator& iterator) {
  std::vector<core::Block> blocks;
  while (true) {
    absl::StatusOr<std::optional<core::Block>> block = iterator.Next();
    CHECK(block.ok()) << block.status();
    if (!block->has_value()) return blocks;
    blocks.push_back(**std::move(block));
  }
}

constexpr char kPlain[] = R"(
%0 = range(stop=100000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = filter(%1, predicate={.x % 3 == 0})
%3 = batch(%2, size=100)
)";

TEST(EngineTest, GivesWhatTheSequentialRunnerGives) {
  for (const int threads : {0, 1, 2, 8}) {  // Without any, this one does it.
    Engine engine({.threads = threads});
    const core::Block fast = Joined(Drain(*MustOpen(engine, kPlain)), 1);
    EXPECT_TRUE(core::SameRows(fast, Joined(MustRun(kPlain), 1))) << threads;
  }
}

// Behind a batch lanes are joined, or there is but one, whose tail ends with it.
TEST(EngineTest, TheLastShortBatchIsGivenWhateverStandsBehindIt) {
  const std::string batches = "%0 = range(stop=10) %1 = batch(%0, size=4) ";
  for (const std::string behind :
       {"", "%2 = shuffle(%1, window=2)", "%2 = take(%1, count=9)",
        "%2 = shuffle(%1, window=2) %3 = take(%2, count=9)"}) {
    Engine engine({.threads = 2});
    const core::Block given = Joined(Drain(*MustOpen(engine, batches + behind)), 1);
    EXPECT_EQ(given.rows(), 10) << behind;
    EXPECT_TRUE(core::SameRows(given, Joined(MustRun(batches + behind), 1))) << behind;
  }
}

TEST(EngineTest, CountsRowsWhereBatchesAreTakenApartAgain) {
  Engine engine({.threads = 2});
  const auto iterator =
      MustOpen(engine, "%0 = range(stop=100) %1 = batch(%0, size=7) %2 = unbatch(%1)");
  EXPECT_EQ(Joined(Drain(*iterator)).rows(), 100);
  EXPECT_EQ(iterator->Facts().rows, 100);
}

// Batches may be made before a repeat: what is counted is the rows in them.
TEST(EngineTest, CountsRowsOfBatchesThatAreRepeated) {
  const std::string batches = "%0 = range(stop=10) %1 = batch(%0, size=4) ";
  for (const std::string behind :
       {"%2 = repeat(%1, count=3)", "%2 = repeat(%1, count=3) %3 = enumerate(%2)",
        "%2 = concat(%1, %1, %1)", "%2 = repeat(%1, count=3) %3 = unbatch(%2)",
        "%2 = unbatch(%1) %3 = repeat(%2, count=3)"}) {
    Engine engine({.threads = 2});
    const auto iterator = MustOpen(engine, batches + behind);
    Drain(*iterator);
    EXPECT_EQ(iterator->Facts().rows, 30) << behind;
  }
}

// Reading all of these would take hours.
TEST(EngineTest, ReadsNoFurtherThanSomebodyWants) {
  const std::string rows = "%0 = range(stop=1000000000000) ";
  for (const std::string& text :
       {rows +
            "%1 = take_while(%0, predicate={.value < 1234}) %2 = batch(%1, size=100)",
        rows + "%1 = map(%0, function={x: .value}) %2 = take_while(%1, predicate={.x < "
               "1234}) %3 = shuffle(%2, window=50) %4 = batch(%3, size=100)"}) {
    EXPECT_EQ(MustRun(text).size(), 13) << text;
    for (const int threads : {1, 4}) {
      Engine engine({.threads = threads});
      EXPECT_EQ(Drain(*MustOpen(engine, text)).size(), 13) << text;
    }
  }
}

// So rows behind it are nobody's, also where they are wrong.
TEST(EngineTest, RowsBehindTheEndCannotBeWrong) {
  const std::string text =
      "%0 = range(stop=9000) %1 = map(%0, function={x: 100 // (.value - 40)}) %2 = "
      "take(%1, count=30)";
  EXPECT_EQ(Joined(MustRun(text)).rows(), 30);
  for (const int threads : {1, 4}) {
    Engine engine({.threads = threads});
    EXPECT_EQ(Joined(Drain(*MustOpen(engine, text))).rows(), 30);
  }
}

TEST(EngineTest, EndsAgainAndAgain) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, "%0 = range(stop=10)");
  EXPECT_EQ(Joined(Drain(*iterator)).rows(), 10);
  EXPECT_EQ(Drain(*iterator).size(), 0U);
}

TEST(EngineTest, APassMayHaveNoRows) {
  Engine engine({.threads = 2});
  EXPECT_EQ(Drain(*MustOpen(engine, "%0 = range(stop=0)")).size(), 0U);
  EXPECT_EQ(
      Drain(*MustOpen(engine, "%0 = range(stop=0)\n%1 = batch(%0, size=3)")).size(),
      0U);
}

TEST(EngineTest, RunsSeveralPassesAtOnce) {
  Engine engine({.threads = 2});
  const auto first = MustOpen(engine, kPlain);
  const auto second = MustOpen(engine, "%0 = range(stop=5000)\n%1 = batch(%0, size=7)");
  ASSERT_TRUE(first->Next()->has_value());
  EXPECT_EQ(Joined(Drain(*second), 1).rows(), 5000);
  EXPECT_EQ(Drain(*first).size(), 333U);
}

TEST(EngineTest, AnErrorComesAfterWhatCameBeforeIt) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, R"(
%0 = range(stop=100000)
%1 = map(%0, function={x: 1 // (.value - 70000)})
%2 = batch(%1, size=10)
)");
  int64_t batches = 0;
  absl::StatusOr<std::optional<core::Block>> next = iterator->Next();
  for (; next.ok(); next = iterator->Next()) {
    ASSERT_TRUE(next->has_value());
    ++batches;
  }
  EXPECT_EQ(batches, 7000);
  EXPECT_THAT(next.status().message(), HasSubstr("map (%1): row 70000: "));
  EXPECT_EQ(iterator->Next().status(), next.status());
}

TEST(EngineTest, CanBeLeftAtAnyMoment) {
  Engine engine({.threads = 2});
  for (int taken = 0; taken < 20; ++taken) {
    const auto iterator = MustOpen(engine, R"(
%0 = range(stop=1000000)
%1 = shuffle(%0, window=1000)
%2 = batch(%1, size=64)
)");
    for (int i = 0; i < taken; ++i) ASSERT_THAT(iterator->Next(), base::IsOk());
  }
  EXPECT_EQ(engine.memory().used_bytes, 0);
}

TEST(EngineTest, AnInterruptEndsAWaitButNotThePass) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, R"(
%0 = range(stop=1000000000000)
%1 = filter(%0, predicate={.value == 5})
)");
  EXPECT_TRUE((*iterator->Next()).has_value());
  int asked = 0;
  iterator->SetInterrupt([&] { return ++asked % 2 == 0; });
  for (const int times : {2, 4}) {
    EXPECT_EQ(iterator->Next().status().code(), absl::StatusCode::kAborted);
    EXPECT_EQ(asked, times);
  }
}

TEST(EngineTest, CancelEndsAPassFromOutside) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, kPlain);
  iterator->Cancel();
  EXPECT_EQ(iterator->Next().status().code(), absl::StatusCode::kCancelled);
}

TEST(EngineTest, GoesOnFromAState) {
  Engine engine({.threads = 2});
  const core::Block all = Joined(MustRun(kPlain), 1);
  for (const int taken : {0, 1, 5, 200, 333, 334}) {
    const auto iterator = MustOpen(engine, kPlain);
    for (int i = 0; i < taken; ++i) ASSERT_THAT(iterator->Next(), base::IsOk());
    const auto resumed = MustOpen(engine, kPlain, iterator->state());
    const core::Block rest = Joined(Drain(*resumed), 1);
    const int64_t begin = std::min<int64_t>(taken * 100, all.rows());
    ASSERT_EQ(rest.rows(), all.rows() - begin) << taken;
    if (rest.rows() == 0) continue;
    EXPECT_TRUE(core::SameRows(rest, all.Slice(begin, all.rows() - begin))) << taken;
  }
}

// A lane of 20,000 rows comes in blocks of about a thousand: what is left out when it
// is redone ends in one of them, and the others stay whole.
// Rows in no order, for passes that give them so.
std::vector<int64_t> Sorted(const std::vector<core::Block>& blocks) {
  std::vector<int64_t> values;
  for (const core::Block& block : blocks) {
    const absl::Span<const int64_t> own = block.columns()[0].values().As<int64_t>();
    values.insert(values.end(), own.begin(), own.end());
  }
  std::ranges::sort(values);
  return values;
}

TEST(EngineTest, LanesMayComeInAnyOrderAndGoOnInAny) {
  Engine engine({.threads = 4});
  for (const char* text : {kPlain, "%0 = range(stop=100000)"}) {
    const std::vector<int64_t> expected = Sorted(MustRun(text));
    for (const int taken : {0, 1, 5, 60, 1000}) {
      for (const Delivery then : {Delivery::kAny, Delivery::kLogical}) {
        std::vector<core::Block> blocks;
        const auto first = *engine.Open(AsWritten(text), ops::DefaultLibrary(),
                                        {.order = Delivery::kAny});
        for (int i = 0; i < taken; ++i) {
          std::optional<core::Block> block = *first->Next();
          if (block) blocks.push_back(*std::move(block));
        }
        const auto rest = *engine.Open(AsWritten(text), ops::DefaultLibrary(),
                                       {.order = then}, first->state());
        for (core::Block& block : Drain(*rest)) blocks.push_back(std::move(block));
        EXPECT_EQ(Sorted(blocks), expected) << taken;
      }
    }
  }
}

TEST(EngineTest, AnErrorEndsAPassInAnyOrderToo) {
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(
      AsWritten("%0 = range(stop=100000)\n%1 = map(%0, function={x: 1 // (.value - "
                "70000)})\n%2 = batch(%1, size=10)"),
      ops::DefaultLibrary(), {.order = Delivery::kAny});
  absl::StatusOr<std::optional<core::Block>> next = iterator->Next();
  while (next.ok() && next->has_value()) next = iterator->Next();
  EXPECT_THAT(next.status().message(), HasSubstr("division by zero"));
  EXPECT_EQ(iterator->Next().status(), next.status());
}

TEST(EngineTest, LeavesOutJustWhatWasTakenOfALongLane) {
  const std::string text =
      "%0 = range(stop=60000)\n%1 = shuffle(%0, window=20000)\n%2 = batch(%1, "
      "size=100)";
  const core::Block rows = Joined(MustRun(text), 1);
  Engine engine({.threads = 2});
  for (const int taken : {5, 25, 215}) {
    const auto iterator = MustOpen(engine, text);
    for (int i = 0; i < taken; ++i) ASSERT_THAT(iterator->Next(), base::IsOk());
    const auto resumed = MustOpen(engine, text, iterator->state());
    const core::Block rest = Joined(Drain(*resumed), 1);
    const int64_t begin = 100 * taken;
    EXPECT_TRUE(core::SameRows(rest, rows.Slice(begin, rows.rows() - begin))) << taken;
  }
}

TEST(EngineTest, GoesOnWithAnotherBatchSize) {
  const auto text = [](const std::string& before, int64_t size) {
    return base::StrCat("%0 = range(stop=5000)\n", before, "%2 = batch(%1, size=", size,
                        ")");
  };
  const std::vector<std::string> all = {
      "%1 = map(%0, function={value: .value + integers(0, 9)})\n",
      "%1 = filter(%0, predicate={.value % 7 > 1})\n",
      "%1 = shuffle(%0, window=300)\n",
      "%1 = skip(%0, count=123)\n",
  };
  for (const std::string& before : all) {
    const core::Block rows = Joined(MustRun(text(before, 10)), 1);
    Engine engine({.threads = 2});
    for (const int taken : {1, 17, 250}) {
      const auto iterator = MustOpen(engine, text(before, 10));
      for (int i = 0; i < taken; ++i) ASSERT_THAT(iterator->Next(), base::IsOk());
      const auto resumed = MustOpen(engine, text(before, 7), iterator->state());
      const core::Block rest = Joined(Drain(*resumed), 1);
      const int64_t begin = 10 * taken;
      EXPECT_TRUE(core::SameRows(rest, rows.Slice(begin, rows.rows() - begin)))
          << taken << "\n"
          << before;
    }
  }
}

TEST(EngineTest, RefusesAStateOfAnotherPipeline) {
  Engine engine({.threads = 1});
  const lanes::State state = MustOpen(engine, kPlain)->state();
  const auto other =
      engine.Open(AsWritten("%0 = range(stop=9)"), ops::DefaultLibrary(), {}, state);
  EXPECT_FALSE(other.ok());
}

TEST(EngineTest, MetersWhatOperatorsDo) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, kPlain);
  Drain(*iterator);
  const profile::PassFacts facts = iterator->Facts();
  ASSERT_EQ(facts.operators.size(), 4U);
  EXPECT_EQ(facts.operators[0].name, "range");
  EXPECT_EQ(facts.operators[0].rows_out, 100'000);
  EXPECT_EQ(facts.operators[1].rows_in, 100'000);
  EXPECT_EQ(facts.operators[1].rows_out, 100'000);
  EXPECT_EQ(facts.operators[2].rows_out, 33'333);
  EXPECT_EQ(facts.operators[3].rows_in, 33'333);
  EXPECT_EQ(facts.operators[3].rows_out, 334);
  EXPECT_GT(facts.operators[1].busy, absl::ZeroDuration());
  EXPECT_EQ(facts.blocks, 334);
  EXPECT_EQ(facts.rows, 33'333);
  EXPECT_EQ(facts.bytes, 33'333 * 8);
  EXPECT_GE(facts.wall, facts.first_block);
}

// Fetching and parsing go from thread to thread: a wake-up that gets lost would be a
// pass that never ends.
TEST(EngineTest, ReadsFilesWithAnyNumberOfThreads) {
  const storage::TemporaryFolder folder;
  for (int file = 0; file < 5; ++file) {
    std::string lines;
    for (int line = 0; line < 3000; ++line) {
      lines += base::StrCat("file ", file, " line ", line, "\n");
    }
    folder.Write(base::StrCat(file, ".txt"), lines);
  }
  const std::string text =
      base::StrCat("%0 = read_text(paths=[\"", folder.path(), "/*.txt\"])\n",
                   "%1 = shuffle(%0, window=100)\n",
                   "%2 = map(%1, function={text: .text, n: byte_length(.text)})\n",
                   "%3 = batch(%2, size=64)");
  const core::Block plain = Joined(MustRun(text), 1);
  ASSERT_EQ(plain.rows(), 15'000);
  for (const int threads : {1, 2, 3, 8}) {
    for (int again = 0; again < 5; ++again) {
      Engine engine({.threads = threads, .io_threads = 1 + again % 3});
      const auto iterator = MustOpen(engine, text);
      EXPECT_TRUE(core::SameRows(plain, Joined(Drain(*iterator), 1))) << threads;
    }
  }
}

TEST(EngineTest, APassMayIndexTheFilesItReads) {
  const storage::TemporaryFolder folder;
  for (int file = 0; file < 3; ++file) {
    folder.Write(base::StrCat(file, ".tfrecord"),
                 storage::TfrecordOf(std::vector<std::string>(500, "a row")));
  }
  const rewrite::Rewritten pipeline = AsWritten(
      base::StrCat("%0 = read_tfrecord(paths=[\"", folder.path(), "/*.tfrecord\"])"));
  Engine engine({.threads = 2});
  for (const bool indexed : {false, true}) {
    const auto iterator =
        *engine.Open(pipeline, ops::DefaultLibrary(), {.build_indexes = true});
    EXPECT_EQ(iterator->plan().manifest.counted(), indexed);
    EXPECT_EQ(Joined(Drain(*iterator)).rows(), 1500);
  }
}

constexpr char kForgiving[] = R"(
%0 = range(stop=10000)
%1 = map(%0, function={x: 1 // (.value % 1000)})
%2 = ignore_errors(%1, report=2)
%3 = batch(%2, size=100)
)";

TEST(EngineTest, TellsWhatWasLeftOut) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, kForgiving);
  EXPECT_EQ(Joined(Drain(*iterator), 1).rows(), 9990);
  const profile::PassFacts facts = iterator->Facts();
  EXPECT_EQ(facts.operators[0].rows_left_out, 0);
  EXPECT_EQ(facts.operators[1].rows_left_out, 10);
  EXPECT_EQ(facts.operators[1].rows_out, 9990);
  EXPECT_THAT(
      facts.first_left_out,
      testing::ElementsAre("map (%1): row 0: floor_divide: division by zero",
                           "map (%1): row 1000: floor_divide: division by zero"));
}

// However far it has read ahead.
TEST(EngineTest, CountsWhatWasLeftOutBeforeWhatWasGiven) {
  Engine engine({.threads = 8});
  const auto iterator = MustOpen(engine, kForgiving);
  EXPECT_EQ(iterator->Facts().operators[1].rows_left_out, 0);
  for (int64_t batches = 1; batches <= 30; ++batches) {
    ASSERT_THAT(iterator->Next(), base::IsOk());
    const int64_t left_out = iterator->Facts().operators[1].rows_left_out;
    EXPECT_EQ(left_out, 1 + (batches * 100 + left_out - 1) / 1000) << batches;
  }
}

TEST(EngineTest, AResumedPassCountsOnlyWhatComesThen) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, kForgiving);
  for (int i = 0; i < 15; ++i) ASSERT_THAT(iterator->Next(), base::IsOk());
  EXPECT_EQ(iterator->Facts().operators[1].rows_left_out, 2);
  const auto resumed = MustOpen(engine, kForgiving, iterator->state());
  Drain(*resumed);
  EXPECT_EQ(resumed->Facts().operators[1].rows_left_out, 8);
}

TEST(EngineTest, ABudgetEndsThePassForGood) {
  Engine engine({.threads = 2});
  const auto iterator = MustOpen(engine, R"(
%0 = range(stop=10000)
%1 = map(%0, function={x: 1 // (.value % 1000)})
%2 = ignore_errors(%1, budget=4)
)");
  absl::StatusOr<std::optional<core::Block>> next = iterator->Next();
  int64_t rows = 0;
  for (; next.ok(); next = iterator->Next()) {
    ASSERT_TRUE(next->has_value());
    rows += (*next)->rows();
  }
  EXPECT_EQ(rows, 3996);  // All before row 4000, but for four.
  EXPECT_THAT(next.status().message(),
              HasSubstr("ignore_errors (%2): left out 5 rows, more than its budget of "
                        "4; "));
  EXPECT_EQ(iterator->Next().status(), next.status());
}

}  // namespace
}  // namespace millrace::exec
