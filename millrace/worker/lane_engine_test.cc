#include "millrace/worker/lane_engine.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/hash.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/delivery/fixed_reader.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/runs_test.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"
#include "millrace/storage/samples_test.h"
#include "millrace/worker/kept_objects_test.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using exec::Values;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Task = std::function<void()>;

constexpr auto kRun = delivery::RunId{1};
constexpr auto kOther = delivery::RunId{2};
constexpr char kBatches[] = "%0 = range(start=0, stop=10)\n%1 = batch(%0, size=4)\n";

// The test's thread is the loop.
class LaneEngineTest : public testing::Test {
 protected:
  // A job that goes on from a state in which all rows were one lane.
  api::WorkerJob OneLane(const std::string& operators) {
    lanes::State state;
    state.cuts = {{.lane_rows = 1'000'000, .exact_ends = true}};
    api::WorkerJob job = objects_.JobOf(operators);
    job.incarnation = incarnation_;
    job.state = api::StateToJson(state);
    return job;
  }

  // Sets the job; its lane may be started from then on.
  void Begin(const std::string& operators) { lanes_->SetJob(OneLane(operators)); }

  // The same as a new start of it, which is planned anew.
  void BeginAnew(const std::string& operators) {
    ++incarnation_;
    Begin(operators);
  }

  void Start(delivery::RunId run, int64_t from = 0, int64_t lane = 0) {
    lanes_->Start({run, {3, incarnation_, {0, lane}}, from});
  }

  // Does what is posted, until something has come of it.
  void Await(const std::function<bool()>& come) {
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(20);
    while (!come()) {
      absl::StatusOr<Task> task = inbox_.Pop(deadline);
      CHECK(task.ok()) << task.status();
      (*task)();
    }
  }

  // What the run makes next.
  delivery::Made PullOne(delivery::RunId run) {
    const size_t before = made_[run].size();
    failed_.erase(run);
    lanes_->Pull(run, /*needed=*/true);
    Await([&] { return made_[run].size() > before || failed_.contains(run); });
    CHECK(!failed_.contains(run)) << failed_[run];
    return made_[run].back();
  }

  std::vector<int64_t> RowsOf(const delivery::Made& made, int64_t skip, int64_t rows) {
    return Values<int64_t>(lanes_->Rows(made.token, skip, rows).value(), "value");
  }

  std::vector<int64_t> RowsOf(const delivery::Made& made) {
    return RowsOf(made, 0, made.end - made.begin);
  }

  // What engine and planner do meanwhile is there when this has come.
  void AwaitListing() {
    lanes_->List(objects_.JobOf(kBatches));
    const size_t before = listed_.size();
    Await([&] { return listed_.size() > before; });
  }

  LaneEvents Events() {
    return {
        .on_made = [this](delivery::RunId run,
                          const delivery::Made& made) { made_[run].push_back(made); },
        .on_ended = [this](
                        delivery::RunId run, int64_t rows,
                        const std::vector<int64_t>& /*tails*/) { ended_[run] = rows; },
        .on_failed = [this](delivery::RunId run,
                            const absl::Status& why) { failed_[run] = why; },
        .on_listed =
            [this](const api::ListedJob& listed) { listed_.push_back(listed); }};
  }

  int64_t incarnation_ = 1;
  KeptObjects objects_;
  exec::Engine engine_{{.threads = 1}};
  base::BoundedQueue<Task> inbox_{1024};
  std::map<delivery::RunId, std::vector<delivery::Made>> made_;
  std::map<delivery::RunId, int64_t> ended_;
  std::map<delivery::RunId, absl::Status> failed_;
  std::vector<api::ListedJob> listed_;
  std::unique_ptr<LaneEngine> lanes_ = std::make_unique<LaneEngine>(
      engine_,
      std::make_unique<Plans>(engine_, ops::DefaultLibrary(), objects_.Access()),
      [this](Task task) { CHECK(inbox_.TryPush(std::move(task))); }, Events());
};

// Readers may be quicker than the dispatcher's news.
TEST_F(LaneEngineTest, ALaneWaitsUntilItsJobIsKnownInThisStart) {
  api::WorkerJob before = OneLane(kBatches);
  before.incarnation = 0;
  lanes_->SetJob(before);
  Start(kRun);
  lanes_->Pull(kRun, /*needed=*/true);
  AwaitListing();
  EXPECT_THAT(made_[kRun], IsEmpty());
  EXPECT_THAT(failed_, IsEmpty());
  Begin(kBatches);
  Await([&] { return made_[kRun].size() == 1; });
  EXPECT_THAT(RowsOf(made_[kRun].front()), ElementsAre(0, 1, 2, 3));
}

TEST_F(LaneEngineTest, GivesABlockForEachPullThenTheTailThenTheEnd) {
  Begin(kBatches);
  Start(kRun);
  const delivery::Made first = PullOne(kRun);
  EXPECT_EQ(first.begin, 0);
  EXPECT_EQ(first.end, 4);
  EXPECT_FALSE(first.tail);
  EXPECT_GT(first.bytes, 0);
  EXPECT_EQ(first.digest_before, base::Hash128{});
  EXPECT_THAT(RowsOf(first), ElementsAre(0, 1, 2, 3));
  const delivery::Made second = PullOne(kRun);
  EXPECT_EQ(second.digest_before, first.digest);
  EXPECT_NE(second.digest, first.digest);
  const delivery::Made tail = PullOne(kRun);
  EXPECT_TRUE(tail.tail);
  EXPECT_EQ(tail.begin, 8);
  EXPECT_THAT(RowsOf(tail), ElementsAre(8, 9));
  lanes_->Pull(kRun, /*needed=*/true);
  Await([&] { return ended_.contains(kRun); });
  EXPECT_EQ(ended_[kRun], 10);
  EXPECT_THAT(failed_, IsEmpty());
}

// It is pulled before its job is planned, and nothing is asked for twice.
TEST_F(LaneEngineTest, WhatIsPulledBeforeThePlanIsThereComesOnce) {
  Begin(kBatches);
  Start(kRun);
  lanes_->Pull(kRun, /*needed=*/true);
  lanes_->Pull(kRun, /*needed=*/true);
  Await([&] { return !made_[kRun].empty(); });
  AwaitListing();
  EXPECT_THAT(made_[kRun], SizeIs(1));
  EXPECT_EQ(PullOne(kRun).begin, 4);
}

TEST_F(LaneEngineTest, RunsOfOnePassShareItsPlan) {
  Begin(kBatches);
  Start(kRun);
  PullOne(kRun);
  const int gets = objects_.gets();
  Start(kOther, 4);
  EXPECT_THAT(RowsOf(PullOne(kOther)), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(objects_.gets(), gets);
}

TEST_F(LaneEngineTest, BeginsAtTheRowItIsAskedFor) {
  Begin(kBatches);
  Start(kRun, 3);
  const delivery::Made made = PullOne(kRun);
  EXPECT_EQ(made.begin, 3);
  EXPECT_EQ(made.end, 7);
  EXPECT_THAT(RowsOf(made), ElementsAre(3, 4, 5, 6));
}

// So whoever goes on reading from another worker can compare from the first batch on.
TEST_F(LaneEngineTest, TheFirstBatchInMidLaneTellsTheDigestOfWhatWasBefore) {
  for (const char* operators :
       {kBatches,
        "%0 = range(start=0, stop=40)\n%1 = filter(%0, predicate={.value % 3 == 0})\n"
        "%2 = batch(%1, size=4)\n%3 = map(%2, function={value: .value + 1})\n",
        "%0 = range(start=0, stop=10)\n%1 = shuffle(%0, window=6)\n"
        "%2 = batch(%1, size=4)\n"}) {
    BeginAnew(operators);
    Start(kRun);
    const delivery::Made first = PullOne(kRun);
    const delivery::Made second = PullOne(kRun);
    Start(kOther, first.end);
    EXPECT_EQ(PullOne(kOther).digest_before, first.digest) << operators;
    lanes_->Stop(kOther);
    Start(kOther, second.end);
    const delivery::Made tail = PullOne(kOther);
    EXPECT_EQ(tail.digest_before, second.digest) << operators;
    lanes_->Stop(kOther);
    lanes_->Stop(kRun);
  }
}

// Another worker runs the lane after its file was changed: the reader notices.
TEST_F(LaneEngineTest, ALaneThatComesOutDifferentlyElsewhereIsAnError) {
  const storage::TemporaryFolder folder;
  const auto write = [&](int taken) {
    std::string lines;
    for (int i = 0; i < 40; ++i) lines += i % 2 == taken ? "a\n" : "bb\n";
    folder.Write("rows.txt", lines);
  };
  const std::string pipeline =
      base::StrCat("%0 = read_text(paths=[\"", folder.path(),
                   "/rows.txt\"])\n%1 = filter(%0, predicate={byte_length(.text) "
                   "== 1})\n%2 = batch(%1, size=4)\n");
  const lanes::Rest rest = lanes::DealAll({lanes::kRowsMax}, 1);
  delivery::FixedReader reader({.batching = {4, false}, .counted = false}, rest, rest);
  const auto receive = [&](const delivery::Made& made) {
    return reader.OnBatch({{},
                           made.begin,
                           made.end,
                           made.tail,
                           made.bytes,
                           made.digest_before,
                           made.digest},
                          made.token);
  };
  write(/*taken=*/0);
  lanes_->SetJob(objects_.JobOf(pipeline));
  Start(kRun);
  EXPECT_THAT(receive(PullOne(kRun)), IsOk());
  write(/*taken=*/1);
  api::WorkerJob anew = objects_.JobOf(pipeline);
  anew.incarnation = ++incarnation_;  // Which is planned anew.
  lanes_->SetJob(anew);
  Start(kOther, 4);
  EXPECT_THAT(receive(PullOne(kOther)),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("lane 0 came out differently up to row 4")));
}

TEST_F(LaneEngineTest, WhatIsStoppedGivesNothingMore) {
  Begin(kBatches);
  Start(kRun);
  lanes_->Pull(kRun, /*needed=*/true);
  lanes_->Stop(kRun);
  Start(kOther);
  PullOne(kOther);
  lanes_->Stop(kOther);
  lanes_->Pull(kOther, /*needed=*/true);
  lanes_->Stop(kOther);  // Again: nothing.
  AwaitListing();
  EXPECT_THAT(made_[kRun], IsEmpty());
  EXPECT_THAT(made_[kOther], SizeIs(1));
  EXPECT_THAT(ended_, IsEmpty());
  EXPECT_THAT(failed_, IsEmpty());
}

TEST_F(LaneEngineTest, ABlockOutlivesItsRun) {
  Begin(kBatches);
  Start(kRun);
  const delivery::Made made = PullOne(kRun);
  lanes_->Stop(kRun);
  EXPECT_THAT(RowsOf(made), ElementsAre(0, 1, 2, 3));
  lanes_->Drop(made.token);
}

TEST_F(LaneEngineTest, ALaneThatFailsIsTold) {
  Begin(
      "%0 = range(start=0, stop=10)\n%1 = map(%0, function={value: 1 // (.value - "
      "6)})\n%2 = batch(%1, size=4)\n");
  Start(kRun);
  PullOne(kRun);
  lanes_->Pull(kRun, /*needed=*/true);
  Await([&] { return failed_.contains(kRun); });
  EXPECT_THAT(failed_[kRun].message(), HasSubstr("map (%1)"));
  lanes_->Pull(kRun, /*needed=*/true);  // It is over.
  AwaitListing();
  EXPECT_THAT(made_[kRun], SizeIs(1));
}

TEST_F(LaneEngineTest, ALaneThatIsNotThereFails) {
  Begin(kBatches);
  Start(kRun, 0, 1'000'000);
  Await([&] { return failed_.contains(kRun); });
  Start(kOther);
  EXPECT_THAT(RowsOf(PullOne(kOther)), SizeIs(4)) << "others go on";
}

TEST_F(LaneEngineTest, APlanThatCannotBeMadeFailsItsRunsAndIsTriedAgain) {
  const api::WorkerJob job = OneLane(kBatches);
  api::WorkerJob lost = job;
  lost.pipeline = "lost";
  lanes_->SetJob(lost);
  Start(kRun);
  Start(kOther);
  Await([&] { return failed_.size() == 2; });
  for (const auto& [run, why] : failed_) {
    EXPECT_THAT(why, StatusIs(StatusCode::kNotFound, HasSubstr("lost")));
  }
  lanes_->SetJob(job);
  Start(kRun);
  EXPECT_THAT(RowsOf(PullOne(kRun)), ElementsAre(0, 1, 2, 3));
}

// What is made ahead for a job waits while another of its group lacks something, as if
// both were one; jobs that share nothing have their turns.
TEST_F(LaneEngineTest, WhatOneJobOfAGroupNeedsComesBeforeWhatIsMadeAheadForAnother) {
  // One batch in all that the first job lacks, and a thousand of the other meanwhile.
  constexpr int64_t kBatch = 1000;
  constexpr int64_t kRows = 1000 * kBatch;
  const std::string rows = base::StrCat("%0 = range(start=0, stop=", kRows, ")\n");
  const auto made_ahead = [&](const std::string& share) {
    ++incarnation_;
    made_.clear();
    api::WorkerJob lacks =
        OneLane(base::StrCat(rows, "%1 = filter(%0, predicate={.value % ", kRows,
                             " == ", kRows - 1, "})\n%2 = batch(%1, size=1)\n"));
    api::WorkerJob ahead =
        OneLane(base::StrCat(rows, "%1 = batch(%0, size=", kBatch, ")\n"));
    ahead.job = lacks.job + 1;
    lacks.share = ahead.share = share;
    lanes_->SetJob(lacks);
    lanes_->SetJob(ahead);
    Start(kRun);
    lanes_->Pull(kRun, /*needed=*/true);
    lanes_->Start({kOther, {ahead.job, incarnation_, {0, 0}}, 0});
    size_t pulls = 0;
    Await([&] {
      for (; made_[kOther].size() == pulls; ++pulls) {
        lanes_->Pull(kOther, /*needed=*/false);
      }
      return !made_[kRun].empty();
    });
    lanes_->Stop(kRun);
    lanes_->Stop(kOther);
    return std::ssize(made_[kOther]);
  };
  EXPECT_LT(made_ahead("group"), 50);
  EXPECT_GT(made_ahead(""), 50);
}

TEST_F(LaneEngineTest, SlicesBatchesTailsAndPlainRows) {
  Begin(kBatches);
  Start(kRun);
  const delivery::Made batch = PullOne(kRun);
  EXPECT_THAT(RowsOf(batch, 1, 2), ElementsAre(1, 2));
  const absl::StatusOr<core::Block> part = lanes_->Rows(batch.token, 1, 2);
  ASSERT_THAT(part, IsOk());
  EXPECT_EQ(part->rows(), 1) << "still a batch";
  PullOne(kRun);
  EXPECT_THAT(RowsOf(PullOne(kRun), 1, 1), ElementsAre(9));
  lanes_->Stop(kRun);

  api::WorkerJob plain = OneLane("%0 = range(start=0, stop=10)\n");
  plain.incarnation = 2;
  lanes_->SetJob(plain);
  lanes_->Start({kOther, {3, 2, {0, 0}}, 0});
  const delivery::Made rows = PullOne(kOther);
  ASSERT_GE(rows.end - rows.begin, 3);
  EXPECT_THAT(RowsOf(rows, 2, 1), ElementsAre(2));
}

TEST_F(LaneEngineTest, TellsWhatWasListedOrWhyNot) {
  lanes_->List(objects_.JobOf(kBatches));
  Await([&] { return listed_.size() == 1; });
  EXPECT_EQ(listed_[0].job, 3);
  EXPECT_EQ(listed_[0].pipeline, objects_.JobOf(kBatches).pipeline);
  EXPECT_EQ(listed_[0].failed, std::nullopt);
  EXPECT_EQ(listed_[0].facts.batch_rows, 4);
  lanes_->List(objects_.JobOf("%0 = read_text(paths=[\"nowhere.txt\"])\n"));
  Await([&] { return listed_.size() == 2; });
  ASSERT_TRUE(listed_[1].failed.has_value());
  EXPECT_EQ(listed_[1].failed->code, "NOT_FOUND");
  EXPECT_THAT(listed_[1].failed->message, HasSubstr("nowhere.txt"));
}

TEST_F(LaneEngineTest, JoinsPartsOfBlocksToBatchesAndToTails) {
  Begin(kBatches);
  Start(kRun);
  const delivery::Made first = PullOne(kRun);
  const delivery::Made second = PullOne(kRun);
  const delivery::Made last = PullOne(kRun);
  ASSERT_TRUE(last.tail);
  constexpr auto kBatch = delivery::Token{-1};
  constexpr auto kTail = delivery::Token{-2};
  lanes_->Compose(
      {kBatch, {{first.token, 2, 2, true}, {second.token, 0, 3, true}}, true});
  lanes_->Compose(
      {kTail, {{second.token, 3, 1, true}, {last.token, 0, 2, false}}, false});
  for (const delivery::Token token : {first.token, second.token, last.token}) {
    lanes_->Drop(token);
  }
  EXPECT_THAT(RowsOf({.begin = 2, .end = 7, .token = kBatch}),
              ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(lanes_->Rows(kBatch, 0, 5)->rows(), 1) << "a batch";
  EXPECT_THAT(RowsOf({.begin = 7, .end = 10, .token = kTail}), ElementsAre(7, 8, 9));
  EXPECT_EQ(lanes_->Rows(kTail, 0, 3)->rows(), 3) << "rows";
  lanes_->Drop(kBatch);
  lanes_->Drop(kTail);
}

}  // namespace
}  // namespace millrace::worker
