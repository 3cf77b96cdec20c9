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

// Batches of 4, joining lanes.
class InOrderStageTest : public ::testing::Test {
 protected:
  std::unique_ptr<InOrderStage> MakeStage(bool ends_pass) {
    return std::make_unique<InOrderStage>(
        std::make_unique<Chain>(plan_, Stage{Stage::Kind::kInOrder, 1, 1},
                                ops::DefaultLibrary(),
                                ChainLane{ops::SingleOperator::TestLane(), 0}, meters_),
        [this](Carry carry, int64_t rows) {
          carry_ = std::move(carry);
          rows_ = rows;
        },
        ends_pass, out_, QueueLimits{});
  }

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
  std::optional<Carry> carry_;
  int64_t rows_ = 0;
};

TEST_F(InOrderStageTest, WaitsForWhatTheLaneBeforeLeft) {
  const auto stage = MakeStage(false);
  stage->Accept(Item::Of(ops::Numbers(2, 10)));
  Task task;
  EXPECT_FALSE(stage->Claim(memory_, true, task));
  stage->SetCarry({.tails = {{0, ops::Numbers(0, 2)}}, .position = 40});
  RunAll(*stage);
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(out_.items()[0].position, 44);
  EXPECT_EQ(out_.items()[1].position, 48);
}

TEST_F(InOrderStageTest, HandsOnWhatItLeaves) {
  const auto stage = MakeStage(false);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->EndInput();
  RunAll(*stage);
  ASSERT_TRUE(carry_.has_value());
  EXPECT_EQ(carry_->tails.at(0).rows(), 2);
  EXPECT_EQ(carry_->position, 4);
  EXPECT_EQ(rows_, 6);
  EXPECT_TRUE(out_.ended());
}

TEST_F(InOrderStageTest, TheLastLaneEndsThePass) {
  const auto stage = MakeStage(true);
  stage->SetCarry({});
  stage->Accept(Item::Of(ops::Numbers(0, 6)));
  stage->EndInput();
  RunAll(*stage);
  EXPECT_TRUE(carry_->tails.empty());
  EXPECT_THAT(out_.values(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(out_.items().back().position, 6);
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
