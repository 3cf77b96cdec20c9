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

constexpr bool kInOrder = true;

TEST(ProgressTest, AtFirstAllIsLeft) {
  const std::vector<LaneRange> lanes = {{.lane = 4, .begin = 2, .end = 10},
                                        {.lane = 5, .begin = 0, .end = 10}};
  EXPECT_EQ(Progress(lanes).LeftAfter({}, kInOrder), lanes);
}

TEST(ProgressTest, TakingMovesALanesCursor) {
  Progress progress({{.lane = 4, .begin = 2, .end = 10}});
  progress.Begin(0, {});
  EXPECT_THAT(progress.LeftAfter({3}, kInOrder),
              ElementsAre(LaneRange{.lane = 4, .begin = 5, .end = 10}));
}

TEST(ProgressTest, ABatchMayHoldRowsOfSeveralLanes) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10},
                     {.lane = 1, .begin = 0, .end = 10},
                     {.lane = 2, .begin = 0, .end = 10}});
  progress.Begin(0, {});
  progress.End(0, {{0, 10}});
  progress.Begin(1, {{0, 2}});
  EXPECT_THAT(progress.LeftAfter({8, 1}, kInOrder),
              ElementsAre(LaneRange{.lane = 0, .begin = 9, .end = 10},
                          LaneRange{.lane = 1, .begin = 0, .end = 10},
                          LaneRange{.lane = 2, .begin = 0, .end = 10}));
  EXPECT_THAT(progress.LeftAfter({8, 4}, kInOrder),
              ElementsAre(LaneRange{.lane = 1, .begin = 2, .end = 10},
                          LaneRange{.lane = 2, .begin = 0, .end = 10}));
}

TEST(ProgressTest, TheLastLaneJoinsWhatOthersLeft) {
  Progress progress(
      {{.lane = 0, .begin = 0, .end = 5}, {.lane = 1, .begin = 0, .end = 5}});
  progress.Begin(0, {});
  progress.Begin(1, {});
  progress.End(0, {{0, 5}});
  progress.End(1, {{1, 5}, {0, 1}});
  EXPECT_THAT(progress.LeftAfter({4, 4}, !kInOrder),
              ElementsAre(LaneRange{.lane = 0, .begin = 4, .end = 5},
                          LaneRange{.lane = 1, .begin = 4, .end = 5}));
  EXPECT_THAT(progress.LeftAfter({4, 6}, !kInOrder), IsEmpty());
}

TEST(ProgressTest, ALaneTakenWholeIsNotLeft) {
  Progress progress({{.lane = 0, .begin = 0, .end = 10}});
  progress.Begin(0, {});
  EXPECT_THAT(progress.LeftAfter({10}, kInOrder), IsEmpty());
}

TEST(ProgressTest, LanesThatGaveNoRowsAreFinishedWithTheOneBefore) {
  const auto unknown = [](int64_t lane) {
    return LaneRange{.lane = lane, .begin = 0, .end = lanes::kRowsMax};
  };
  Progress progress({unknown(0), unknown(1), unknown(2)});
  progress.Begin(0, {});
  progress.End(0, {{0, 5}});
  progress.Begin(1, {});
  progress.End(1, {{1, 0}});
  EXPECT_THAT(progress.LeftAfter({5}, kInOrder), ElementsAre(unknown(2)));
  EXPECT_THAT(progress.LeftAfter({4}, kInOrder), testing::SizeIs(3));
  EXPECT_THAT(progress.LeftAfter({4}, !kInOrder), testing::SizeIs(2));
}

TEST(ProgressTest, RestsOfStreams) {
  const Stream stream = {{3, 2}, {4, 10}, {5, 1}};
  EXPECT_EQ(RestOf(stream, 0), stream);
  EXPECT_EQ(RestOf(stream, 5), (Stream{{4, 7}, {5, 1}}));
  EXPECT_EQ(RestOf(stream, 13), Stream());
}

}  // namespace
}  // namespace millrace::exec
