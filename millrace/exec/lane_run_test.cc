#include "millrace/exec/lane_run.h"

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/job_facts.h"
#include "millrace/exec/lane_runs_test.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/cursor.h"
#include "millrace/ops/library.h"
#include "millrace/storage/samples_test.h"

namespace millrace::exec {
namespace {

using base::IsOk;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kManyLanes[] = R"(
%0 = range(stop=100000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = filter(%1, predicate={.x % 3 == 0})
%3 = batch(%2, size=100)
)";

std::shared_ptr<LanePlan> PlanOf(Engine& engine, std::string_view text) {
  return MustPlan(engine, AsWritten(text));
}

// The rows of the one source in lanes of so many, or all in one.
std::shared_ptr<LanePlan> PlanInLanesOf(Engine& engine, std::string_view text,
                                        int64_t lane_rows = 1'000'000) {
  return MustPlan(engine, AsWritten(text),
                  {.cuts = {{.lane_rows = lane_rows, .exact_ends = true}}});
}

TEST(LaneRunTest, GivesBatchesThenTheTailThenTheEnd) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(engine, "%0 = range(stop=10) %1 = batch(%0, size=4)");
  const auto run = MustOpen(engine, plan, {});
  for (const int64_t begin : {0, 4}) {
    const LaneBatch batch = **run->Next();
    EXPECT_EQ(batch.begin_row, begin);
    EXPECT_EQ(batch.end_row, begin + 4);
    EXPECT_FALSE(batch.tail);
    EXPECT_EQ(batch.block.rows(), 1);
  }
  const LaneBatch tail = **run->Next();
  EXPECT_TRUE(tail.tail);
  EXPECT_EQ(Values<int64_t>(tail.block, "value"), (std::vector<int64_t>{8, 9}));
  EXPECT_FALSE(run->ended());
  EXPECT_FALSE((*run->Next()).has_value());
  EXPECT_TRUE(run->ended());
  EXPECT_EQ(run->end().rows, 10);
  EXPECT_EQ(run->end().digest, tail.digest);
  EXPECT_FALSE((*run->Next()).has_value());
}

TEST(LaneRunTest, OperatorsBehindTheBatchHaveNotRunOnTheTail) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(engine,
                                  "%0 = range(stop=10) %1 = batch(%0, size=4) "
                                  "%2 = map(%1, function={sum: sum(.value)})");
  const LaneLog log = Drain(*MustOpen(engine, plan, {}));
  ASSERT_EQ(log.batches.size(), 3U);
  EXPECT_EQ(Values<int64_t>(log.batches[1].block, "sum"),
            (std::vector<int64_t>{4 + 5 + 6 + 7}));
  EXPECT_EQ(log.batches[2].block.names(), core::FieldNames{"value"});
}

TEST(LaneRunTest, AnEngineWithoutThreadsRunsLanesTooAlsoForSeveralReaders) {
  Engine engine({.threads = 0});
  const auto plan = PlanOf(engine, kManyLanes);
  ASSERT_GE(plan->Facts().lanes.value_or(0), 4);
  std::vector<int64_t> rows(4);
  {
    std::vector<std::jthread> readers;
    for (int64_t lane = 0; lane < 4; ++lane) {
      readers.emplace_back([&, lane] {
        rows[lane] = Drain(*MustOpen(engine, plan, {.lane = lane})).end.rows;
      });
    }
  }
  Engine threads({.threads = 2});
  const auto same = PlanOf(threads, kManyLanes);
  for (int64_t lane = 0; lane < 4; ++lane) {
    EXPECT_GT(rows[lane], 0);
    EXPECT_EQ(Drain(*MustOpen(threads, same, {.lane = lane})).end.rows, rows[lane]);
  }
}

TEST(LaneRunTest, WhatIsMadeAheadLeavesMemoryToWhatIsNeeded) {
  Engine engine({.threads = 0, .memory_bytes = 1 << 20});
  const auto plan = PlanOf(engine,
                           "%0 = range(stop=400000) "
                           "%1 = shuffle(%0, window=40000, seed=7) "
                           "%2 = batch(%1, size=1000)");
  const auto needed = MustOpen(engine, plan, {.lane = 0});
  ASSERT_TRUE((*needed->Next()).has_value());
  ASSERT_GT(engine.memory().used_bytes, (1 << 20) / 4) << "its window";
  const auto ahead = MustOpen(engine, plan, {.lane = 1});
  ahead->SetNeeded(false);
  EXPECT_THAT(ahead->Next(base::RealClock().Now()),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  ahead->SetNeeded(true);
  EXPECT_TRUE((*ahead->Next()).has_value());
}

// Signalled from the engine's threads.
class Signal {
 public:
  void Set() {
    const base::MutexLock lock(&mutex_);
    set_ = true;
    changed_.NotifyAll();
  }

  // Waits for it, and forgets it.
  bool Wait() {
    const base::MutexLock lock(&mutex_);
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
    while (!set_) {
      if (!changed_.WaitUntil(&mutex_, deadline)) return false;
    }
    set_ = false;
    return true;
  }

 private:
  base::Mutex mutex_;
  base::CondVar changed_;
  bool set_ = false;
};

TEST(LaneRunTest, WhoDoesNotWaitIsCalledWhenSomethingIsReady) {
  Engine engine({.threads = 2});
  const auto plan = PlanOf(engine, kManyLanes);
  Signal ready;
  const auto run =
      MustOpen(engine, plan, {}, {.buffer_bytes = 1, .ready = [&] { ready.Set(); }});
  int64_t batches = 0;
  while (true) {
    const absl::StatusOr<std::optional<LaneBatch>> batch = run->TryNext();
    ASSERT_THAT(batch.status(), IsOk());
    batches += batch->has_value() ? 1 : 0;
    if (batch->has_value()) continue;
    if (run->ended()) break;
    ASSERT_TRUE(ready.Wait());
  }
  EXPECT_EQ(batches, std::ssize(Drain(*MustOpen(engine, plan, {})).batches));
}

TEST(LaneRunTest, ARunThatNobodyReadsStopsAtItsBufferAndLetsOthersGoOn) {
  Engine engine({.threads = 2, .memory_bytes = int64_t{64} << 20});
  const std::string text = R"(
%0 = range(stop=10000000)
%1 = map(%0, function={x: .value * 2 + 1})
%2 = batch(%1, size=1000)
)";
  const auto plan = PlanOf(engine, text);
  std::vector<std::unique_ptr<LaneRun>> unread;
  for (int64_t lane = 1; lane < 20; ++lane) {
    unread.push_back(
        MustOpen(engine, plan, {.lane = lane}, {.buffer_bytes = int64_t{1} << 20}));
  }
  for (int i = 0; i < 3; ++i) {
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = 0}));
    EXPECT_THAT(log.status, IsOk());
    EXPECT_EQ(log.end.rows, plan->Facts().lane_rows[0]);
  }
  // Each has its buffer, and what is on its way there.
  EXPECT_LT(engine.memory().used_bytes, int64_t{48} << 20);
  unread.clear();
  EXPECT_EQ(engine.memory().used_bytes, 0);
}

// Also with next to no memory: what is waited for goes on.
TEST(LaneRunTest, LanesGoOnWhateverTheBudget) {
  Engine engine({.threads = 3, .memory_bytes = 200'000});
  const auto plan = PlanOf(engine, kManyLanes);
  const int64_t lanes = *plan->Facts().lanes;
  std::vector<std::unique_ptr<LaneRun>> runs;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    runs.push_back(MustOpen(engine, plan, {.lane = lane}));
  }
  int64_t rows = 0;
  for (int64_t lane = lanes - 1; lane >= 0; --lane) {
    rows += Drain(*runs[lane]).end.rows;
  }
  EXPECT_EQ(rows, 33'333);
}

TEST(LaneRunTest, PassesAndLanesOfOtherPlansShareTheEngine) {
  Engine engine({.threads = 2});
  const auto plan = PlanOf(engine, kManyLanes);
  const auto other =
      PlanInLanesOf(engine, "%0 = range(stop=1000) %1 = batch(%0, size=7)");
  const auto run = MustOpen(engine, plan, {.lane = 1});
  const auto other_run = MustOpen(engine, other, {});
  const auto pass = *engine.Open(AsWritten(kManyLanes), ops::DefaultLibrary(), {});
  int64_t batches = 0;
  while ((*pass->Next()).has_value()) ++batches;
  EXPECT_EQ(batches, 334);
  EXPECT_EQ(Drain(*other_run).end.rows, 1000);
  EXPECT_THAT(Drain(*run).status, IsOk());
}

TEST(LaneRunTest, CancellingEndsAReaderThatWaits) {
  Engine engine({.threads = 1});
  // Much to skip before anything comes.
  const auto plan = PlanOf(engine,
                           "%0 = range(stop=1000000000000) "
                           "%1 = filter(%0, predicate={.value < 0}) "
                           "%2 = unique(%1) %3 = batch(%2, size=10)");
  const auto run = MustOpen(engine, plan, {});
  absl::Status status;
  {
    const std::jthread reader([&] { status = run->Next().status(); });
    run->Cancel();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(run->TryNext().status(), StatusIs(absl::StatusCode::kCancelled));
}

TEST(LaneRunTest, WaitingHasADeadlineAndCanGoOn) {
  Engine engine({.threads = 0});
  const auto plan = PlanInLanesOf(engine, "%0 = range(stop=10) %1 = batch(%0, size=4)");
  const auto run = MustOpen(engine, plan, {});
  EXPECT_FALSE((*run->TryNext()).has_value());  // Nobody works on it.
  EXPECT_EQ(Drain(*run).end.rows, 10);

  Engine busy({.threads = 1});
  const auto slow = PlanOf(busy,
                           "%0 = range(stop=1000000000000) "
                           "%1 = filter(%0, predicate={.value < 0}) "
                           "%2 = unique(%1) %3 = batch(%2, size=10)");
  const auto waiting = MustOpen(busy, slow, {});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(waiting->Next(base::RealClock().Now() + absl::Milliseconds(1)).status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("lane 0")));
  }
}

TEST(LaneRunTest, LanesThatAreNotThereAreErrors) {
  Engine engine({.threads = 1});
  const auto plan = PlanInLanesOf(engine, "%0 = range(stop=10) %1 = batch(%0, size=4)");
  EXPECT_THAT(engine.OpenLane(plan, {.lane = 1}).status(),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("there is no lane 1: the pass has 1")));
  EXPECT_THAT(engine.OpenLane(plan, {.lane = 0, .from_row = 11}).status(),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("has 10 rows")));
  EXPECT_THAT(engine.OpenLane(plan, {.lane = -1}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(LaneRunTest, AnErrorNamesLaneAndOperatorAndIsTheSameAgain) {
  Engine engine({.threads = 3});
  const auto plan =
      PlanInLanesOf(engine,
                    "%0 = range(stop=100000) "
                    "%1 = map(%0, function={x: 1 // (.value % 9973 - 9000)}) "
                    "%2 = batch(%1, size=100)",
                    5000);
  std::vector<std::string> errors;
  for (int i = 0; i < 4; ++i) {
    const auto run = MustOpen(engine, plan, {.lane = 1});
    const LaneLog log = Drain(*run);
    errors.push_back(log.status.ToString());
    EXPECT_EQ(run->Next().status(), log.status);  // It stays so.
  }
  EXPECT_THAT(errors, ::testing::Each(errors[0]));
  EXPECT_THAT(errors[0], AllOf(HasSubstr("map (%1)"), HasSubstr("division by zero")));
  // The other lanes know nothing of it.
  EXPECT_THAT(Drain(*MustOpen(engine, plan, {.lane = 0})).status, IsOk());
}

TEST(LaneRunTest, FewerRowsThanWereTakenBeforeIsAnError) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(engine,
                                  "%0 = range(stop=1000) "
                                  "%1 = filter(%0, predicate={.value < 10}) "
                                  "%2 = batch(%1, size=4)");
  EXPECT_THAT(Drain(*MustOpen(engine, plan, {.lane = 0, .from_row = 12})).status,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("lane 0 has 10 rows"), HasSubstr("row 12"))));
}

TEST(LaneRunTest, RowsLeftOutAreToldBetweenTheOthers) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(engine,
                                  "%0 = range(stop=12) "
                                  "%1 = map(%0, function={x: 1 // (.value % 5 - 4)}) "
                                  "%2 = ignore_errors(%1) %3 = batch(%2, size=4)");
  const LaneLog log = Drain(*MustOpen(engine, plan, {}));
  ASSERT_EQ(log.batches.size(), 3U);
  EXPECT_EQ(log.batches[0].left_out.size(), 0U);  // 0 to 3.
  EXPECT_EQ(log.batches[1].left_out.size(), 1U);  // 4, then 5 to 8.
  EXPECT_EQ(log.batches[2].left_out.size(), 1U);  // 9, then 10 and 11.
  EXPECT_EQ(log.batches[1].left_out[0].number, 1);
  EXPECT_EQ(log.batches[1].left_out[0].by, 2);
  const LaneLog rest = Drain(*MustOpen(engine, plan, {.lane = 0, .from_row = 8}));
  EXPECT_EQ(rest.batches[0].left_out.size(), 1U);
}

// What the operators behind make of one batch comes at once.
TEST(LaneRunTest, ABatchThatIsTakenApartAgainIsOne) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(
      engine, "%0 = range(stop=10) %1 = batch(%0, size=4) %2 = unbatch(%1)");
  const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = 0, .from_row = 1}));
  ASSERT_EQ(log.batches.size(), 3U);
  EXPECT_EQ(Values<int64_t>(log.batches[1].block, "value"),
            (std::vector<int64_t>{5, 6, 7, 8}));
  EXPECT_EQ(log.batches[1].begin_row, 5);
}

// Whoever goes on elsewhere in mid-lane can compare with what was there before.
TEST(LaneRunTest, TellsTheDigestOfWhatWasBeforeWhereverItBegins) {
  Engine engine({.threads = 2});
  for (const char* text :
       {"%0 = range(stop=10) %1 = batch(%0, size=4)",
        "%0 = range(stop=40) %1 = filter(%0, predicate={.value % 3 == 0}) "
        "%2 = batch(%1, size=4) %3 = map(%2, function={x: .value + 1})",
        "%0 = range(stop=30) %1 = shuffle(%0, window=8) %2 = batch(%1, size=4)",
        "%0 = range(stop=10) %1 = batch(%0, size=4) %2 = unbatch(%1)",
        "%0 = range(stop=10)"}) {
    const auto plan = PlanInLanesOf(engine, text);
    const LaneLog all = Drain(*MustOpen(engine, plan, {}));
    ASSERT_FALSE(all.batches.empty()) << text;
    lanes::Digest before;
    for (const LaneBatch& batch : all.batches) {
      EXPECT_EQ(batch.digest_before, before) << text;
      before = batch.digest;
      const LaneLog rest =
          Drain(*MustOpen(engine, plan, {.lane = 0, .from_row = batch.begin_row}));
      ASSERT_FALSE(rest.batches.empty()) << text;
      EXPECT_EQ(rest.batches[0].digest_before, batch.digest_before) << text;
    }
  }
}

TEST(LaneRunTest, LanesOfAnEndlessRepeatAreCutAsTheyAreOpened) {
  Engine engine({.threads = 2});
  const auto plan = PlanInLanesOf(
      engine,
      "%0 = range(stop=100) %1 = map(%0, function={x: .value + integers(0, 1000)}) "
      "%2 = repeat(%1) %3 = batch(%2, size=7)");
  EXPECT_FALSE(plan->Facts().lanes.has_value());
  const int64_t far = 3 * std::ssize(plan->Facts().lane_rows);
  const auto run = MustOpen(engine, plan, {.lane = far});
  EXPECT_GT(std::ssize(plan->Facts().lane_rows), far);
  const LaneLog log = Drain(*run);
  EXPECT_EQ(log.end.rows, 100);
  const LaneLog rest = Drain(*MustOpen(engine, plan, {.lane = far, .from_row = 70}));
  EXPECT_EQ(rest.end.digest, log.end.digest);
  EXPECT_TRUE(core::SameRows(rest.batches[0].block, log.batches[10].block));
}

// Rows before are not even read: their files are others by now.
TEST(LaneRunTest, RowsThatAreSkippedAreNotRead) {
  const storage::TemporaryFolder folder;
  for (int i = 10; i < 40; ++i) {
    folder.Write(base::StrCat(i, ".bin"), base::StrCat("row ", i));
  }
  Engine engine({.threads = 2});
  const auto plan =
      PlanInLanesOf(engine, base::StrCat("%0 = read_files(paths=[\"", folder.path(),
                                         "/*.bin\"]) %1 = batch(%0, size=8)"));
  const LaneLog all = Drain(*MustOpen(engine, plan, {}));
  EXPECT_THAT(all.status, IsOk());
  for (int i = 10; i < 34; ++i) {
    folder.Write(base::StrCat(i, ".bin"), "gone");
  }
  const LaneLog rest = Drain(*MustOpen(engine, plan, {.lane = 0, .from_row = 24}));
  EXPECT_THAT(rest.status, IsOk());
  EXPECT_EQ(rest.end.digest, all.end.digest);
  EXPECT_FALSE(Drain(*MustOpen(engine, plan, {})).status.ok());
}

// As a worker does that never listed.
TEST(LaneRunTest, APlanFromWhatWasRecordedHasTheSameLanes) {
  const storage::TemporaryFolder folder;
  for (int i = 10; i < 20; ++i) {
    std::string lines;
    for (int line = 0; line < 50; ++line) lines += base::StrCat(i, " ", line, "\n");
    folder.Write(base::StrCat(i, ".txt"), lines);
  }
  const std::string text =
      base::StrCat("%0 = read_text(paths=[\"", folder.path(),
                   "/*.txt\"]) %1 = shuffle(%0, window=20) %2 = batch(%1, size=8)");
  Engine engine({.threads = 2});
  const auto plan = MustPlan(engine, AsWritten(text), {.seed = 5, .epoch = 2});
  folder.Write("00.txt", "came later\n");
  Engine other({.threads = 1});
  const auto same = MustPlan(
      other, AsWritten(text),
      {.seed = 5, .epoch = 2, .cuts = plan->Facts().cuts, .listing = plan->listing()});
  EXPECT_EQ(same->Facts().manifest_hash, plan->Facts().manifest_hash);
  ASSERT_EQ(same->Facts().lanes, plan->Facts().lanes);
  for (int64_t lane = 0; lane < *plan->Facts().lanes; ++lane) {
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = lane}));
    const LaneLog again = Drain(*MustOpen(other, same, {.lane = lane}));
    EXPECT_THAT(again.status, IsOk());
    EXPECT_EQ(again.end.digest, log.end.digest);
    ASSERT_EQ(again.batches.size(), log.batches.size());
    for (size_t i = 0; i < log.batches.size(); ++i) {
      EXPECT_TRUE(core::SameRows(again.batches[i].block, log.batches[i].block));
    }
  }
}

TEST(LaneRunTest, SlotsOfLanesThatWereLeftAreFreed) {
  Engine engine({.threads = 2});
  // Rows that are large enough to be written where their batch has them.
  const auto plan = PlanOf(engine, R"(
%0 = range(stop=20000)
%1 = map(%0, function={x: normal(0.0, 1.0, shape=[1024]) + .value})
%2 = batch(%1, size=64)
)");
  for (int64_t lane = 0; lane < 4; ++lane) {
    const auto left = MustOpen(engine, plan, {.lane = lane});
    ASSERT_THAT(left->Next().status(), IsOk());
    const LaneLog log = Drain(*MustOpen(engine, plan, {.lane = lane, .from_row = 5}));
    EXPECT_THAT(log.status, IsOk());
  }
  EXPECT_EQ(engine.memory().used_bytes, 0);
}

}  // namespace
}  // namespace millrace::exec
