#include "millrace/exec/row_wise_stage.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/core/buffer.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/collected_items_test.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/slots.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;

class RowWiseStageTest : public ::testing::Test {
 protected:
  RowWiseStageTest() {
    for (int thread = 0; thread < 2; ++thread) {
      work_.chains.push_back(std::make_unique<Chain>(
          plan_, Stage{Stage::Kind::kRowWise, 1, 1}, ops::DefaultLibrary(),
          ChainLane{ops::SingleOperator::TestLane(), 0}, meters_));
    }
  }

  Task MustClaim() {
    Task task;
    CHECK(stage_.Claim(memory_, true, task));
    return task;
  }

  void Finish(Task task, int thread = 0) {
    stage_.Run(task, thread);
    stage_.Complete(std::move(task));
  }

  PassPlan plan_ = *PlanPass(
      AsWritten("%0 = range(stop=9)\n%1 = map(%0, function={value: .value * 10})"),
      ops::DefaultLibrary(), {});
  base::ManualClock clock_;
  Meters meters_{2, clock_};
  Memory memory_{core::HeapPool(), int64_t{1} << 40};
  RowWiseWork work_;
  CollectedItems out_;
  RowWiseStage stage_{work_, {}, out_, {}, meters_};
};

TEST_F(RowWiseStageTest, ResultsLeaveInTheOrderInWhichRowsCame) {
  work_.nanoseconds_per_row.Add(1e6);  // One row a task.
  stage_.Accept(Item::Of(ops::Numbers(0, 3)));
  Task first = MustClaim();
  Task second = MustClaim();
  Task third = MustClaim();
  Finish(std::move(third), 1);
  Finish(std::move(second), 1);
  EXPECT_THAT(out_.values(), ElementsAre());
  Finish(std::move(first));
  EXPECT_THAT(out_.values(), ElementsAre(0, 10, 20));
}

TEST_F(RowWiseStageTest, ATaskIsAboutAMillisecondOfWork) {
  work_.nanoseconds_per_row.Add(100'000);
  stage_.Accept(Item::Of(ops::Numbers(0, 100)));
  EXPECT_EQ(MustClaim().in.front().block.rows(), 9);
}

TEST_F(RowWiseStageTest, ATaskThatWaitsForAnotherProcessIsLonger) {
  work_.task_nanoseconds = RowWiseWork::kWaitingTaskNanoseconds;
  work_.nanoseconds_per_row.Add(100'000);
  stage_.Accept(Item::Of(ops::Numbers(0, 200)));
  EXPECT_EQ(MustClaim().in.front().block.rows(), 159);
}

TEST_F(RowWiseStageTest, CheapRowsAreTakenFromSeveralBlocks) {
  work_.nanoseconds_per_row.Add(10);
  for (int i = 0; i < 4; ++i) stage_.Accept(Item::Of(ops::Numbers(0, 5)));
  EXPECT_EQ(MustClaim().in.size(), 4U);
}

TEST_F(RowWiseStageTest, EndsOnceEverythingHasGoneOn) {
  stage_.Accept(Item::Of(ops::Numbers(0, 3)));
  Task task = MustClaim();
  stage_.EndInput();
  EXPECT_FALSE(out_.ended());
  Finish(std::move(task));
  EXPECT_TRUE(out_.ended());
}

TEST_F(RowWiseStageTest, DoesNotRunFarAheadOfASlowTask) {
  work_.nanoseconds_per_row.Add(1e6);
  stage_.Accept(Item::Of(ops::Numbers(0, 100)));
  std::vector<Task> tasks;
  Task task;
  while (stage_.Claim(memory_, true, task)) tasks.push_back(std::exchange(task, {}));
  EXPECT_EQ(tasks.size(), 6U);  // Twice the threads, and two.
}

TEST_F(RowWiseStageTest, WaitsForRoomBehindItAndForMemory) {
  stage_.Accept(Item::Of(ops::Numbers(0, 3)));
  out_.set_has_room(false);
  Task task;
  EXPECT_FALSE(stage_.Claim(memory_, true, task));
  out_.set_has_room(true);
  work_.bytes_per_row.Add(1e15);
  EXPECT_FALSE(stage_.Claim(memory_, false, task));
  EXPECT_TRUE(stage_.Claim(memory_, true, task));
}

TEST_F(RowWiseStageTest, AnErrorFollowsTheRowsBeforeIt) {
  stage_.Accept(Item::Of(ops::Numbers(0, 2)));
  stage_.Accept(Item::Error(absl::DataLossError("torn")));
  Finish(MustClaim());
  EXPECT_THAT(out_.values(), ElementsAre(0, 10));
  EXPECT_EQ(out_.items().back().status, absl::DataLossError("torn"));
}

// Its rows may come before those of the lane before have all come in: what was worked
// on by then is copied, and no batch keeps memory for it.
TEST_F(RowWiseStageTest, ALaneThatLearnsItsPlaceLateGivesUpTheBatchesItHasBegun) {
  work_.slots.emplace(SlotShape{.batch_rows = 4, .row_bytes = {8}}, core::HeapPool());
  RowWiseStage later(work_, {.turn = 1}, out_, {}, meters_);
  const auto run = [&](RowWiseStage& stage, bool placed) {
    Task task;
    CHECK(stage.Claim(memory_, true, task));
    EXPECT_EQ(task.places.empty(), !placed);
    stage.Run(task, 0);
    stage.Complete(std::move(task));
  };
  later.Accept(Item::Of(ops::Numbers(3, 5)));
  run(later, false);
  stage_.Accept(Item::Of(ops::Numbers(0, 3)));
  run(stage_, true);
  EXPECT_EQ(work_.slots->open(), 1);
  stage_.EndInput();
  later.Accept(Item::Of(ops::Numbers(5, 12)));
  run(later, false);  // Up to the end of the batch that was begun elsewhere, ...
  run(later, true);   // ... and then as always.
  EXPECT_EQ(work_.slots->open(), 0);
}

// No type says how large they are.
TEST_F(RowWiseStageTest, RowsAreWrittenWhereTheirBatchIsOnceSomeWereSeen) {
  plan_ = *PlanPass(AsWritten("%0 = range(stop=9)\n%1 = map(%0, function={x: "
                              "range(1024) + .value})"),
                    ops::DefaultLibrary(), {});
  work_.chains.clear();
  work_.chains.push_back(std::make_unique<Chain>(
      plan_, Stage{Stage::Kind::kRowWise, 1, 1}, ops::DefaultLibrary(),
      ChainLane{ops::SingleOperator::TestLane(), 0}, meters_));
  work_.slots.emplace(SlotShape{.batch_rows = 2, .row_bytes = {kSeenLater}},
                      core::HeapPool());
  stage_.Accept(Item::Of(ops::Numbers(0, 4)));
  Task unseen = MustClaim();
  EXPECT_EQ(unseen.places.at(0).size(), 0);
  Finish(std::move(unseen));
  Task seen = MustClaim();
  const core::Buffer place = seen.places.at(0);
  EXPECT_EQ(place.size(), 2 * 1024 * 8);
  Finish(std::move(seen));
  EXPECT_EQ(out_.items().back().block.columns()[0].values().data(), place.data());
}

// In any order a lane's place does not depend on the lanes before, nor theirs on it.
TEST_F(RowWiseStageTest, ALaneWithAPlaceOfItsOwnIsNotCounted) {
  work_.slots.emplace(SlotShape{.batch_rows = 4, .row_bytes = {8}}, core::HeapPool());
  RowWiseStage own(work_, {.position = 1000, .follows = false}, out_, {}, meters_);
  own.Accept(Item::Of(ops::Numbers(0, 3)));
  own.EndInput();
  EXPECT_EQ(work_.counted_lanes, 0);
  stage_.Accept(Item::Of(ops::Numbers(0, 3)));
  stage_.EndInput();
  EXPECT_EQ(work_.counted_lanes, 1);
  EXPECT_EQ(work_.counted_rows, 3);
}

}  // namespace
}  // namespace millrace::exec
