#include "millrace/delivery/lane_server.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/text.h"
#include "millrace/delivery/digests_test.h"
#include "millrace/delivery/lane_server_test.h"

namespace millrace::delivery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- Lanes that give runs ---

// Two batches, then three rows of the first bucket and two of the second.
void MakeRuns(LaneServer& server) {
  Make(server, 0, 0, 1);
  Make(server, 0, 1, 2);
  Made tail{.begin = 2, .end = 7, .tail = true, .bytes = 5};
  tail.token = MakeId<Token>(2);
  tail.tails = {3, 2};
  server.OnMade(MakeId<RunId>(0), tail);
}

TEST(LaneServerTest, WhatFillsNoRunIsToldWithTheEnd) {
  LaneServer server = Running();
  Want(server, 0, 0, 1);
  Want(server, 0, 5, 7);
  MakeRuns(server);
  const std::vector<LaneNews> news = server.TakeNews();
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_TRUE(news[0].ended);
  EXPECT_THAT(news[0].tails, ElementsAre(3, 2));
  EXPECT_THAT(server.AllNews().at(0).tails, ElementsAre(3, 2));
  EXPECT_THAT(Actions(server), Contains("send 0 rows 5 to 7 of lane 5"));
}

TEST(LaneServerTest, WhoWantsAPartOfATailIsToldFirstWhereTheLaneEnds) {
  LaneServer server = Running();
  Want(server, 0, 2, 3);
  Want(server, 0, 3, 4);
  MakeRuns(server);
  EXPECT_THAT(Actions(server), testing::IsSupersetOf({"tell 0 that lane 5 has 7",
                                                      "send 0 rows 2 to 3 of lane 5",
                                                      "send 0 rows 3 to 4 of lane 5"}));
}

// --- Making ---

TEST(LaneServerTest, AnAssignedLaneIsMadeOneBlockAfterAnother) {
  LaneServer server({});
  server.Assign(LaneOf(5), {});
  EXPECT_THAT(Actions(server), ElementsAre("start run 0 of lane 5 at 0", "pull run 0"));
  EXPECT_EQ(server.runs(), 1);
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 0"));
}

TEST(LaneServerTest, ALaneIsMadeFromTheFirstRowThatIsNeeded) {
  LaneServer server({});
  server.Assign(LaneOf(5), {.from = 8});
  EXPECT_THAT(Actions(server), ElementsAre("start run 0 of lane 5 at 8", "pull run 0"));
}

TEST(LaneServerTest, BeingToldAgainChangesNothing) {
  LaneServer server = Running();
  server.Assign(LaneOf(5), {});
  EXPECT_THAT(Actions(server), IsEmpty());
}

TEST(LaneServerTest, AFullBufferStopsMaking) {
  LaneServer server = Running({.buffer_bytes = 8});
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 0"));
  Make(server, 0, 4, 8);
  EXPECT_THAT(Actions(server), IsEmpty());
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 4 of lane 5",
                                           "drop block 0", "pull run 0"));
}

TEST(LaneServerTest, OnlySoManyLanesAreMadeAtOnce) {
  LaneServer server({.runs_max = 2});
  for (int64_t lane = 0; lane < 3; ++lane) server.Assign(LaneOf(lane), {});
  EXPECT_EQ(server.runs(), 2);
  server.TakeActions();
  server.OnEnded(MakeId<RunId>(0), 0);
  EXPECT_THAT(Actions(server), ElementsAre("start run 2 of lane 2 at 0", "pull run 2"));
}

TEST(LaneServerTest, RoomIsMadeForWhatIsNeededNow) {
  LaneServer server({.runs_max = 2});
  for (int64_t lane = 0; lane < 2; ++lane) server.Assign(LaneOf(lane), {});
  server.TakeActions();
  server.Assign(LaneOf(2), {.now = true});
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 1", "start run 2 of lane 2 at 0", "pull run 2"))
      << "the last of those that nobody needs yet has to wait";
  server.Assign(LaneOf(3), {.now = true});
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 0", "start run 3 of lane 3 at 0", "pull run 3"));
  server.Assign(LaneOf(4), {.now = true});
  EXPECT_THAT(Actions(server), IsEmpty()) << "all are needed now";
}

TEST(LaneServerTest, EveryJobHasALaneAtWorkWhateverOthersNeed) {
  LaneServer server({.runs_max = 2});
  for (int64_t lane = 0; lane < 3; ++lane) server.Assign(LaneOf(lane), {.now = true});
  server.TakeActions();
  JobLane other = LaneOf(0);
  ++other.job;
  for (; other.at.lane < 2; ++other.at.lane) server.Assign(other, {.now = true});
  EXPECT_THAT(Actions(server), ElementsAre("start run 2 of lane 0 at 0", "pull run 2"));
}

TEST(LaneServerTest, WhatSomebodyWaitsForIsNeededNow) {
  LaneServer server({.runs_max = 1});
  server.Assign(LaneOf(1), {});
  Hello(server, 0);
  server.TakeActions();
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 0", "start run 1 of lane 5 at 0", "pull run 1"));
}

TEST(LaneServerTest, ALaneThatHadToWaitBeginsAgainWhereItMust) {
  LaneServer server({.runs_max = 1});
  server.Assign(LaneOf(5), {});
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.Assign(LaneOf(1), {.now = true});
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 0",
                                           "start run 1 of lane 1 at 0", "pull run 1"));
  server.OnEnded(MakeId<RunId>(1), 0);
  EXPECT_THAT(Actions(server), ElementsAre("start run 2 of lane 5 at 0", "pull run 2"));
}

TEST(LaneServerTest, WhatAStoppedRunSaysChangesNothing) {
  LaneServer server = Running();
  server.Unassign(LaneOf(5));
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0"));
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("drop block 0"));
  server.OnEnded(MakeId<RunId>(0), 4);
  server.OnFailed(MakeId<RunId>(0), absl::InternalError("stopped"));
  EXPECT_THAT(Actions(server), IsEmpty());
  EXPECT_THAT(server.TakeNews(), IsEmpty());
}

// --- Sending ---

TEST(LaneServerTest, RowsAreSentOnceTheyAreMade) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), IsEmpty());
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 4 of lane 5",
                                           "drop block 0", "pull run 0"));
}

TEST(LaneServerTest, RowsThatAreThereAreSentAtOnce) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.TakeActions();
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 0 rows 0 to 4 of lane 5", "drop block 0"));
}

TEST(LaneServerTest, BatchesAreSentInTheOrderOfTheLane) {
  LaneServer server = Running();
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 0, 4, 0}, {{0, 5}, 4, 8, 4}}});
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  EXPECT_THAT(
      Actions(server),
      ElementsAre("send 0 rows 0 to 4 of lane 5", "drop block 0", "pull run 0",
                  "send 0 rows 4 to 8 of lane 5", "drop block 4", "pull run 0"));
}

TEST(LaneServerTest, ABatchCarriesTheDigestsOfItsLane) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  server.TakeActions();
  Make(server, 0, 0, 4);
  const std::vector<ServerAction> actions = server.TakeActions();
  const auto& send = std::get<SendBatch>(actions[0]);
  EXPECT_EQ(send.head,
            (api::BatchHead{{0, 5}, 0, 4, false, 4, DigestAt(5, 0), DigestAt(5, 4)}));
  EXPECT_EQ(send.token, MakeId<Token>(0));
  EXPECT_EQ(send.skip, 0);
}

TEST(LaneServerTest, WhatSomebodyWaitsForComesBeforeWhatIsMadeAhead) {
  LaneServer server({});
  server.Assign(LaneOf(5), {});
  Hello(server, 0);
  const std::vector<ServerAction> begun = server.TakeActions();
  EXPECT_FALSE(std::get<Pull>(begun.back()).needed);
  Want(server, 0, 0, 8);
  const std::vector<ServerAction> wanted = server.TakeActions();
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(std::get<Hurry>(wanted[0]).run, MakeId<RunId>(0));
  Want(server, 0, 8, 12);
  EXPECT_THAT(server.TakeActions(), IsEmpty()) << "it was said";
  Make(server, 0, 0, 8);
  EXPECT_TRUE(std::get<Pull>(server.TakeActions().back()).needed) << "for the others";
  Make(server, 0, 8, 12);
  EXPECT_FALSE(std::get<Pull>(server.TakeActions().back()).needed);
}

TEST(LaneServerTest, ASliceOfABatchIsCutOutOfItsBlock) {
  LaneServer server = Running();
  Make(server, 0, 0, 8);
  server.TakeActions();
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 2, 5, 0}, {{0, 5}, 5, 8, 0}}});
  const std::vector<ServerAction> actions = server.TakeActions();
  const auto& first = std::get<SendBatch>(actions[0]);
  EXPECT_EQ(first.skip, 2);
  EXPECT_EQ(first.head, (api::BatchHead{{0, 5}, 2, 5, false, 3}))
      << "a digest is of whole blocks";
  const auto& second = std::get<SendBatch>(actions[1]);
  EXPECT_EQ(second.skip, 5);
  EXPECT_EQ(second.head, (api::BatchHead{{0, 5}, 5, 8, false, 3, {}, DigestAt(5, 8)}));
}

TEST(LaneServerTest, ABlockWaitsUntilAllItsRowsWereSent) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.TakeActions();
  Want(server, 0, 0, 2);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 2 of lane 5"));
  Want(server, 0, 2, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 0 rows 2 to 4 of lane 5", "drop block 0"));
}

TEST(LaneServerTest, WhatIsWantedMayLieInSeveralBlocks) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.TakeActions();
  Want(server, 0, 0, 6);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 0 rows 0 to 4 of lane 5",
                          "send 0 rows 4 to 6 of lane 5", "drop block 0"));
}

TEST(LaneServerTest, ABlockWaitsForAllMembers) {
  LaneServer server = Running({}, 2);
  Make(server, 0, 0, 4);
  server.TakeActions();
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 4 of lane 5"));
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 4 of lane 5"))
      << "one that asks twice is still one";
  Want(server, 1, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 1 rows 0 to 4 of lane 5", "drop block 0"));
}

TEST(LaneServerTest, ALaneThatAReaderNamesFirstIsRunForIt) {
  LaneServer server({});
  Hello(server, 0);
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 10, 12, 8}}});
  EXPECT_THAT(Actions(server), ElementsAre("start run 0 of lane 5 at 8", "pull run 0"))
      << "from the batch on that the rows are in";
}

TEST(LaneServerTest, WhatIsForgottenIsNotSent) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  Forget(server, 0);
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 0"));
}

TEST(LaneServerTest, WhatAStrangerSaysChangesNothing) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.TakeActions();
  Want(server, 7, 0, 4);
  EXPECT_THAT(Actions(server), IsEmpty());
}

TEST(LaneServerTest, WantsThatMakeNoSenseAreRefused) {
  for (const api::Want& want :
       {api::Want{{0, 5}, -1, 4, -1}, api::Want{{0, 5}, 4, 3, 4},
        api::Want{{0, 5}, 4, 8, 5}, api::Want{{0, 5}, 4, 8, -1}}) {
    LaneServer server = Running();
    server.OnMessage(Reader(0), {{}, {}, {want}});
    EXPECT_THAT(Actions(server),
                ElementsAre(base::StrCat("refuse 0: rows ", want.begin, " to ",
                                         want.end, " of a batch from ", want.batch,
                                         " cannot be wanted of lane 5")));
    Want(server, 0, 0, 4);
    Make(server, 0, 0, 4);
    EXPECT_THAT(Actions(server), ElementsAre("pull run 0")) << "it is not heard again";
  }
}

// --- Ends ---

TEST(LaneServerTest, WhereALaneEndsItsEndIsTheAnswer) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  Want(server, 0, 4, 8);
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.OnEnded(MakeId<RunId>(0), 4);
  EXPECT_THAT(Actions(server), ElementsAre("tell 0 that lane 5 has 4"));
  EXPECT_EQ(server.runs(), 0);
}

// Rows that fill no batch are the last: nobody waits until the run says so.
TEST(LaneServerTest, ATailEndsItsLaneAtOnce) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  Make(server, 0, 0, 3, /*tail=*/true);
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "send 0 rows 0 to 3 of lane 5",
                                           "tell 0 that lane 5 has 3", "drop block 0"));
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 3, true, true}));
}

TEST(LaneServerTest, ATailMakesRoomForTheNextLane) {
  LaneServer server({.runs_max = 1});
  server.Assign(LaneOf(5), {});
  server.Assign(LaneOf(6), {});
  server.TakeActions();
  Make(server, 0, 0, 3, /*tail=*/true);
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 0", "start run 1 of lane 6 at 0", "pull run 1"));
}

TEST(LaneServerTest, ALaneWithoutRowsIsDoneAtOnce) {
  LaneServer server = Running();
  server.OnEnded(MakeId<RunId>(0), 0);
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 0, true, true}));
}

TEST(LaneServerTest, ADoneLaneIsNotRunAgain) {
  LaneServer server = Done();
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 4, true, true}));
  server.Assign(LaneOf(5), {.now = true});
  EXPECT_THAT(Actions(server), IsEmpty()) << "the dispatcher has not heard of it yet";
  server.Unassign(LaneOf(5));
  server.Assign(LaneOf(5), {.now = true});
  EXPECT_THAT(Actions(server), ElementsAre("start run 1 of lane 5 at 0", "pull run 1"))
      << "now it is meant";
}

// What was sent may not have arrived. Only who comes back needs it, so that nothing
// waits for other members.
TEST(LaneServerTest, ADoneLaneIsRedoneForWhoComesBack) {
  LaneServer server = Done(/*members=*/2);
  server.OnReaderGone(Reader(0));
  Hello(server, 7, 0, 2);
  server.TakeActions();
  Want(server, 7, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("start run 1 of lane 5 at 0", "pull run 1"));
  Make(server, 1, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 7 rows 0 to 4 of lane 5", "stop run 1",
                                           "drop block 0"));
  EXPECT_THAT(server.AllNews(), ElementsAre(LaneNews{LaneOf(5), 4, true, true}));
}

// --- Redoing ---

TEST(LaneServerTest, RowsThatWereLetGoAreMadeAgain) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.TakeActions();
  Hello(server, 7);
  server.TakeActions();
  Want(server, 7, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 4",
                                           "start run 1 of lane 5 at 0", "pull run 1"));
  Make(server, 1, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 7 rows 0 to 4 of lane 5",
                                           "drop block 0", "pull run 1"));
}

// Members that have had rows do not want them again: they must not fill the buffer.
TEST(LaneServerTest, RowsThatAllHaveHadAreMadeAgainOnlyForWhoWantsThem) {
  LaneServer server = Running({}, 2);
  for (int64_t member = 0; member < 2; ++member) Want(server, member, 0, 4);
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.TakeActions();
  Want(server, 1, 0, 4);
  Make(server, 1, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 0", "drop block 4", "start run 1 of lane 5 at 0",
                          "pull run 1", "send 1 rows 0 to 4 of lane 5", "drop block 0",
                          "pull run 1"));
  Make(server, 1, 4, 8);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 1")) << "these nobody has had";
}

TEST(LaneServerTest, WhatWaitsForOthersIsMadeAgainToo) {
  LaneServer server = Running({}, 2);
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 0, 4, 0}, {{0, 5}, 4, 8, 4}}});
  Want(server, 1, 4, 8);
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  EXPECT_THAT(Actions(server), SizeIs(6));
  Want(server, 0, 4, 8);
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 0",
                                           "start run 1 of lane 5 at 0", "pull run 1"))
      << "block 0 is still for the other member";
}

TEST(LaneServerTest, ALaneThatHasEndedIsRunAgainForWhatIsMissing) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.OnEnded(MakeId<RunId>(0), 8);
  Want(server, 0, 0, 4);
  server.TakeActions();
  Hello(server, 7);
  server.TakeActions();
  Want(server, 7, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("drop block 4", "start run 1 of lane 5 at 0", "pull run 1"));
}

// --- Letting go ---

TEST(LaneServerTest, RowsThatNobodyNeedsAreLetGo) {
  LaneServer server = Running({.buffer_bytes = 8});
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.TakeActions();
  server.Assign(LaneOf(5), {.from = 4});
  EXPECT_THAT(Actions(server), ElementsAre("drop block 0", "pull run 0"))
      << "their reader has them from elsewhere";
  server.Assign(LaneOf(5), {.from = 7});
  EXPECT_THAT(Actions(server), IsEmpty()) << "row 7 is in the next block";
}

TEST(LaneServerTest, AFullBufferDoesNotStarveWhoWaitsForWhatComesBehindIt) {
  LaneServer server = Running({.buffer_bytes = 8});
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  server.TakeActions();
  Want(server, 0, 8, 12);
  EXPECT_THAT(Actions(server), ElementsAre("drop block 0", "pull run 0"));
}

TEST(LaneServerTest, ALaneThatIsTakenBackIsStopped) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.Unassign(LaneOf(5));
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 0"));
  EXPECT_THAT(server.AllNews(), IsEmpty());
}

TEST(LaneServerTest, ALaneThatIsTakenBackGoesOnForWhoWaits) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  server.Unassign(LaneOf(5));
  EXPECT_THAT(Actions(server), IsEmpty());
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 0 rows 0 to 4 of lane 5", "drop block 0", "stop run 0"))
      << "and no longer: others run it";
}

TEST(LaneServerTest, ItIsIdleOnceNobodyWantsAnythingHere) {
  LaneServer server = Running();
  EXPECT_FALSE(server.idle()) << "a lane was given to it";
  Want(server, 0, 0, 4);
  server.Unassign(LaneOf(5));
  EXPECT_FALSE(server.idle()) << "a reader waits";
  Make(server, 0, 0, 4);
  EXPECT_TRUE(server.idle());
  Want(server, 0, 4, 8);
  EXPECT_FALSE(server.idle()) << "it has not heard yet that others run it";
  Forget(server, 0);
  EXPECT_TRUE(server.idle());
}

TEST(LaneServerTest, ALaneOfNobodyEndsWhenItsReaderForgetsIt) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  Want(server, 0, 4, 8);
  server.Unassign(LaneOf(5));
  server.TakeActions();
  Forget(server, 0);
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 0"));
}

TEST(LaneServerTest, ALaneOfNobodyEndsWhenItsReaderIsGone) {
  LaneServer server({.runs_max = 1});
  Hello(server, 0);
  Want(server, 0, 0, 4);
  server.Assign(LaneOf(6), {});
  server.TakeActions();
  server.OnReaderGone(Reader(0));
  EXPECT_THAT(Actions(server),
              ElementsAre("stop run 0", "start run 1 of lane 6 at 0", "pull run 1"));
}

TEST(LaneServerTest, ReadersComeAndGoWhileALaneGoesOn) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  server.OnReaderGone(Reader(0));
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 0"));
  Hello(server, 1);
  Want(server, 1, 0, 4);
  EXPECT_THAT(Actions(server),
              ElementsAre("send 1 rows 0 to 4 of lane 5", "drop block 0"));
}

// --- Failures ---

TEST(LaneServerTest, AFailureIsToldToThoseWhoWaitAndToTheDispatcher) {
  LaneServer server = Running();
  Want(server, 0, 4, 8);
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.OnFailed(MakeId<RunId>(0), absl::DataLossError("shard-5.tar is cut off"));
  EXPECT_THAT(
      Actions(server),
      ElementsAre("tell 0 of DATA_LOSS: shard-5.tar is cut off", "drop block 0"));
  const std::vector<LaneNews> news = server.TakeNews();
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].lane, LaneOf(5));
  EXPECT_EQ(news[0].failed, absl::DataLossError("shard-5.tar is cut off"));
  EXPECT_EQ(server.runs(), 0);
}

TEST(LaneServerTest, AFailedLaneIsTriedAgainWhenItIsAssignedAgain) {
  LaneServer server = Running();
  server.OnFailed(MakeId<RunId>(0), absl::UnavailableError("no route"));
  server.TakeActions();
  server.Assign(LaneOf(5), {});
  EXPECT_THAT(Actions(server), ElementsAre("start run 1 of lane 5 at 0", "pull run 1"));
}

TEST(LaneServerTest, AFailureMakesRoomForTheNextLane) {
  LaneServer server({.runs_max = 1});
  for (int64_t lane = 5; lane < 7; ++lane) server.Assign(LaneOf(lane), {});
  server.TakeActions();
  server.OnFailed(MakeId<RunId>(0), absl::UnavailableError("no route"));
  EXPECT_THAT(Actions(server), ElementsAre("start run 1 of lane 6 at 0", "pull run 1"));
}

// --- News ---

TEST(LaneServerTest, NewsAreWhatHasChanged) {
  LaneServer server = Running();
  EXPECT_THAT(server.TakeNews(), IsEmpty());
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 8}));
  EXPECT_THAT(server.TakeNews(), IsEmpty());
  server.OnEnded(MakeId<RunId>(0), 8);
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 8, true}));
  Want(server, 0, 0, 8);
  EXPECT_THAT(server.TakeNews(), ElementsAre(LaneNews{LaneOf(5), 8, true, true}));
}

TEST(LaneServerTest, ADispatcherThatHasForgottenIsToldAll) {
  LaneServer server = Done();
  server.Assign(LaneOf(6), {});
  Make(server, 1, 0, 4);
  server.TakeNews();
  EXPECT_THAT(server.AllNews(),
              ElementsAre(LaneNews{LaneOf(6), 4}, LaneNews{LaneOf(5), 4, true, true}));
}

// What is made again is known already.
TEST(LaneServerTest, RowsThatAreMadeAgainAreNotUnlearnt) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  Make(server, 0, 4, 8);
  Want(server, 0, 0, 4);
  Hello(server, 7);
  Want(server, 7, 0, 4);
  Make(server, 1, 0, 4);
  EXPECT_THAT(server.AllNews(), ElementsAre(LaneNews{LaneOf(5), 8}));
}

TEST(LaneServerTest, JobsThatShareALaneTakeOneSlot) {
  LaneServer server({.runs_max = 1});
  for (const int64_t job : {1, 2}) {
    server.SetShare(job, "rows");
    server.Assign({job, 1, {0, 5}}, {.now = true});
    server.Assign({job, 1, {0, 6}}, {.now = true});
  }
  EXPECT_EQ(server.runs(), 1);
  EXPECT_THAT(Actions(server), ElementsAre("start run 0 of lane 5 at 0", "pull run 0",
                                           "start run 1 of lane 5 at 0", "pull run 1"));
  server.Unassign({1, 1, {0, 5}});
  EXPECT_EQ(server.runs(), 2) << "a job that has none gets one beyond the limit";
  server.Unassign({2, 1, {0, 5}});
  EXPECT_EQ(server.runs(), 1) << "both have the other lane now";
}

TEST(LaneServerTest, WhoGoesOnWithWhatWasMadeForOthersDoesNotRaiseTheLimitForEver) {
  LaneServer server({.runs_max = 1});
  for (const int64_t job : {1, 2}) server.SetShare(job, "rows");
  server.Assign({1, 1, {0, 5}}, {.now = true});
  for (const int64_t lane : {6, 7, 8, 9}) {
    server.Assign({2, 1, {0, lane}}, {.now = true});  // It has no other.
    server.Assign({1, 1, {0, lane}}, {.now = true});
    server.Unassign({2, 1, {0, lane}});
  }
  EXPECT_EQ(server.runs(), 3) << "one, and one more for each job";
}

TEST(LaneServerTest, WhatIsSkippedIsToldOnceAndMadeIfItIsWantedAllTheSame) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.OnSkipped(MakeId<RunId>(0), 4, 12);
  server.TakeActions();
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), Contains("send 0 rows 0 to 4 of lane 5"));
  Want(server, 0, 4, 8);
  EXPECT_THAT(Actions(server), ElementsAre("tell 0 that lane 5 skips 4 to 12"));
  Want(server, 0, 8, 12);
  EXPECT_THAT(Actions(server), Contains("start run 1 of lane 5 at 8"));
}

TEST(LaneServerTest, WhatIsSkippedIsToldOnceForAllThatWaitsForIt) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  Want(server, 0, 4, 8);
  server.TakeActions();
  server.OnSkipped(MakeId<RunId>(0), 0, 12);
  EXPECT_THAT(Actions(server), ElementsAre("tell 0 that lane 5 skips 0 to 12"));
}

}  // namespace
}  // namespace millrace::delivery
