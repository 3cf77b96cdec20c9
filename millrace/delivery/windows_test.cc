#include "millrace/delivery/windows.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/service.h"
#include "millrace/base/hash.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows_test.h"

namespace millrace::delivery {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr int64_t kRoom = 1 << 20;

TEST(WindowsTest, AJobAloneHasNothingKept) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 1)});
  const RunId run = world.Start(1);
  world.Read(run, 3);
  EXPECT_EQ(world.windows().window_bytes(), 0);
  world.DropGiven();
  EXPECT_EQ(world.blocks(), 0);
  world.ReadAll(run);
  EXPECT_EQ(world.run(run).rows, 18);
  EXPECT_EQ(world.made_rows(), 18);
}

TEST(WindowsTest, JobsInLockStepCostOneProduction) {
  WindowWorld world(0);  // What both wait for needs no window.
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId one = world.Start(1);
  const RunId other = world.Start(2);
  for (int i = 0; i < 5; ++i) {
    world.Pull(one);
    world.Pull(other);
    world.MakeAll();
  }
  EXPECT_EQ(world.made_rows(), 18);
  EXPECT_EQ(world.run(one).next, 18);
  EXPECT_EQ(world.run(other).next, 18);
  EXPECT_EQ(world.VisitsOf(1).made, 18);
  EXPECT_EQ(world.VisitsOf(2).shared, 18);
}

TEST(WindowsTest, ASlowReaderGetsWhatTheWindowHas) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId fast = world.Start(1);
  const RunId slow = world.Start(2);
  world.Read(fast, 5);
  EXPECT_EQ(world.windows().window_bytes(), 18);
  EXPECT_EQ(world.VisitsOf(2).lag, 18);
  EXPECT_EQ(world.VisitsOf(1).lag, 0);
  world.Read(slow, 5);
  EXPECT_EQ(world.made_rows(), 18);
  EXPECT_EQ(world.VisitsOf(2).shared, 18);
  EXPECT_EQ(world.windows().window_bytes(), 0);  // All have had it.
}

TEST(WindowsTest, WhatHasFallenOutIsMadeAgainUntilTheWindowBegins) {
  WindowWorld world(8);  // Two blocks of five.
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId fast = world.Start(1);
  const RunId slow = world.Start(2);
  world.Read(fast, 4);
  EXPECT_EQ(world.windows().window_bytes(), 8);
  world.Read(slow, 5);
  EXPECT_EQ(world.run(slow).next, 18);
  EXPECT_EQ(world.VisitsOf(2).again, 8);
  EXPECT_EQ(world.VisitsOf(2).shared, 8);
  EXPECT_EQ(world.VisitsOf(2).made, 2);
  world.Read(fast, 1);
  EXPECT_EQ(world.run(fast).next, 18);
}

TEST(WindowsTest, WithoutAnyRoomEverybodyStillGetsEverything) {
  WindowWorld world(0);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId fast = world.Start(1);
  world.Read(fast, 5);
  const RunId late = world.Start(2);
  world.Read(late, 5);
  EXPECT_EQ(world.run(late).next, 18);
  EXPECT_EQ(world.VisitsOf(2).again, 18);
  EXPECT_EQ(world.VisitsOf(2).shared, 0);
}

TEST(WindowsTest, TwoThatAreLateMakeTheMissedRowsOnce) {
  WindowWorld world(8);
  world.SetJobs({SharedJob(1, 3), SharedJob(2, 3), SharedJob(3, 3)});
  world.Read(world.Start(1), 5);
  const RunId second = world.Start(2);
  const RunId third = world.Start(3);
  for (int i = 0; i < 5; ++i) {
    world.Pull(second);
    world.Pull(third);
    world.MakeAll();
  }
  EXPECT_EQ(world.run(third).next, 18);
  EXPECT_LE(world.made_rows(), 36);
}

TEST(WindowsTest, ARunThatNobodyWillComeToIsStopped) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId one = world.Start(1);
  world.Read(one, 2);
  EXPECT_EQ(world.running(), 1);
  world.Stop(one);
  EXPECT_EQ(world.running(), 0);
  EXPECT_EQ(world.windows().window_bytes(), 8);  // The other has not had it.
  const RunId other = world.Start(2);
  world.Read(other, 3);
  EXPECT_EQ(world.VisitsOf(2).shared, 8);
  EXPECT_EQ(world.made_rows(), 12);
}

TEST(WindowsTest, OneThatIsAheadMakesItsOwnAndIsMetThere) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId ahead = world.Start(2, 0, 8);
  world.Read(ahead, 3);
  const RunId behind = world.Start(1);
  world.Read(behind, 5);
  EXPECT_EQ(world.run(behind).next, 18);
  EXPECT_EQ(world.made_rows(), 18);
  EXPECT_EQ(world.VisitsOf(1).shared, 10);
}

TEST(WindowsTest, BatchesOfAnotherSizeAreCutAndJoined) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2, 4), SharedJob(2, 2, 6)});
  world.Read(world.Start(1), 5);
  const RunId six = world.Start(2);
  world.Read(six, 4);
  EXPECT_EQ(world.run(six).next, 18);
  EXPECT_EQ(world.made_rows(), 18);
  EXPECT_EQ(world.VisitsOf(2).joined, 18);
  // Digests are told where both have a boundary.
  EXPECT_EQ(world.run(six).given[0].digest_before, DigestAt(0, 0));
  EXPECT_EQ(world.run(six).given[0].digest, base::Hash128{});
  EXPECT_EQ(world.run(six).given[1].digest, DigestAt(0, 12));
}

TEST(WindowsTest, ATailForOneMayBeABatchForAnother) {
  WindowWorld world(kRoom, 10);
  world.SetJobs({SharedJob(1, 3, 4), SharedJob(2, 3, 2), SharedJob(3, 3, 10)});
  world.Read(world.Start(1), 3);  // Batches of 4, 4, and a tail of 2.
  const RunId pairs = world.Start(2);
  const RunId all = world.Start(3);
  world.Read(pairs, 5);
  world.Read(all, 1);
  EXPECT_FALSE(world.run(pairs).given.back().tail);
  EXPECT_FALSE(world.run(all).given.back().tail);
  EXPECT_EQ(world.made_rows(), 10);
}

TEST(WindowsTest, WhatIsDoneToBatchesIsSharedOnlyOnTheSameGrid) {
  const auto job = [](int64_t number) {
    api::WorkerJob job = SharedJob(number, 3, 0);
    job.grid = 4;
    return job;
  };
  WindowWorld world(kRoom);
  world.SetJobs({job(1), job(2), job(3)});
  world.Read(world.Start(1), 5);
  const RunId same = world.Start(2, 0, 4);
  world.Read(same, 4);
  EXPECT_EQ(world.made_rows(), 18);
  const RunId other = world.Start(3, 0, 2);
  world.Read(other, 4);
  EXPECT_EQ(world.run(other).next, 18);
  EXPECT_EQ(world.made_rows(), 18 + 16);
}

TEST(WindowsTest, RunsOfOneJobOnOtherGridsDoNotMix) {
  api::WorkerJob own = SharedJob(1, 1, 0);
  own.grid = 4;
  own.share = "";
  WindowWorld world(kRoom);
  world.SetJobs({own});
  const RunId one = world.Start(1);
  world.Read(one, 1);
  const RunId other = world.Start(1, 0, 2);
  world.Read(other, 4);  // The world looks at every batch.
  world.Read(one, 4);
  EXPECT_EQ(world.run(one).next, 18);
  EXPECT_EQ(world.run(other).next, 18);
}

TEST(WindowsTest, WhoSharesWithNobodyIsLeftAlone) {
  api::WorkerJob own = SharedJob(2, 1);
  own.share = "";
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), own});
  world.Read(world.Start(1), 5);
  world.Read(world.Start(2), 5);
  EXPECT_EQ(world.made_rows(), 36);
}

TEST(WindowsTest, ARunWaitsUntilItsJobIsKnown) {
  WindowWorld world(kRoom);
  const RunId early = world.Start(1);
  world.Pull(early);
  EXPECT_EQ(world.running(), 0);
  world.SetJobs({SharedJob(1, 2)});
  world.MakeAll();
  EXPECT_EQ(world.run(early).next, 4);
}

TEST(WindowsTest, TheOldestGoesFirstWhicheverLaneItIsOf) {
  WindowWorld world(12, 8);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId first = world.Start(1, 0);
  const RunId second = world.Start(1, 1);
  world.Read(first, 1);
  world.Read(second, 2);
  world.Read(first, 1);  // Pushes out the first of all.
  EXPECT_EQ(world.windows().window_bytes(), 12);
  world.Read(world.Start(2, 1), 2);
  EXPECT_EQ(world.made_rows(), 16);
  world.Read(world.Start(2, 0), 1);
  EXPECT_EQ(world.made_rows(), 20);
}

TEST(WindowsTest, NothingIsKeptForAJobThatIsGone) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId run = world.Start(1);
  world.Read(run, 2);
  EXPECT_EQ(world.windows().window_bytes(), 8);
  world.SetJobs({SharedJob(1, 1)});
  EXPECT_EQ(world.windows().window_bytes(), 0);
  world.Stop(run);
  world.SetJobs({});
  world.DropGiven();
  EXPECT_EQ(world.blocks(), 0);
}

TEST(WindowsTest, WhatOneOfItsReadersNeedsIsNeeded) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId one = world.Start(1);
  const RunId other = world.Start(2);
  world.Pull(one, /*needed=*/false);
  EXPECT_EQ(world.needed_and_ahead(), std::pair(0, 1));
  world.Pull(other, /*needed=*/false);
  EXPECT_EQ(world.needed_and_ahead(), std::pair(0, 1));
  world.Hurry(other);
  world.Hurry(one);
  EXPECT_EQ(world.needed_and_ahead(), std::pair(1, 0));
}

TEST(WindowsTest, AFailureIsToldToAllThatWaitForIt) {
  WindowWorld world(kRoom);
  world.SetJobs({SharedJob(1, 2), SharedJob(2, 2)});
  const RunId one = world.Start(1);
  const RunId other = world.Start(2);
  world.Pull(one);
  world.Pull(other);
  EXPECT_TRUE(world.FailOne());
  EXPECT_TRUE(absl::IsInternal(world.run(one).failed));
  EXPECT_TRUE(absl::IsInternal(world.run(other).failed));
  const RunId again = world.Start(1);
  world.Read(again, 5);
  EXPECT_EQ(world.run(again).next, 18);
}

TEST(WindowsTest, AtMostOnceSkipsWhatHasFallenOut) {
  std::vector<api::WorkerJob> jobs = {SharedJob(1, 2), SharedJob(2, 2)};
  jobs[1].skips = true;
  WindowWorld world(8);
  world.SetJobs(jobs);
  const RunId fast = world.Start(1);
  const RunId slow = world.Start(2);
  world.Pull(fast);
  world.Pull(slow);
  world.MakeAll();
  world.Read(fast, 3);  // The window has rows 8 to 15.
  world.Read(slow, 3);
  EXPECT_THAT(world.run(slow).skipped, ElementsAre(Pair(4, 8)));
  EXPECT_EQ(world.run(slow).next, 18);
  EXPECT_EQ(world.VisitsOf(2).skipped, 4);
  EXPECT_EQ(world.VisitsOf(2).again, 0);
}

TEST(WindowsTest, WhatAReaderBeginsWithIsNotSkipped) {
  std::vector<api::WorkerJob> jobs = {SharedJob(1, 2), SharedJob(2, 2)};
  jobs[1].skips = true;
  WindowWorld world(0);
  world.SetJobs(jobs);
  world.Read(world.Start(1), 5);
  const RunId late = world.Start(2);
  world.Read(late, 1);
  EXPECT_THAT(world.run(late).skipped, IsEmpty());
  EXPECT_EQ(world.run(late).next, 4);
}

TEST(WindowsTest, AFastReaderIsHeldBackUpToTheLimit) {
  std::vector<api::WorkerJob> jobs = {SharedJob(1, 2), SharedJob(2, 2)};
  for (api::WorkerJob& job : jobs) job.hold_ms = 1000;
  WindowWorld world(8);
  world.SetJobs(jobs);
  world.Advance(absl::UnixEpoch());
  const RunId fast = world.Start(1);
  const RunId slow = world.Start(2);
  world.Read(fast, 2);
  world.Read(fast, 1);
  EXPECT_EQ(world.run(fast).next, 8);  // Another would push out what the slow needs.
  EXPECT_EQ(world.windows().wakes(), absl::UnixEpoch() + absl::Seconds(1));
  world.Read(slow, 1);  // Both have had the first: there is room.
  world.MakeAll();
  EXPECT_EQ(world.run(fast).next, 12);
  world.Read(fast, 1);
  EXPECT_EQ(world.run(fast).next, 12);
  world.Advance(absl::UnixEpoch() + absl::Seconds(2));
  world.MakeAll();
  EXPECT_EQ(world.run(fast).next, 16);
  EXPECT_EQ(world.windows().wakes(), absl::InfiniteFuture());
  world.Read(slow, 4);
  EXPECT_EQ(world.run(slow).next, 18);
}

}  // namespace
}  // namespace millrace::delivery
