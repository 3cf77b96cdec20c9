#include "millrace/delivery/assigned_lanes.h"

#include <cstdint>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/delivery/lane_server.h"

namespace millrace::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

api::AssignedLane Lane(int64_t lane, int64_t from = 0) {
  return {.job = 1, .incarnation = 1, .at = {0, lane}, .from = from, .now = true};
}

// The lanes whose runs the server starts, and how many it stops.
std::vector<int64_t> Started(LaneServer& server, int* stopped = nullptr) {
  std::vector<int64_t> lanes;
  for (const ServerAction& action : server.TakeActions()) {
    if (const auto* start = std::get_if<StartRun>(&action)) {
      lanes.push_back(start->lane.at.lane);
    }
    if (stopped != nullptr && std::holds_alternative<StopRun>(action)) ++*stopped;
  }
  return lanes;
}

TEST(AssignedLanesTest, WhatIsNewIsRun) {
  LaneServer server({});
  AssignedLanes assigned;
  assigned.Take({Lane(3), Lane(5)}, server);
  EXPECT_EQ(assigned.size(), 2);
  EXPECT_THAT(Started(server), ElementsAre(3, 5));
  assigned.Take({Lane(3), Lane(5), Lane(4)}, server);
  EXPECT_THAT(Started(server), ElementsAre(4));
}

TEST(AssignedLanesTest, WhatIsGoneIsLetGo) {
  LaneServer server({});
  AssignedLanes assigned;
  assigned.Take({Lane(3), Lane(5)}, server);
  Started(server);
  int stopped = 0;
  assigned.Take({Lane(5)}, server);
  EXPECT_THAT(Started(server, &stopped), IsEmpty());
  EXPECT_EQ(stopped, 1);
  EXPECT_EQ(server.runs(), 1);
  assigned.Take({}, server);
  EXPECT_EQ(server.runs(), 0);
  EXPECT_EQ(assigned.size(), 0);
}

TEST(AssignedLanesTest, WhatComesBackIsRunAgain) {
  LaneServer server({});
  AssignedLanes assigned;
  assigned.Take({Lane(3)}, server);
  assigned.Take({}, server);
  Started(server);
  assigned.Take({Lane(3, 8)}, server);
  const std::vector<ServerAction> actions = server.TakeActions();
  ASSERT_FALSE(actions.empty());
  const auto* start = std::get_if<StartRun>(&actions[0]);
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->from, 8);
}

}  // namespace
}  // namespace millrace::delivery
