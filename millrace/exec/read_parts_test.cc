// Shuffles that are done by reading: what comes out is what a shuffle in memory gives,
// and a global shuffle gives every row once, in any order.

#include "millrace/exec/read_parts.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
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
#include "millrace/lanes/chunks.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kUnimplemented;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using Numbers = std::vector<int64_t>;

// Rows that are worth a read of their own, in three files with an index.
class ReadPartsTest : public testing::Test {
 protected:
  ReadPartsTest() {
    for (int file = 0; file < 3; ++file) {
      std::vector<std::string> rows;
      for (int row = 0; row < 50; ++row) {
        rows.push_back(base::StrCat(100 * file + row, " ") + storage::Noise(5000, row));
      }
      const std::string name = base::StrCat(file, ".tfrecord");
      ops::AddIndex(folder_.Write(name, storage::TfrecordOf(rows)),
                    storage::RowFormat::kTfrecord);
    }
    read_ = base::StrCat("%0 = read_tfrecord(paths=[\"", folder_.path(),
                         "/*.tfrecord\"]) ");
  }

  static std::vector<core::Block> Drain(Iterator& iterator) {
    std::vector<core::Block> blocks;
    while (true) {
      const absl::StatusOr<std::optional<core::Block>> block = iterator.Next();
      CHECK(block.ok()) << block.status();
      if (!block->has_value()) return blocks;
      blocks.push_back(**block);
    }
  }

  static core::Block Run(const std::string& text, const PassOptions& options,
                         int threads = 3) {
    Engine engine({.threads = threads});
    return Joined(
        Drain(**engine.Open(AsWritten(text), ops::DefaultLibrary(), options)));
  }

  // The numbers that rows of the files begin with.
  static Numbers NumbersOf(const core::Block& rows) {
    Numbers numbers;
    for (int64_t row = 0; row < rows.rows(); ++row) {
      numbers.push_back(
          std::stoll(std::string(rows.Find("record")->Row(row)->TextAt(0))));
    }
    return numbers;
  }

  static PassPlan Planned(const std::string& text, const PassOptions& options = {}) {
    absl::StatusOr<PassPlan> plan =
        PlanPass(AsWritten(text), ops::DefaultLibrary(), options);
    CHECK(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  storage::TemporaryFolder folder_;
  std::string read_;
};

TEST_F(ReadPartsTest, AShuffleByReadingGivesWhatOneInMemoryGives) {
  const std::string tail =
      " %3 = map(%2, function={record: .record, x: integers(0, 1000)})";
  for (const std::string& text :
       {read_ + "%1 = shuffle(%0, window=16) %2 = rename(%1, from=[], to=[])" + tail,
        read_ +
            "%1 = map(%0, function={record: .record}) "
            "%2 = shuffle(%1, window=40, seed=5)" +
            tail}) {
    const PassOptions in_memory = {
        .seed = 3, .epoch = 1, .shuffle_reading = false, .with_ids = true};
    PassOptions by_reading = in_memory;
    by_reading.shuffle_reading = true;
    ASSERT_FALSE(Planned(text, in_memory).shuffled_reading.has_value());
    ASSERT_TRUE(Planned(text, by_reading).shuffled_reading.has_value());
    const core::Block wanted = Joined(*RunAll(AsWritten(text), in_memory));
    ASSERT_EQ(wanted.rows(), 150);
    EXPECT_TRUE(core::SameRows(wanted, Joined(*RunAll(AsWritten(text), by_reading))));
    for (const int threads : {1, 4}) {
      EXPECT_TRUE(core::SameRows(wanted, Run(text, by_reading, threads))) << threads;
      EXPECT_TRUE(core::SameRows(wanted, Run(text, in_memory, threads))) << threads;
    }
  }
}

TEST_F(ReadPartsTest, ShufflesInMemoryWhereReadingWouldNotServe) {
  const auto by_reading = [](const std::string& text) {
    return Planned(text).shuffled_reading.has_value();
  };
  const std::string shuffle = "%1 = shuffle(%0, window=16)";
  EXPECT_TRUE(by_reading(read_ + shuffle));
  EXPECT_FALSE(by_reading("%0 = range(stop=100) " + shuffle));  // Rows are small.
  EXPECT_FALSE(by_reading(read_ + "%1 = filter(%0, predicate={uniform(0.0, 1.0) < 0.5})"
                                  " %2 = shuffle(%1, window=9)"));
  EXPECT_FALSE(by_reading(read_ + shuffle + " %2 = ignore_errors(%1)"));
  std::vector<std::string> rows(3, storage::Noise(9000));
  folder_.Write("3.tfrecord", storage::TfrecordOf(rows));  // Without an index.
  EXPECT_FALSE(by_reading(read_ + shuffle));
}

TEST_F(ReadPartsTest, AGlobalShuffleGivesEveryRowOnce) {
  const std::string text = read_ + "%1 = global_shuffle(%0)";
  const Numbers first = NumbersOf(Run(text, {.seed = 1}));
  Numbers sorted = first;
  std::ranges::sort(sorted);
  EXPECT_THAT(sorted, SizeIs(150));
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 150U);
  EXPECT_NE(first, sorted);
  EXPECT_EQ(first, NumbersOf(Run(text, {.seed = 1}, 1)));
  EXPECT_EQ(first, NumbersOf(Joined(MustRun(text, {.seed = 1}))));
  EXPECT_NE(first, NumbersOf(Run(text, {.seed = 2})));
  EXPECT_NE(first, NumbersOf(Run(text, {.seed = 1, .epoch = 1})));
}

TEST_F(ReadPartsTest, AGlobalShuffleMovesRowsFarAndWide) {
  const Numbers values = Values<int64_t>(
      Run("%0 = range(stop=20000) %1 = map(%0, function={value: .value}) "
          "%2 = filter(%1, predicate={.value % 2 == 0}) %3 = global_shuffle(%2)",
          {.seed = 7}),
      "value");
  ASSERT_THAT(values, SizeIs(10'000));
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()).size(), 10'000U);
  // In every tenth of the pass the mean is near that of all: 9999, with a deviation of
  // 5774 / sqrt(1000) = 183.
  for (auto at = values.begin(); at != values.end(); at += 1000) {
    const double mean = std::accumulate(at, at + 1000, 0.0) / 1000;
    EXPECT_NEAR(mean, 9999, 5 * 183);
  }
}

TEST_F(ReadPartsTest, AGlobalShuffleGoesOnFromAnyState) {
  const std::string text = read_ +
                           "%1 = global_shuffle(%0) %2 = repeat(%1, count=2) "
                           "%3 = batch(%2, size=7)";
  const std::string alone = read_ + "%1 = global_shuffle(%0) %2 = batch(%1, size=7)";
  for (const std::string& either : {text, alone}) {
    Engine engine({.threads = 2});
    const auto open = [&](const std::optional<lanes::State>& from = {}) {
      return *engine.Open(AsWritten(either), ops::DefaultLibrary(), {.seed = 4}, from);
    };
    const Numbers all = NumbersOf(*Joined(Drain(*open())).Unstack());
    const auto iterator = open();
    int64_t taken = 0;
    while (const std::optional<core::Block> block = *iterator->Next()) {
      taken += block->Unstack()->rows();
      const auto rest_of = open(iterator->state());
      const Numbers wanted(all.begin() + taken, all.end());
      const core::Block rest = Joined(Drain(*rest_of));
      ASSERT_EQ(rest.rows() > 0 ? NumbersOf(*rest.Unstack()) : Numbers(), wanted);
    }
  }
}

TEST_F(ReadPartsTest, OnlyTheWrongRowIsLeftOut) {
  const std::string path = folder_ / "1.tfrecord";
  std::string bytes = *storage::ReadWhole(storage::ProcessFiles(),
                                          *storage::ProcessFiles().Find(path), 1 << 30);
  bytes[20 * 5021] ^= 1;  // Somewhere in row 19 or 20.
  folder_.Write("1.tfrecord", bytes);
  ops::AddIndex(path, storage::RowFormat::kTfrecord);
  const std::string text =
      read_ + "%1 = global_shuffle(%0) %2 = ignore_errors(%1, budget=1)";
  EXPECT_EQ(Run(text, {}).rows(), 149);
  EXPECT_THAT(RunAll(AsWritten(read_ + "%1 = global_shuffle(%0)")).status().message(),
              AllOf(HasSubstr("read_tfrecord (%0)"), HasSubstr("1.tfrecord")));
}

TEST_F(ReadPartsTest, SaysWhatAGlobalShuffleNeeds) {
  const auto status = [](const std::string& text) {
    return PlanPass(AsWritten(text), ops::DefaultLibrary(), {}).status();
  };
  folder_.Write("3.tfrecord", storage::TfrecordOf({"x"}));
  EXPECT_THAT(status(read_ + "%1 = global_shuffle(%0)"),
              StatusIs(kFailedPrecondition,
                       AllOf(HasSubstr("global_shuffle"), HasSubstr("3.tfrecord"),
                             HasSubstr("millrace data index"))));
  EXPECT_THAT(
      status("%0 = range(stop=9) %1 = take(%0, count=3) %2 = global_shuffle(%1)"),
      StatusIs(kUnimplemented, HasSubstr("cannot stand behind take")));
  EXPECT_THAT(
      status("%0 = range(stop=9) %1 = repeat(%0, count=3) %2 = global_shuffle(%1)"),
      StatusIs(kUnimplemented, HasSubstr("cannot stand behind repeat")));
}

TEST_F(ReadPartsTest, RangesThatFollowOneAnotherAreReadAsOne) {
  const PassPlan plan = Planned("%0 = range(stop=1000)");
  const std::vector<ops::RowRanges> parts =
      PartsOf(plan, {{0, 0, 10}, {0, 10, 30}, {0, 40, 50}, {1, 50, 60}});
  ASSERT_THAT(parts, SizeIs(3));
  EXPECT_EQ(parts[0], (ops::RowRanges{{0, 0, 30}}));
  EXPECT_EQ(parts[2], (ops::RowRanges{{1, 50, 60}}));
}

}  // namespace
}  // namespace millrace::exec
