// Operators that make one stream of several, run the way a user would: what comes out
// is compared with their inputs run by themselves.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/rewrite/rewrite.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kUnimplemented;
using base::StatusIs;
using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using Numbers = std::vector<int64_t>;

// The values of a field, run by the engine; batches taken apart.
Numbers ValuesOf(std::string_view text, int unstack = 0,
                 std::string_view field = "value", const PassOptions& options = {}) {
  Engine engine({.threads = 3});
  const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), options);
  std::vector<core::Block> blocks;
  while (true) {
    const absl::StatusOr<std::optional<core::Block>> block = iterator->Next();
    CHECK(block.ok()) << block.status();
    if (!block->has_value()) break;
    blocks.push_back(**block);
  }
  return Values<int64_t>(Joined(blocks, unstack), field);
}

Numbers Plus(Numbers first, const Numbers& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

Numbers Sorted(Numbers numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

absl::Status ParseStatus(std::string_view text) {
  return ir::Parse(text, {}, ops::DefaultLibrary().catalog()).status();
}

TEST(BranchesTest, RepeatGivesTheRowsAgain) {
  EXPECT_THAT(ValuesOf("%0 = range(stop=3) %1 = repeat(%0, count=3)"),
              ElementsAre(0, 1, 2, 0, 1, 2, 0, 1, 2));
  EXPECT_THAT(ValuesOf("%0 = range(stop=3) %1 = repeat(%0, count=0)"), ElementsAre());
  EXPECT_THAT(ValuesOf("%0 = range(stop=0) %1 = repeat(%0, count=9)"), ElementsAre());
  EXPECT_THAT(
      ValuesOf("%0 = range(stop=2) %1 = repeat(%0, count=2) %2 = repeat(%1, count=2)"),
      ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
}

TEST(BranchesTest, EachTurnIsShuffledAnew) {
  const std::string shuffled = "%0 = range(stop=5000) %1 = shuffle(%0, window=100)";
  const Numbers twice = ValuesOf(shuffled + " %2 = repeat(%1, count=2)");
  ASSERT_EQ(std::ssize(twice), 10'000);
  const Numbers first(twice.begin(), twice.begin() + 5000);
  const Numbers second(twice.begin() + 5000, twice.end());
  EXPECT_EQ(first, ValuesOf(shuffled));  // The first turn is the pass itself.
  EXPECT_NE(first, second);
  EXPECT_EQ(Sorted(first), Sorted(second));
}

TEST(BranchesTest, DrawsDifferFromTurnToTurn) {
  const std::string repeated = "%0 = range(stop=100) %1 = repeat(%0, count=2) ";
  const std::string drawn = "function={value: integers(0, 1000000)})";
  for (const std::string& text :
       {repeated + "%2 = map(%1, " + drawn,
        "%0 = range(stop=100) %1 = map(%0, " + drawn + " %2 = repeat(%1, count=2)"}) {
    const Numbers both = ValuesOf(text);
    ASSERT_EQ(std::ssize(both), 200);
    EXPECT_NE(Numbers(both.begin(), both.begin() + 100),
              Numbers(both.begin() + 100, both.end()));
  }
}

// Each of the four turns: its own order, its own draws behind, its own identities.
TEST(BranchesTest, TurnsOfTurnsDifferToo) {
  const std::string twice =
      "%0 = range(stop=50) %1 = shuffle(%0, window=50) %2 = repeat(%1, count=2) "
      "%3 = repeat(%2, count=2) ";
  const Numbers rows = ValuesOf(twice);
  const Numbers draws = ValuesOf(twice +
                                 "%4 = map(%3, function={value: .value * "
                                 "1000000 + integers(0, 1000000)})");
  ASSERT_EQ(std::ssize(rows), 200);
  std::set<Numbers> orders;
  for (int64_t turn = 0; turn < 4; ++turn) {
    orders.insert(Numbers(rows.begin() + 50 * turn, rows.begin() + 50 * (turn + 1)));
  }
  EXPECT_EQ(orders.size(), 4U);
  EXPECT_GT(std::set<int64_t>(draws.begin(), draws.end()).size(), 195U);
  std::set<std::pair<uint64_t, uint64_t>> ids;
  const core::Block all = Joined(MustRun(twice, {.with_ids = true}));
  for (int64_t row = 0; row < all.rows(); ++row) {
    ids.insert({all.IdAt(row).hi, all.IdAt(row).lo});
  }
  EXPECT_EQ(ids.size(), 200U);
}

TEST(BranchesTest, AShuffleOfBatchesKeepsTheShortOneInEachTurn) {
  const std::string batches =
      "%0 = range(stop=10) %1 = batch(%0, size=4) %2 = shuffle(%1, window=3) ";
  EXPECT_EQ(std::ssize(ValuesOf(batches + "%3 = repeat(%2, count=3)", 1)), 30);
  EXPECT_EQ(std::ssize(ValuesOf(batches + "%3 = mix(%2, %2)", 1)), 20);
}

TEST(BranchesTest, WhatIsTakenOfAnEndlessRepeatIsRepeated) {
  const std::string taken =
      "%0 = range(stop=3) %1 = repeat(%0) %2 = take(%1, count=5) ";
  EXPECT_THAT(ValuesOf(taken + "%3 = repeat(%2, count=2)"),
              ElementsAre(0, 1, 2, 0, 1, 0, 1, 2, 0, 1));
  EXPECT_THAT(ValuesOf(taken + "%3 = concat(%2, %0)"),
              ElementsAre(0, 1, 2, 0, 1, 0, 1, 2));
}

// Places count rows of the pass, also where rows of an input may be left out.
TEST(BranchesTest, PlacesAreKnownWhereErrorsAreIgnoredBehind) {
  const std::string mapped =
      "%0 = range(stop=10) %1 = map(%0, function={value: .value + 0 // (.value - 2)}) ";
  EXPECT_THAT(ValuesOf(mapped + "%2 = take(%1, count=5) %3 = repeat(%2, count=2) "
                                "%4 = ignore_errors(%3)"),
              ElementsAre(0, 1, 3, 4, 5, 0, 1, 3, 4, 5));
  EXPECT_THAT(ValuesOf("%0 = range(stop=10) %1 = take(%0, count=2) "
                       "%2 = concat(%1, %1) %3 = ignore_errors(%2)"),
              ElementsAre(0, 1, 0, 1));
}

// The same without any branches: files may leave out rows themselves.
TEST(BranchesTest, PlacesAreKnownWhereFilesMayLeaveOutRows) {
  const storage::TemporaryFolder folder;
  std::vector<std::string> rows;
  rows.reserve(40);
  for (int row = 0; row < 40; ++row) rows.push_back(base::StrCat(row));
  folder.Write("a.tfrecord", storage::TfrecordOf(rows));
  ops::AddIndex(folder / "a.tfrecord", storage::RowFormat::kTfrecord);
  const std::string text =
      base::StrCat("%0 = ", ops::Call("read_tfrecord", folder / "a.tfrecord"),
                   " %1 = take(%0, count=5)", " %2 = ignore_errors(%1)");
  EXPECT_EQ(Joined(MustRun(text)).rows(), 5);
  EXPECT_THAT(PlanPass(AsWritten(text), ops::DefaultLibrary(), {})->one_lane_reason,
              HasSubstr("read_tfrecord (%0) may leave out rows"));
}

TEST(BranchesTest, AnEndlessRepeatOfNoBatchesEnds) {
  EXPECT_THAT(ValuesOf("%0 = range(stop=0) %1 = batch(%0, size=4) %2 = repeat(%1)", 1),
              ElementsAre());
}

TEST(BranchesTest, BatchesCrossTurnsOnlyWhereTheRepeatComesFirst) {
  const auto sizes = [](std::string_view text) {
    Numbers sizes;
    for (const core::Block& block : MustRun(text)) {
      for (int64_t row = 0; row < block.rows(); ++row) {
        sizes.push_back(block.columns()[0].LeadingSize(row));
      }
    }
    return sizes;
  };
  EXPECT_THAT(
      sizes("%0 = range(stop=5) %1 = repeat(%0, count=2) %2 = batch(%1, size=4)"),
      ElementsAre(4, 4, 2));
  EXPECT_THAT(
      sizes("%0 = range(stop=5) %1 = batch(%0, size=4) %2 = repeat(%1, count=2)"),
      ElementsAre(4, 1, 4, 1));
}

TEST(BranchesTest, AnEndlessRepeatGoesOnForAsLongAsItIsRead) {
  Engine engine({.threads = 2});
  const auto iterator =
      *engine.Open(AsWritten("%0 = range(stop=100) %1 = shuffle(%0, window=10) "
                             "%2 = repeat(%1) %3 = batch(%2, size=30)"),
                   ops::DefaultLibrary(), {});
  Numbers values;
  while (std::ssize(values) < 60'000) {
    const absl::StatusOr<std::optional<core::Block>> block = iterator->Next();
    ASSERT_THAT(block, base::IsOk());
    ASSERT_TRUE(block->has_value());
    values = Plus(values, Values<int64_t>(*(*block)->Unstack(), "value"));
  }
  for (int64_t turn = 0; turn < 600; ++turn) {
    const Numbers one =
        Sorted({values.begin() + 100 * turn, values.begin() + 100 * (turn + 1)});
    ASSERT_EQ(one.front(), 0) << turn;
    ASSERT_EQ(one.back(), 99) << turn;
    ASSERT_EQ(std::ranges::adjacent_find(one), one.end()) << turn;
  }
}

TEST(BranchesTest, AnEndlessRepeatGoesOnFromAnyState) {
  const rewrite::Rewritten pipeline = AsWritten(
      "%0 = range(stop=70) %1 = shuffle(%0, window=10) %2 = repeat(%1) "
      "%3 = map(%2, function={value: .value * 1000 + integers(0, 1000)}) "
      "%4 = batch(%3, size=32)");
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(pipeline, ops::DefaultLibrary(), {});
  std::vector<lanes::State> states;
  std::vector<Numbers> batches;
  for (int i = 0; i < 700; ++i) {
    states.push_back(iterator->state());
    batches.push_back(Values<int64_t>(*(**iterator->Next()).Unstack(), "value"));
  }
  for (const int64_t from : {0, 1, 99, 350, 680}) {
    const auto resumed =
        *engine.Open(pipeline, ops::DefaultLibrary(), {}, states[from]);
    for (int64_t i = from; i < from + 20; ++i) {
      const absl::StatusOr<std::optional<core::Block>> block = resumed->Next();
      ASSERT_THAT(block, base::IsOk());
      ASSERT_EQ(Values<int64_t>(*(*block)->Unstack(), "value"), batches[i])
          << i << " from " << from;
    }
  }
}

TEST(BranchesTest, PlacesAreCountedThroughAllTurns) {
  const Numbers places = ValuesOf(
      "%0 = range(stop=70) %1 = repeat(%0) %2 = take(%1, count=20000) "
      "%3 = enumerate(%2) %4 = batch(%3, size=64)",
      1, "index");
  ASSERT_EQ(std::ssize(places), 20'000);
  for (int64_t i = 0; i < 20'000; ++i) ASSERT_EQ(places[i], i);
}

// One lane of many parts: those behind are opened while the first is given.
TEST(BranchesTest, PlacesAreCountedWhereRowsAreNot) {
  const Numbers places = ValuesOf(
      "%0 = range(stop=4000) %1 = filter(%0, predicate={.value % 2 == 0}) "
      "%2 = repeat(%1, count=40) %3 = enumerate(%2)",
      0, "index");
  ASSERT_EQ(std::ssize(places), 80'000);
  for (int64_t i = 0; i < 80'000; ++i) ASSERT_EQ(places[i], i);
}

TEST(BranchesTest, ErrorsInInputsAreIgnoredBehindThem) {
  const std::string failing =
      "%0 = range(start=-2, stop=3) %1 = map(%0, function={value: 6 // .value}) ";
  EXPECT_THAT(ValuesOf(failing + "%2 = repeat(%1, count=2) %3 = ignore_errors(%2)"),
              ElementsAre(-3, -6, 6, 3, -3, -6, 6, 3));
  EXPECT_THAT(ValuesOf(failing + "%2 = shuffle(%1, window=1) %3 = concat(%2, %1) "
                                 "%4 = ignore_errors(%3)"),
              ElementsAre(-3, -6, 6, 3, -3, -6, 6, 3));
  EXPECT_EQ(std::ssize(ValuesOf(failing + "%2 = mix(%1, %0) %3 = ignore_errors(%2)")),
            9);
  EXPECT_THAT(RunAll(MustParse(failing + "%2 = repeat(%1, count=2) "
                                         "%3 = ignore_errors(%2, budget=1)"))
                  .status()
                  .message(),
              AllOf(HasSubstr("budget of 1"), HasSubstr("map (%1)")));
}

// A budget is for the pass, however often its rows are repeated.
TEST(BranchesTest, ErrorsMayBeIgnoredBeforeARepeatToo) {
  const std::string failing =
      "%0 = range(start=-2, stop=3) %1 = map(%0, function={value: 6 // .value}) ";
  EXPECT_THAT(ValuesOf(failing + "%2 = ignore_errors(%1) %3 = batch(%2, size=3) "
                                 "%4 = repeat(%3, count=2)",
                       1),
              ElementsAre(-3, -6, 6, 3, -3, -6, 6, 3));
  EXPECT_THAT(ValuesOf(failing + "%2 = ignore_errors(%1) %3 = concat(%2, %1) "
                                 "%4 = ignore_errors(%3)"),
              ElementsAre(-3, -6, 6, 3, -3, -6, 6, 3));
  EXPECT_THAT(RunAll(MustParse(failing + "%2 = ignore_errors(%1) %3 = concat(%2, %1)"))
                  .status()
                  .message(),
              HasSubstr("division by zero"));  // Of the second input.
  EXPECT_THAT(RunAll(MustParse(failing + "%2 = ignore_errors(%1, budget=1) "
                                         "%3 = repeat(%2, count=2)"))
                  .status()
                  .message(),
              AllOf(HasSubstr("ignore_errors (%2)"), HasSubstr("budget of 1"),
                    HasSubstr("map (%1)")));
}

TEST(BranchesTest, RowsLeftOutBeforeARepeatCountForTheirOperator) {
  Engine engine({.threads = 2});
  const auto iterator = *engine.Open(
      AsWritten("%0 = range(start=-2, stop=3) %1 = map(%0, function={value: 6 // "
                ".value}) %2 = ignore_errors(%1) %3 = repeat(%2, count=2)"),
      ops::DefaultLibrary(), {});
  while (iterator->Next()->has_value()) {
  }
  const profile::PassFacts facts = iterator->Facts();
  ASSERT_EQ(facts.operators.size(), 4U);
  EXPECT_EQ(facts.operators[1].rows_left_out, 2);
  EXPECT_THAT(facts.first_left_out, testing::SizeIs(2));
}

TEST(BranchesTest, TakeEndsAnEndlessRepeat) {
  EXPECT_THAT(ValuesOf("%0 = range(stop=2) %1 = repeat(%0) %2 = take(%1, count=5)"),
              ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(ValuesOf("%0 = range(stop=0) %1 = repeat(%0) %2 = take(%1, count=5)"),
              ElementsAre());
}

TEST(BranchesTest, WhatCannotEndSaysSo) {
  const absl::StatusOr<PassPlan> plan = PlanPass(
      AsWritten("%0 = range(stop=9) %1 = repeat(%0) "
                "%2 = filter(%1, predicate={.value > 2}) %3 = take(%2, count=5)"),
      ops::DefaultLibrary(), {});
  EXPECT_THAT(plan, StatusIs(kUnimplemented,
                             AllOf(HasSubstr("repeat"), HasSubstr("give it a count"))));
}

TEST(BranchesTest, ConcatGivesOneInputAfterTheOther) {
  EXPECT_THAT(
      ValuesOf("%0 = range(stop=3) %1 = range(start=10, stop=12) %2 = range(stop=0) "
               "%3 = concat(%0, %1, %2, %0)"),
      ElementsAre(0, 1, 2, 10, 11, 0, 1, 2));
  const std::string a = "%0 = range(stop=4000) %1 = shuffle(%0, window=50)";
  const std::string b =
      "%2 = range(start=9000, stop=9999) "
      "%3 = filter(%2, predicate={.value % 3 == 0})";
  const Numbers second = ValuesOf(
      "%0 = range(start=9000, stop=9999) "
      "%1 = filter(%0, predicate={.value % 3 == 0})");
  EXPECT_EQ(ValuesOf(base::StrCat(a, b, " %4 = concat(%1, %3)")),
            Plus(ValuesOf(a), second));
}

TEST(BranchesTest, PlacesAreCountedThroughAllInputs) {
  EXPECT_THAT(ValuesOf("%0 = range(stop=3) %1 = concat(%0, %0) %2 = enumerate(%1) "
                       "%3 = skip(%2, count=2)",
                       0, "index"),
              ElementsAre(2, 3, 4, 5));
}

TEST(BranchesTest, ZipPutsRowsSideBySide) {
  const std::string zipped =
      "%0 = range(stop=2000) %1 = shuffle(%0, window=64) "
      "%2 = range(stop=1500) %3 = map(%2, function={x: .value * 2}) "
      "%4 = zip(%1, %3) %5 = batch(%4, size=7)";
  Numbers first = ValuesOf("%0 = range(stop=2000) %1 = shuffle(%0, window=64)");
  first.resize(1500);
  EXPECT_EQ(ValuesOf(zipped, 1), first);
  const Numbers second = ValuesOf(zipped, 1, "x");
  ASSERT_EQ(std::ssize(second), 1500);
  for (int64_t i = 0; i < 1500; ++i) ASSERT_EQ(second[i], 2 * i);
}

TEST(BranchesTest, ZipWithAnEndlessInputEndsWithTheOther) {
  EXPECT_THAT(ValuesOf("%0 = range(stop=7) %1 = range(stop=3) %2 = repeat(%1) "
                       "%3 = rename(%2, from=[\"value\"], to=[\"x\"]) %4 = zip(%0, %3)",
                       0, "x"),
              ElementsAre(0, 1, 2, 0, 1, 2, 0));
}

TEST(BranchesTest, MixKeepsTheOrderOfEachInputAndTheWeightsEverywhere) {
  const Numbers mixed = ValuesOf(
      "%0 = range(stop=30000) %1 = range(start=100000, stop=110000) "
      "%2 = mix(%0, %1, weights=[3.0, 1.0])");
  ASSERT_EQ(std::ssize(mixed), 40'000);
  Numbers small;
  Numbers large;
  for (const int64_t value : mixed) (value < 100'000 ? small : large).push_back(value);
  EXPECT_TRUE(std::ranges::is_sorted(small));
  EXPECT_TRUE(std::ranges::is_sorted(large));
  for (int64_t at = 0; at + 1000 <= 36'000; at += 1000) {
    const int64_t larges = std::count_if(mixed.begin() + at, mixed.begin() + at + 1000,
                                         [](int64_t v) { return v >= 100'000; });
    EXPECT_GT(larges, 180) << at;  // 250 are expected, 14 is one deviation.
    EXPECT_LT(larges, 320) << at;
  }
}

TEST(BranchesTest, MixEndsWithAllInputsOrTheFirst) {
  const std::string inputs = "%0 = range(stop=1000) %1 = range(stop=10) ";
  EXPECT_EQ(std::ssize(ValuesOf(inputs + "%2 = mix(%0, %1)")), 1010);
  const auto rows = std::ssize(ValuesOf(inputs + "%2 = mix(%0, %1, stop=\"first\")"));
  EXPECT_GE(rows, 10);
  EXPECT_LT(rows, 100);
}

TEST(BranchesTest, MixIsDrawnFromItsSeed) {
  const auto mixed = [](const std::string& seed, uint64_t epoch) {
    return ValuesOf(
        base::StrCat("%0 = range(stop=100) %1 = range(start=1000, stop=1100) ",
                     "%2 = mix(%0, %1", seed, ")"),
        0, "value", {.seed = 1, .epoch = epoch});
  };
  EXPECT_EQ(mixed("", 0), mixed(", seed=1", 0));
  EXPECT_NE(mixed("", 0), mixed(", seed=2", 0));
  EXPECT_NE(mixed("", 0), mixed("", 1));
}

TEST(BranchesTest, MistakesAreNamed) {
  const std::string two = "%0 = range(stop=3) %1 = enumerate(%0) ";
  EXPECT_THAT(
      ParseStatus(two + "%2 = concat(%0, %1)"),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("input 0 has value, input 1 has"),
                                       HasSubstr("use map, select or rename"))));
  EXPECT_THAT(ParseStatus(two + "%2 = concat(%0)"),
              StatusIs(kInvalidArgument, HasSubstr("takes at least 2 inputs, not 1")));
  EXPECT_THAT(ParseStatus(two + "%2 = zip(%0, %1)"),
              StatusIs(kInvalidArgument,
                       HasSubstr("two inputs have a field named value; use rename")));
  EXPECT_THAT(ParseStatus(two + "%2 = mix(%0, %0, weights=[1.0])"),
              StatusIs(kInvalidArgument, HasSubstr("1 weights for 2 inputs")));
  EXPECT_THAT(ParseStatus(two + "%2 = mix(%0, %0, weights=[1.0, 0.0])"),
              StatusIs(kInvalidArgument, HasSubstr("weights must be above 0")));
  EXPECT_THAT(
      ParseStatus("%0 = range(stop=3) %1 = map(%0, function={value: .value * 0.5}) "
                  "%2 = concat(%0, %1)"),
      StatusIs(kInvalidArgument, HasSubstr("field value is")));
}

TEST(BranchesTest, AnErrorNamesTheOperatorInTheWholePipeline) {
  const absl::StatusOr<std::vector<core::Block>> run = RunAll(
      MustParse("%0 = range(stop=3) %1 = range(start=-1, stop=3) "
                "%2 = map(%1, function={value: 6 // .value}) %3 = concat(%0, %2)"));
  EXPECT_THAT(run.status().message(),
              AllOf(HasSubstr("concat (%3)"), HasSubstr("map (%2)")));
}

// Files, with an index and without: their turns, order and states.
TEST(BranchesTest, FilesRepeatTheirRowsWithAnyNumberOfThreads) {
  const storage::TemporaryFolder folder;
  for (int file = 0; file < 3; ++file) {
    std::vector<std::string> rows;
    rows.reserve(40);
    for (int row = 0; row < 40; ++row) rows.push_back(base::StrCat(file, "-", row));
    folder.Write(base::StrCat(file, ".tfrecord"), storage::TfrecordOf(rows));
  }
  const std::string text =
      base::StrCat("%0 = read_tfrecord(paths=[\"", folder.path(),
                   "/*.tfrecord\"]) %1 = shuffle(%0, window=16) "
                   "%2 = repeat(%1, count=3) %3 = batch(%2, size=25)");
  for (const bool indexed : {false, true}) {
    if (indexed) {
      for (int file = 0; file < 3; ++file) {
        ops::AddIndex(folder / base::StrCat(file, ".tfrecord"),
                      storage::RowFormat::kTfrecord);
      }
    }
    const core::Block plain = Joined(MustRun(text), 1);
    ASSERT_EQ(plain.rows(), 360);
    for (const int threads : {1, 4}) {
      Engine engine({.threads = threads});
      const auto iterator = *engine.Open(AsWritten(text), ops::DefaultLibrary(), {});
      std::vector<core::Block> blocks;
      while (std::optional<core::Block> block = *iterator->Next()) {
        blocks.push_back(*std::move(block));
        const auto resumed =
            *engine.Open(AsWritten(text), ops::DefaultLibrary(), {}, iterator->state());
        const std::optional<core::Block> next = *resumed->Next();
        const auto at = 25 * std::ssize(blocks);
        ASSERT_EQ(next.has_value(), at < 360);
        if (!next) continue;
        const core::Block rows = *next->Unstack();
        EXPECT_TRUE(core::SameRows(rows, plain.Slice(at, rows.rows()))) << at;
      }
      EXPECT_TRUE(core::SameRows(Joined(blocks, 1), plain)) << threads;
    }
  }
}

}  // namespace
}  // namespace millrace::exec
