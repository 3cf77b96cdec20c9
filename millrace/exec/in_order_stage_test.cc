#include "millrace/exec/in_order_stage.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/collected_items_test.h"
#include "millrace/exec/memory.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/library.h"
#include "millrace/ops/single_operator_test.h"

namespace millrace::exec {
namespace {

using ::testing::ElementsAre;

// Batches of 4, joining lanes, of which this is the one of turn 7.
class InOrderStageTest : public ::testing::Test, public Joiner {
 protected:
  bool MayEnd() const override { return may_end_; }

  Ending End() override { return std::move(ending_); }

  void Ended(int64_t /*turn*/, Stream stream, Carry left) override {
    stream_ = std::move(stream);
    left_ = std::move(left);
  }

  std::unique_ptr<InOrderStage> MakeStage(bool ends_pass) {
    ending_.ends_pass = ends_pass;
    return std::make_unique<InOrderStage>(
        std::make_unique<Chain>(plan_, Stage{Stage::Kind::kInOrder, 1, 1},
                                ops::DefaultLibrary(),
                                ChainLane{ops::SingleOperator::TestLane(), 0}, meters_),
        this, 7, out_, QueueLimits{});
  }

  std::unique_ptr<InOrderStage> MakeTake();

  void RunAll(InOrderStage& stage) {
    for (Task task; stage.Claim(memory_, true, task); task = {}) {
      stage.Run(task, 0);
      stage.Complete(std::move(task));
    }
  }

  PassPlan plan_ = *PlanPass(AsWritten("%0 = range(stop=9)\n%1 = batch(%0, size=4)"),
                             ops::DefaultLibrary(), {});
  base::ManualClock clock_;
  Meters meters_{2, clock_};
  Memory memory_{core::HeapPool(), int64_t{1} << 40};
  CollectedItems out_;
  bool may_end_ = true;
  Ending ending_;
  Stream stream_;
  std::optional<Carry> left_;
};

TEST_F(InOrderStageTest, WaitsForWhatTheLaneBeforeLeft) {
  const auto stage = MakeStage(false);
  stage->Accept(Item::Of(ops::Numbers(2, 10)));
  Task task;
  EXPECT_FALSE(stage->Claim(memory_, true, task));
  stage->SetCarry({.tails = {{{0, ops::Numbers(0, 2)}}}, .rows = {{6, 2}}});
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(out_.items()[0].position, 4);
  EXPECT_EQ(out_.items()[1].position, 8);
}

TEST_F(InOrderStageTest, AnEndThatWaitsForDisksComesWhereDisksAreWaitedFor) {
  const auto stage = MakeStage(true);
  stage->SetWaits();
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 5)));
  EXPECT_TRUE(stage->HasWork());
  EXPECT_FALSE(stage->HasFetch());
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3));
  stage->EndInput();
  Task task;
  EXPECT_FALSE(stage->HasWork());
  EXPECT_FALSE(stage->Claim(memory_, true, task));
  ASSERT_TRUE(stage->ClaimFetch(memory_, true, task));
  EXPECT_FALSE(stage->HasFetch()) << "one at a time";
  stage->Run(task, 0);
  stage->Complete(std::move(task));
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(out_.ended());
}

TEST_F(InOrderStageTest, HandsOnWhatItLeaves) {
  const auto stage = MakeStage(false);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->EndInput();
  RunAll(*stage);
  ASSERT_TRUE(left_.has_value());
  EXPECT_EQ(left_->tails[0].at(0).rows(), 2);
  EXPECT_EQ(left_->rows, (Stream{{7, 2}}));
  EXPECT_EQ(stream_, (Stream{{7, 6}}));
  EXPECT_TRUE(out_.ended());
}

TEST_F(InOrderStageTest, TheLastLaneEndsThePass) {
  const auto stage = MakeStage(true);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->EndInput();
  RunAll(*stage);
  EXPECT_TRUE(left_->tails[0].empty());
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(out_.items().back().position, 6);
}

TEST_F(InOrderStageTest, TheLastLaneJoinsWhatOthersLeft) {
  const auto stage = MakeStage(true);
  may_end_ = false;
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->EndInput();
  RunAll(*stage);
  EXPECT_FALSE(out_.ended());  // Another one ends just now, and leaves this:
  ending_.carry = {.tails = {{{0, ops::Numbers(60, 63)}}}, .rows = {{2, 3}}};
  may_end_ = true;
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5, 60, 61, 62));
  EXPECT_EQ(stream_, (Stream{{7, 6}, {2, 3}}));
  EXPECT_TRUE(out_.ended());
}

// Of a take of 5 rows, which joins no lanes.
std::unique_ptr<InOrderStage> InOrderStageTest::MakeTake() {
  plan_ = *PlanPass(AsWritten("%0 = range(stop=9)\n%1 = take(%0, count=5)"),
                    ops::DefaultLibrary(), {});
  return std::make_unique<InOrderStage>(
      std::make_unique<Chain>(plan_, Stage{Stage::Kind::kInOrder, 1, 1},
                              ops::DefaultLibrary(),
                              ChainLane{ops::SingleOperator::TestLane(), 0}, meters_),
      nullptr, 7, out_, QueueLimits{});
}

TEST_F(InOrderStageTest, EndsBeforeItsInputWhereNothingMoreIsWanted) {
  const auto stage = MakeTake();
  stage->Accept(Item::Of(ops::Numbers(0, 3)));
  RunAll(*stage);
  EXPECT_TRUE(stage->HasRoom());
  EXPECT_FALSE(out_.ended());
  stage->Accept(Item::Of(ops::Numbers(3, 9)));
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(out_.ended());
  EXPECT_FALSE(stage->HasRoom());  // Nobody need make more.
  EXPECT_FALSE(stage->HasWork());
}

TEST_F(InOrderStageTest, WhatComesBehindTheEndIsDropped) {
  const auto stage = MakeTake();
  stage->Accept(Item::Of(ops::Numbers(0, 5)));
  stage->Accept(Item::Error(absl::DataLossError("nobody's row")));
  RunAll(*stage);
  stage->Accept(Item::Error(absl::DataLossError("nobody's either")));
  stage->EndInput();
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(out_.ended());
  for (const Item& item : out_.items()) EXPECT_TRUE(item.status.ok());
}

TEST_F(InOrderStageTest, OneThreadAtATime) {
  const auto stage = MakeStage(false);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  Task task;
  ASSERT_TRUE(stage->Claim(memory_, true, task));
  stage->Accept(Item::Of(ops::Numbers(6, 8)));
  Task other;
  EXPECT_FALSE(stage->Claim(memory_, true, other));
  stage->Run(task, 0);
  stage->Complete(std::move(task));
  EXPECT_TRUE(stage->Claim(memory_, true, other));
}

TEST_F(InOrderStageTest, AnErrorEndsTheLane) {
  const auto stage = MakeStage(false);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->Accept(Item::Error(absl::DataLossError("torn")));
  stage->Accept(Item::Of(ops::Numbers(6, 20)));
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(out_.items().back().status, absl::DataLossError("torn"));
  stage->Accept(Item::Of(ops::Numbers(20, 30)));
  Task task;
  EXPECT_FALSE(stage->Claim(memory_, true, task));
}

}  // namespace
}  // namespace millrace::exec
