#include "millrace/exec/progress.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"

namespace millrace::exec {
namespace {

using lanes::LaneRange;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProgressTest, AtFirstAllIsLeft) {
  const std::vector<LaneRange> lanes = {{.lane = 4, .begin = 2, .end = 10},
                                        {.lane = 5, .begin = 0, .end = 10}};
  EXPECT_EQ(Progress(lanes).LeftAfter(0), lanes);
}

TEST(ProgressTest, TakingMovesTheFirstLanesCursor) {
  Progress progress({{.lane = 4, .begin = 2, .end = 10}});
  EXPECT_THAT(progress.LeftAfter(3),
              ElementsAre(LaneRange{.lane = 4, .begin = 5, .end = 10}));
}

TEST(ProgressTest, ABatchMayEndInsideALaterLane) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10},
                     {.lane = 1, .begin = 0, .end = 10},
                     {.lane = 2, .begin = 0, .end = 10}});
  progress.EndLane(10);
  progress.EndLane(10);
  EXPECT_THAT(progress.LeftAfter(12),
              ElementsAre(LaneRange{.lane = 1, .begin = 2, .end = 10},
                          LaneRange{.lane = 2, .begin = 0, .end = 10}));
}

TEST(ProgressTest, ALaneTakenWholeIsNotLeft) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10}});
  EXPECT_THAT(progress.LeftAfter(10), IsEmpty());
}

TEST(ProgressTest, LanesThatGaveNoRowsAreFinishedWithTheOneBefore) {
  const auto unknown = [](int64_t lane) {
    return LaneRange{.lane = lane, .begin = 0, .end = lanes::kRowsMax};
  };
  Progress progress({unknown(0), unknown(1), unknown(2)});
  progress.EndLane(5);
  progress.EndLane(0);
  EXPECT_THAT(progress.LeftAfter(5), ElementsAre(unknown(2)));
}

}  // namespace
}  // namespace millrace::exec
