#include "millrace/exec/least_memory.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source/plain_files_test.h"
#include "millrace/storage/row_scanner.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using absl::StatusCode::kResourceExhausted;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

int64_t LeastOf(const std::string& text) {
  return LeastMemory(*PlanPass(AsWritten(text), ops::DefaultLibrary(), {}));
}

TEST(LeastMemoryTest, WindowsAndBatchesAreHeld) {
  const std::string range = "%0 = range(stop=100000) ";
  EXPECT_EQ(LeastOf(range), 0);
  EXPECT_EQ(LeastOf(range + "%1 = shuffle(%0, window=1000)"), 8000);
  EXPECT_EQ(LeastOf(range + "%1 = shuffle(%0, window=1000) %2 = batch(%1, size=10)"),
            8080);
  EXPECT_EQ(LeastOf(range + "%1 = map(%0, function={a: .value, b: .value}) "
                            "%2 = batch(%1, size=10) %3 = batch(%2, size=5)"),
            160 + 800);
  EXPECT_EQ(LeastOf(range + "%1 = global_shuffle(%0)"), 0);
}

TEST(LeastMemoryTest, WhatStandsBeforeARepeatOrMergeIsHeldToo) {
  const std::string shuffled = "%0 = range(stop=100000) %1 = shuffle(%0, window=1000) ";
  EXPECT_EQ(LeastOf(shuffled + "%2 = repeat(%1) %3 = batch(%2, size=10)"), 8080);
  EXPECT_EQ(LeastOf(shuffled + "%2 = mix(%1, %1)"), 16000);
}

TEST(LeastMemoryTest, RowsOfFilesAreTakenForTheirMean) {
  const storage::TemporaryFolder folder;
  const std::string path = folder.Write(
      "a.tfrecord",
      storage::TfrecordOf(std::vector<std::string>(10, std::string(84, 'x'))));
  const std::string read = base::StrCat("%0 = read_tfrecord(paths=[\"", path, "\"]) ");
  EXPECT_EQ(LeastOf(read + "%1 = shuffle(%0, window=7)"), 0);  // Nobody counted them.
  ops::AddIndex(path, storage::RowFormat::kTfrecord);
  EXPECT_EQ(LeastOf(read + "%1 = shuffle(%0, window=7)"), 700);
  EXPECT_EQ(LeastOf(read + "%1 = map(%0, function={a: .record}) "
                           "%2 = shuffle(%1, window=7)"),
            0);  // What a map makes of them is not known.
}

TEST(LeastMemoryTest, AnAbsurdSizeIsNoSmallOne) {
  EXPECT_GT(LeastOf("%0 = range(stop=9) %1 = shuffle(%0, window=1099511627776) "
                    "%2 = batch(%1, size=1099511627776)"),
            int64_t{1} << 40);
}

TEST(LeastMemoryTest, ABudgetBelowItIsRefusedWithTheOperatorsName) {
  const rewrite::Rewritten pipeline = AsWritten(
      "%0 = range(stop=100000) %1 = shuffle(%0, window=10000) "
      "%2 = batch(%1, size=10)");
  Engine small({.threads = 2, .memory_bytes = 80'000});
  EXPECT_THAT(small.Open(pipeline, ops::DefaultLibrary(), {}),
              StatusIs(kResourceExhausted,
                       AllOf(HasSubstr("shuffle (%1): holds 10000 rows"),
                             HasSubstr("more than the memory budget of 80000"),
                             HasSubstr("make its window or batch smaller"))));
  Engine enough({.threads = 2, .memory_bytes = 80'080});
  EXPECT_THAT(enough.Open(pipeline, ops::DefaultLibrary(), {}), IsOk());
}

TEST(LeastMemoryTest, AsManyLanesAreOpenAsThereIsMemoryFor) {
  const PassPlan plan =
      *PlanPass(AsWritten("%0 = range(stop=1000000) %1 = shuffle(%0, window=1000)"),
                ops::DefaultLibrary(), {});
  const auto lanes = [&](int64_t windows, int threads) {
    return LanesAtOnce(plan, windows * 8000, threads);
  };
  EXPECT_EQ(lanes(1000, 1), 2);
  EXPECT_EQ(lanes(1000, 16), 17);  // One for each thread, and one to come.
  EXPECT_EQ(lanes(20, 16), 4);
  EXPECT_EQ(lanes(1, 16), 2);
}

TEST(LeastMemoryTest, LanesThatShareAGrainAreOpenTogether) {
  PassPlan plan =
      *PlanPass(AsWritten("%0 = range(stop=1000000) %1 = batch(%0, size=1000)"),
                ops::DefaultLibrary(), {});
  const auto lanes = [&](int64_t grain, int64_t budget_bytes) {
    plan.manifest.splits.back().grain = grain;
    return LanesAtOnce(plan, budget_bytes, 2);
  };
  const int64_t rows = plan.cut.lane_rows;
  EXPECT_EQ(lanes(0, 1 << 30), 3);
  EXPECT_EQ(lanes(rows, 1 << 30), 3);
  EXPECT_EQ(lanes(20 * rows, 1 << 30), 21);
  EXPECT_EQ(lanes(20 * rows, 160'000), 4);  // As there is memory for.
  EXPECT_EQ(lanes(1000 * rows, 1 << 30), 65);
  plan.cut.permuted = true;  // Its rows are of all grains.
  EXPECT_EQ(lanes(20 * rows, 1 << 30), 3);
}

}  // namespace
}  // namespace millrace::exec
