#include "millrace/control/placing.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "millrace/api/service.h"

namespace millrace::control {
namespace {

// A worker with room for four lanes, that has been given some.
Candidate Worker(int64_t number, int64_t lanes = 0) {
  Candidate worker{.lanes = lanes};
  worker.facts = {.worker = number, .host = "far", .lanes_max = 4};
  return worker;
}

// Chooses for plain settings, and a lane that is needed now.
std::optional<int64_t> Choose(const std::vector<Candidate>& workers,
                              const LaneWish& wish = {.now = true}) {
  return ChooseWorker(workers, {}, {}, wish);
}

TEST(PlacingTest, NobodyIsNone) { EXPECT_EQ(Choose({}), std::nullopt); }

TEST(PlacingTest, TheOneWithTheLeastToDoGetsTheLane) {
  EXPECT_EQ(Choose({Worker(1, 3), Worker(2, 1), Worker(3, 2)}), 2);
}

TEST(PlacingTest, WorkIsCountedAgainstWhatAWorkerCanDo) {
  Candidate large = Worker(1, 4);
  large.facts.lanes_max = 16;
  EXPECT_EQ(Choose({large, Worker(2, 2)}), 1);
}

TEST(PlacingTest, AmongEqualsTheChoiceIsAlwaysTheSame) {
  EXPECT_EQ(Choose({Worker(2), Worker(1)}), 1);
  EXPECT_EQ(Choose({Worker(1), Worker(2)}), 1);
}

TEST(PlacingTest, AFullWorkerGetsOnlyWhatIsNeededNow) {
  EXPECT_EQ(Choose({Worker(1, 4)}, {.now = false}), std::nullopt);
  EXPECT_EQ(Choose({Worker(1, 4)}, {.now = true}), 1);
  EXPECT_EQ(Choose({Worker(1, 4), Worker(2, 3)}, {.now = true}), 2);
}

TEST(PlacingTest, TheReadersOwnHostComesFirstWhileItHasRoom) {
  Candidate local = Worker(2, 3);
  local.facts.host = "near";
  EXPECT_EQ(Choose({Worker(1), local}, {.host = "near", .now = true}), 2);
  local.lanes = 4;
  EXPECT_EQ(Choose({Worker(1), local}, {.host = "near", .now = true}), 1);
}

TEST(PlacingTest, ATargetIsKept) {
  Candidate local = Worker(2);
  local.facts.host = "near";
  const std::vector<Candidate> both = {Worker(1), local};
  const LaneWish wish{.host = "near", .now = true};
  EXPECT_EQ(ChooseWorker(both, {.target = "local"}, {}, wish), 2);
  EXPECT_EQ(ChooseWorker(both, {.target = "remote"}, {}, wish), 1);
  EXPECT_EQ(ChooseWorker({Worker(1)}, {.target = "local"}, {}, wish), std::nullopt);
  EXPECT_EQ(ChooseWorker({local}, {.target = "remote"}, {}, wish), std::nullopt);
}

TEST(PlacingTest, WhoLeavesOrIsAvoidedGetsNothing) {
  Candidate leaving = Worker(1);
  leaving.draining = true;
  EXPECT_EQ(Choose({leaving}), std::nullopt);
  EXPECT_EQ(Choose({Worker(1), Worker(2)}, {.avoid = {1}, .now = true}), 2);
}

TEST(PlacingTest, AWorkerMustHaveAllTags) {
  Candidate worker = Worker(1);
  worker.facts.tags = {"gpu", "fast"};
  EXPECT_TRUE(MayRun(worker.facts, {.tags = {"fast"}}, {}, 0));
  EXPECT_TRUE(MayRun(worker.facts, {.tags = {"fast", "gpu"}}, {}, 0));
  EXPECT_FALSE(MayRun(worker.facts, {.tags = {"fast", "big"}}, {}, 0));
  EXPECT_EQ(ChooseWorker({worker}, {.tags = {"big"}}, {}, {.now = true}), std::nullopt);
}

TEST(PlacingTest, PythonNeedsPermission) {
  Candidate worker = Worker(1);
  EXPECT_FALSE(MayRun(worker.facts, {}, {.python = true}, 0));
  worker.facts.python = true;
  EXPECT_TRUE(MayRun(worker.facts, {}, {.python = true}, 0));
}

TEST(PlacingTest, StaticShardingGivesALaneToTheWorkerOfItsNumber) {
  std::vector<Candidate> workers = {Worker(1), Worker(2)};
  for (int64_t i = 0; i < 2; ++i) {
    workers[i].facts.index = i;
    workers[i].facts.of = 3;
  }
  const api::JobSettings settings{.sharding = "static"};
  EXPECT_EQ(ChooseWorker(workers, settings, {}, {.lane = 3, .now = true}), 1);
  EXPECT_EQ(ChooseWorker(workers, settings, {}, {.lane = 4, .now = true}), 2);
  EXPECT_EQ(ChooseWorker(workers, settings, {}, {.lane = 5, .now = true}), std::nullopt)
      << "it waits for the third worker";
  EXPECT_EQ(ChooseWorker({Worker(9)}, settings, {}, {.now = true}), std::nullopt)
      << "a worker without an index runs none of these";
}

}  // namespace
}  // namespace millrace::control
