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
  EXPECT_EQ(Progress(lanes).Left(), lanes);
}

TEST(ProgressTest, TakingMovesTheFirstLanesCursor) {
  Progress progress({{.lane = 4, .begin = 2, .end = 10}});
  progress.Take(3);
  EXPECT_THAT(progress.Left(),
              ElementsAre(LaneRange{.lane = 4, .begin = 5, .end = 10}));
}

TEST(ProgressTest, ABatchMayEndInsideALaterLane) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10},
                     {.lane = 1, .begin = 0, .end = 10},
                     {.lane = 2, .begin = 0, .end = 10}});
  progress.EndLane(10);
  progress.EndLane(10);
  progress.Take(12);
  EXPECT_THAT(progress.Left(),
              ElementsAre(LaneRange{.lane = 1, .begin = 2, .end = 10},
                          LaneRange{.lane = 2, .begin = 0, .end = 10}));
}

TEST(ProgressTest, ALaneTakenWholeIsNotLeft) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10}});
  progress.Take(10);  // Before anybody said that the lane had ended.
  EXPECT_THAT(progress.Left(), IsEmpty());
}

TEST(ProgressTest, LanesThatGaveNoRowsAreFinishedWithTheOneBefore) {
  const auto unknown = [](int64_t lane) {
    return LaneRange{.lane = lane, .begin = 0, .end = lanes::kRowsMax};
  };
  Progress progress({unknown(0), unknown(1), unknown(2)});
  progress.EndLane(5);
  progress.EndLane(0);
  progress.Take(5);
  EXPECT_THAT(progress.Left(), ElementsAre(unknown(2)));
}

TEST(ProgressTest, AfterTheEndNothingIsLeftAlsoWhereRowsWereDropped) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10}});
  progress.Take(8);
  progress.EndLane(10);
  progress.Finish();
  EXPECT_THAT(progress.Left(), IsEmpty());
}

}  // namespace
}  // namespace millrace::exec
