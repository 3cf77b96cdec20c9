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

TEST(PlacingTest, WhatIsWaitedForIsRunOnTheReadersHostWhileThereIsRoom) {
  Candidate local = Worker(2, 3);
  local.facts.host = "near";
  const LaneWish waited{.hosts = {"near"}, .host = "near", .now = true};
  EXPECT_EQ(Choose({Worker(1), local}, waited), 2);
  local.lanes = 4;
  EXPECT_EQ(Choose({Worker(1), local}, waited), 1);
}

TEST(PlacingTest, AmongEqualsTheOneOnAReadersHostIsPreferred) {
  Candidate local = Worker(2, 1);
  local.facts.host = "near";
  const LaneWish wish{.hosts = {"far away", "near"}, .now = true};
  EXPECT_EQ(Choose({Worker(1, 1), local}, wish), 2);
  EXPECT_EQ(Choose({Worker(1, 0), local}, wish), 1) << "it has less to do";
}

TEST(PlacingTest, AWorkerWithoutAHostIsNowhereNear) {
  Candidate worker = Worker(1);
  worker.facts.host = "";
  const LaneWish wish{.hosts = {""}, .now = true};
  EXPECT_EQ(ChooseWorker({worker}, {.target = "local"}, {}, wish), std::nullopt);
  EXPECT_EQ(ChooseWorker({worker}, {.target = "remote"}, {}, wish), 1);
}

TEST(PlacingTest, SaysWhichWorkersAreWanted) {
  EXPECT_EQ(WantedWorker({}, {}), "a worker");
  EXPECT_EQ(WantedWorker({.target = "local", .tags = {"gpu", "big"}}, {}),
            "a worker with the tag gpu and big on its consumer's host");
  EXPECT_EQ(WantedWorker({.sharding = "static", .target = "remote"}, {.python = true}),
            "a worker of the lane's index that may run Python functions on another "
            "host than its consumer's");
  EXPECT_EQ(WantedWorker({.open_lanes = 4}, {.lane_bytes = 1 << 20}),
            "a worker with 4 MiB of memory");
}

TEST(PlacingTest, ATargetIsKept) {
  Candidate local = Worker(2);
  local.facts.host = "near";
  const std::vector<Candidate> both = {Worker(1), local};
  const LaneWish wish{.hosts = {"near"}, .now = true};
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

TEST(PlacingTest, WhoIsSlowComesLast) {
  Candidate slow = Worker(1);
  slow.slow = true;
  slow.facts.host = "near";
  EXPECT_EQ(Choose({slow, Worker(2, 3)}, {.host = "near", .now = true}), 2);
  EXPECT_EQ(Choose({slow}), 1) << "there is no other";
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

TEST(PlacingTest, AWorkerHoldsAllOpenLanesOfAJob) {
  Candidate worker = Worker(1);
  worker.facts.memory_bytes = 400;
  EXPECT_TRUE(MayRun(worker.facts, {.open_lanes = 4}, {.lane_bytes = 100}, 0));
  EXPECT_FALSE(MayRun(worker.facts, {.open_lanes = 5}, {.lane_bytes = 100}, 0));
  EXPECT_FALSE(MayRun(worker.facts, {}, {.lane_bytes = 100}, 0)) << "16 are open";
  EXPECT_TRUE(MayRun(worker.facts, {.order = "any"}, {.lane_bytes = 400}, 0));
  EXPECT_FALSE(MayRun(worker.facts, {.order = "any"}, {.lane_bytes = 401}, 0));
  EXPECT_TRUE(MayRun(worker.facts, {}, {}, 0)) << "nobody knows what lanes take";
  worker.facts.memory_bytes = 0;
  EXPECT_TRUE(MayRun(worker.facts, {}, {.lane_bytes = 100}, 0))
      << "nobody knows what it has";
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
