#include "millrace/exec/sequential_runner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int64_t> Iota(int64_t rows) {
  std::vector<int64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

std::vector<int64_t> BatchSizes(const std::vector<core::Block>& batches) {
  std::vector<int64_t> sizes;
  sizes.reserve(batches.size());
  for (const core::Block& batch : batches) sizes.push_back(batch.Unstack()->rows());
  return sizes;
}

TEST(SequentialRunnerTest, GivesEveryNumberOfARangeInOrder) {
  const core::Block rows = Joined(MustRun("%0 = range(stop=5000)"));
  EXPECT_EQ(Values<int64_t>(rows, "value"), Iota(5000));
}

// A tar with an index: large rows, so that some fetches give no row at all.
std::string IndexedTar(const storage::TemporaryFolder& folder, int rows) {
  std::string bytes;
  for (int row = 0; row < rows; ++row) {
    bytes += storage::TarMember(base::StrCat(row, ".bin"),
                                storage::Noise(row % 5 * 150'000, row));
    bytes += storage::TarMember(base::StrCat(row, ".cls"), base::StrCat(row));
  }
  const std::string path = folder.Write("a.tar", bytes + storage::TarEnd());
  ops::AddIndex(path, storage::RowFormat::kTar);
  return path;
}

TEST(SequentialRunnerTest, ReadsIndexedFilesInOrder) {
  const storage::TemporaryFolder folder;
  const std::string path = IndexedTar(folder, 60);
  const auto batches = MustRun(
      base::StrCat("%0 = ", ops::Call("read_tar", path, ", fields=[\"bin\", \"cls\"]"),
                   "%1 = map(%0, function={cls: .cls}) %2 = batch(%1, size=8)"));
  EXPECT_THAT(BatchSizes(batches), ElementsAre(8, 8, 8, 8, 8, 8, 8, 4));
  EXPECT_EQ(Values<int64_t>(Joined(batches, 1), "cls"), Iota(60));
}

TEST(SequentialRunnerTest, ShufflesIndexedFilesTheSameWayEveryTime) {
  const storage::TemporaryFolder folder;
  const std::string text = base::StrCat(
      "%0 = ",
      ops::Call("read_tar", IndexedTar(folder, 60), ", fields=[\"bin\", \"cls\"]"),
      "%1 = shuffle(%0, window=20, seed=3)");
  const core::Block first = Joined(MustRun(text));
  EXPECT_TRUE(core::SameRows(first, Joined(MustRun(text))));
  std::vector<int64_t> labels = Values<int64_t>(first, "cls");
  EXPECT_NE(labels, Iota(60));
  std::ranges::sort(labels);
  EXPECT_EQ(labels, Iota(60));
}

TEST(SequentialRunnerTest, SaysWhichSourceAFileWasMissingFor) {
  const auto blocks = RunAll(MustParse("%0 = read_text(paths=[\"no/such/file\"])"));
  EXPECT_THAT(blocks.status().message(), HasSubstr("no file matches: no/such/file"));
}

TEST(SequentialRunnerTest, EndsOnceAndStaysEnded) {
  SequentialRunner runner = *SequentialRunner::Open(AsWritten("%0 = range(stop=1)"),
                                                    ops::DefaultLibrary(), {});
  EXPECT_TRUE(runner.Next()->has_value());
  EXPECT_FALSE(runner.Next()->has_value());
  EXPECT_FALSE(runner.Next()->has_value());
}

TEST(SequentialRunnerTest, GivesAShortLastBatch) {
  const auto batches = MustRun("%0 = range(stop=10) %1 = batch(%0, size=4)");
  EXPECT_THAT(BatchSizes(batches), ElementsAre(4, 4, 2));
}

TEST(SequentialRunnerTest, DropsAShortLastBatchWhenTold) {
  const auto batches =
      MustRun("%0 = range(stop=10) %1 = batch(%0, size=4, drop_remainder=true)");
  EXPECT_THAT(BatchSizes(batches), ElementsAre(4, 4));
}

TEST(SequentialRunnerTest, GivesNothingOfAnEmptySource) {
  EXPECT_THAT(MustRun("%0 = range(stop=0) %1 = batch(%0, size=4)"), IsEmpty());
}

TEST(SequentialRunnerTest, GivesNothingWhenAFilterDropsAll) {
  EXPECT_THAT(MustRun("%0 = range(stop=3000) %1 = filter(%0, predicate={.value < 0}) "
                      "%2 = batch(%1, size=4)"),
              IsEmpty());
}

// 100,000 rows are some 1,000 lanes, of which a filter keeps odd numbers of rows.
constexpr char kFiltered[] =
    "%0 = range(stop=100000) %1 = filter(%0, predicate={.value % 3 == 1}) ";

TEST(SequentialRunnerTest, BatchingGoesOnFromLaneToLane) {
  const std::string text = base::StrCat(kFiltered, "%2 = batch(%1, size=64)");
  SequentialRunner runner =
      *SequentialRunner::Open(AsWritten(text), ops::DefaultLibrary(), {});
  ASSERT_GT(runner.plan().lanes.size(), 100);
  const std::vector<int64_t> sizes = BatchSizes(MustRun(text));
  EXPECT_EQ(sizes.size(), 521U);  // ceil(33,333 / 64)
  EXPECT_TRUE(std::all_of(sizes.begin(), sizes.end() - 1,
                          [](int64_t size) { return size == 64; }));
  EXPECT_EQ(sizes.back(), 33'333 - 520 * 64);
}

TEST(SequentialRunnerTest, GivesTheSameRowsWhateverTheBatchSize) {
  const core::Block plain = Joined(MustRun(kFiltered));
  for (const int size : {1, 7, 64, 1000, 1'000'000}) {
    const std::string text = base::StrCat(kFiltered, "%2 = batch(%1, size=", size, ")");
    EXPECT_TRUE(core::SameRows(plain, Joined(MustRun(text), 1))) << size;
  }
}

TEST(SequentialRunnerTest, ShufflesEveryRowExactlyOnce) {
  const core::Block rows =
      Joined(MustRun("%0 = range(stop=50000) %1 = shuffle(%0, window=100)"));
  std::vector<int64_t> values = Values<int64_t>(rows, "value");
  EXPECT_FALSE(std::ranges::is_sorted(values));
  std::ranges::sort(values);
  EXPECT_EQ(values, Iota(50'000));
}

TEST(SequentialRunnerTest, ShufflesAnewInEveryEpochAndForEverySeed) {
  const auto shuffled = [](const PassOptions& options) {
    return Values<int64_t>(
        Joined(MustRun("%0 = range(stop=2000) %1 = shuffle(%0, window=50)", options)),
        "value");
  };
  const std::vector<int64_t> first = shuffled({.seed = 1, .epoch = 0});
  EXPECT_EQ(first, shuffled({.seed = 1, .epoch = 0}));
  EXPECT_NE(first, shuffled({.seed = 1, .epoch = 1}));
  EXPECT_NE(first, shuffled({.seed = 2, .epoch = 0}));
}

TEST(SequentialRunnerTest, AnOperatorsOwnSeedComesBeforeTheJobs) {
  const char* text = "%0 = range(stop=2000) %1 = shuffle(%0, window=50, seed=7)";
  EXPECT_TRUE(core::SameRows(Joined(MustRun(text, {.seed = 1})),
                             Joined(MustRun(text, {.seed = 2}))));
}

TEST(SequentialRunnerTest, ARowDrawsTheSameNumbersWhereverItGoes) {
  const char* drawn =
      "%0 = range#0(stop=3000) "
      "%1 = map(%0, function={v: .value, r: uniform#5(0.0, 1.0)}) ";
  const char* shuffled =
      "%0 = range#0(stop=3000) %1 = shuffle#9(%0, window=500) "
      "%2 = map(%1, function={v: .value, r: uniform#5(0.0, 1.0)}) ";
  const core::Block plain = Joined(MustRun(drawn, {.seed = 3}));
  const core::Block mixed = Joined(MustRun(shuffled, {.seed = 3}));
  const auto values = Values<double>(plain, "r");
  const auto places = Values<int64_t>(mixed, "v");
  const auto moved = Values<double>(mixed, "r");
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(moved[i], values[places[i]]);
  EXPECT_NE(values[0], values[1]);
}

// Where a filter leaves 33 or 34 rows to a lane of 100, batches of 7 flush short at
// every lane's end, and only batches of them go on from lane to lane.
TEST(SequentialRunnerTest, OfSeveralBatchingOperatorsOnlyTheLastHasTails) {
  const std::string inner = base::StrCat(kFiltered, "%2 = batch(%1, size=7) ");
  int64_t lanes_with_a_short_end = 0;
  const auto outer = MustRun(base::StrCat(inner,
                                          "%3 = map(%2, function={n: length(.value)"
                                          "}) %4 = batch(%3, size=2)"));
  for (const core::Block& batch : outer) {
    for (const int64_t rows : batch.Find("n")->As<int64_t>()) {
      lanes_with_a_short_end += rows < 7 ? 1 : 0;
    }
  }
  EXPECT_GT(lanes_with_a_short_end, 100);
  const std::vector<int64_t> sizes = BatchSizes(outer);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 1), sizes.back() == 1 ? 1 : 0);
}

TEST(SequentialRunnerTest, MapsAndFiltersWorkOnBatches) {
  const auto batches = MustRun(
      "%0 = range(stop=12) %1 = batch(%0, size=4) "
      "%2 = map(%1, function={total: sum(.value), first: .value[0], rest: .value[1:]}) "
      "%3 = filter(%2, predicate={.total != 22})");
  const core::Block rows = Joined(batches);
  EXPECT_THAT(Values<int64_t>(rows, "total"), ElementsAre(6, 38));
  EXPECT_THAT(Values<int64_t>(rows, "first"), ElementsAre(0, 8));
  EXPECT_THAT(Values<int64_t>(rows, "rest"), ElementsAre(1, 2, 3, 9, 10, 11));
}

TEST(SequentialRunnerTest, AnErrorNamesOperatorAndRowAndComesAfterTheRowsBeforeIt) {
  SequentialRunner runner = *SequentialRunner::Open(
      AsWritten("%0 = range(stop=100000) "
                "%1 = map(%0, function={x: 10 // (.value - 70000)}) "
                "%2 = batch(%1, size=100)"),
      ops::DefaultLibrary(), {});
  absl::Status status;
  int64_t rows = 0;
  while (status.ok()) {
    const absl::StatusOr<std::optional<core::Block>> batch = runner.Next();
    status = batch.status();
    ASSERT_TRUE(!batch.ok() || batch->has_value());
    if (batch.ok()) rows += (*batch)->Unstack()->rows();
  }
  EXPECT_EQ(rows, 70'000);
  EXPECT_EQ(status.message(), "map (%1): row 70000: floor_divide: division by zero");
  EXPECT_EQ(runner.Next().status(), status);
}

TEST(SequentialRunnerTest, FailsWhenTheBudgetIsFullAndGivesEverythingBack) {
  core::Pool pool(core::MakeHeapAllocator(), {.budget_bytes = 10'000});
  {
    SequentialRunner runner = *SequentialRunner::Open(
        AsWritten("%0 = range(stop=100000) %1 = batch(%0, size=100000)"),
        ops::DefaultLibrary(), {}, pool);
    EXPECT_EQ(runner.Next().status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

TEST(SequentialRunnerTest, LeavesNothingAllocatedWhereverItIsStopped) {
  core::Pool pool(core::MakeHeapAllocator(), {});
  for (int stop_after = 0; stop_after < 40; ++stop_after) {
    SequentialRunner runner = *SequentialRunner::Open(
        AsWritten("%0 = range(stop=3000) %1 = shuffle(%0, window=100) "
                  "%2 = filter(%1, predicate={.value % 2 == 0}) "
                  "%3 = batch(%2, size=50)"),
        ops::DefaultLibrary(), {}, pool);
    for (int i = 0; i < stop_after; ++i) ASSERT_TRUE(runner.Next().ok());
  }
  EXPECT_EQ(pool.stats().used_bytes, 0);
}

}  // namespace
}  // namespace millrace::exec
