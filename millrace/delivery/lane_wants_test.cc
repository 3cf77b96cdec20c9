#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/stream.h"
#include "millrace/base/ids.h"
#include "millrace/base/text.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/lane_server_test.h"

namespace millrace::delivery {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// --- Who may read ---

TEST(LaneWantsTest, ALaterOpeningTakesOver) {
  LaneServer server = Running();
  Want(server, 0, 0, 4);
  server.OnHello(Reader(1), {1, 1, 0, 0, 2}, 1);
  EXPECT_THAT(Actions(server),
              ElementsAre("refuse 0: a later opening of this consumer has taken over"));
  server.OnHello(Reader(2), {1, 1, 0, 0, 1}, 1);
  EXPECT_THAT(Actions(server),
              ElementsAre("refuse 2: a later opening of this consumer has taken over"));
  Make(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("pull run 0")) << "nobody wants it any more";
}

TEST(LaneWantsTest, AReaderThatConnectsAgainReplacesItself) {
  LaneServer server = Running();
  Hello(server, 1);
  EXPECT_THAT(Actions(server),
              ElementsAre("refuse 0: a later opening of this consumer has taken over"));
  Hello(server, 1);
  EXPECT_THAT(Actions(server), IsEmpty());
}

TEST(LaneWantsTest, MembersAndConsumersDoNotDisturbOneAnother) {
  LaneServer server({});
  server.OnHello(Reader(0), {1, 1, 0, 0, 1}, 2);
  server.OnHello(Reader(1), {1, 1, 0, 1, 1}, 2);
  server.OnHello(Reader(2), {1, 1, 1, 0, 4}, 2);
  server.OnHello(Reader(3), {2, 9, 0, 0, 1}, 1);
  EXPECT_THAT(Actions(server), IsEmpty());
}

TEST(LaneWantsTest, ANewStartOfAJobEndsTheOneBefore) {
  LaneServer server = Running();
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.Assign({1, 2, {0, 5}}, {});
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0", "drop block 0",
                                           "refuse 0: the job was started anew",
                                           "start run 1 of lane 5 at 0", "pull run 1"));
  Hello(server, 1);
  EXPECT_THAT(Actions(server), ElementsAre("refuse 1: the job was started anew"));
  server.Assign(LaneOf(6), {});
  EXPECT_THAT(Actions(server), IsEmpty()) << "it is of the start before";
}

// It may come before the dispatcher's news. But whether it speaks the truth is not
// known here: what others read is not ended by it.
TEST(LaneWantsTest, AReaderThatTellsOfANewStartEndsNobodysLanes) {
  LaneServer server = Running();
  server.OnHello(Reader(1), {1, 1LL << 60, 0, 0, 2}, 1);
  EXPECT_THAT(Actions(server), IsEmpty());
  Want(server, 1, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("start run 1 of lane 5 at 0", "pull run 1"));
  server.Assign(LaneOf(6), {});
  EXPECT_THAT(Actions(server), ElementsAre("start run 2 of lane 6 at 0", "pull run 2"))
      << "the dispatcher says otherwise";
}

TEST(LaneWantsTest, OtherJobsAreNotDisturbedByANewStart) {
  LaneServer server = Running();
  server.EndBefore(2, 9);
  EXPECT_THAT(Actions(server), IsEmpty());
  EXPECT_EQ(server.runs(), 1);
}

TEST(LaneWantsTest, DoneLanesAreOfOneStart) {
  LaneServer server = Done();
  server.EndBefore(1, 2);
  EXPECT_THAT(server.AllNews(), IsEmpty());
}

// --- What no reader should say ---

TEST(LaneWantsTest, MembersThatCannotBeAreRefused) {
  LaneServer server({});
  Hello(server, 0, 0, 0);
  Hello(server, 1, 0, 1LL << 60);
  EXPECT_THAT(Actions(server), ElementsAre("refuse 0: a consumer of so many members: 0",
                                           "refuse 1: a consumer of so many members: "
                                           "1152921504606846976"));
}

TEST(LaneWantsTest, TheDispatcherKnowsHowManyMembersRead) {
  LaneServer server({});
  Hello(server, 0, 0, 1000);
  Want(server, 0, 0, 4);
  server.Assign(LaneOf(5), {.members = 1});
  EXPECT_THAT(Actions(server),
              ElementsAre("start run 0 of lane 5 at 0", "pull run 0", "stop run 0",
                          "start run 1 of lane 5 at 0", "pull run 1"));
  Make(server, 1, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("send 0 rows 0 to 4 of lane 5",
                                           "drop block 0", "pull run 1"));
}

TEST(LaneWantsTest, AReaderThatIsAnotherNowWantsNothingOfBefore) {
  LaneServer server({});
  Hello(server, 0);
  Want(server, 0, 0, 4);
  server.TakeActions();
  server.OnHello(Reader(0), {2, 1, 0, 0, 1}, 1);
  EXPECT_THAT(Actions(server), ElementsAre("stop run 0"));
  EXPECT_TRUE(server.idle());
}

TEST(LaneWantsTest, LanesThatOnlyReadersKnowOfAreBounded) {
  LaneServer server({});
  server.Assign(LaneOf(5), {});
  Hello(server, 0);
  server.TakeActions();
  api::ReaderMessage message;
  for (int64_t lane = 0; lane < 4097; ++lane) {
    message.wants.push_back({{1, lane}, 0, 4, 0});
  }
  const api::Want last = message.wants.back();
  message.wants.back() = {{0, 5}, 0, 4, 0};
  server.OnMessage(Reader(0), message);
  EXPECT_EQ(server.AllNews().size(), 4097) << "one of them is assigned";
  server.TakeActions();
  server.OnMessage(Reader(0), {{}, {}, {last}});
  EXPECT_THAT(Actions(server),
              Contains("refuse 0: too many lanes are wanted that are not run here"));
  EXPECT_EQ(server.AllNews().size(), 1);
}

TEST(LaneWantsTest, WantsOfAReaderAreBounded) {
  LaneServer server = Running();
  const std::vector<api::Want> wants(1 << 14, {{0, 5}, 0, 4, 0});
  for (int i = 0; i < 1 << 4; ++i) server.OnMessage(Reader(0), {{}, {}, wants});
  EXPECT_THAT(Actions(server), IsEmpty());
  Want(server, 0, 0, 4);
  EXPECT_THAT(Actions(server), ElementsAre("refuse 0: it wants too much at once"));
}

TEST(LaneWantsTest, WhatWasServedOrForgottenIsWantedNoMore) {
  LaneServer server = Running();
  for (int64_t i = 0; i < 1000; ++i) {
    const std::vector<api::Want> wants(1 << 9, {{0, 5}, i, i + 1, i});
    server.OnMessage(Reader(0), {{}, {}, wants});
    if (i % 2 == 0) Forget(server, 0);
    Make(server, 0, i, i + 1);
    for (const std::string& action : Actions(server)) {
      ASSERT_FALSE(action.starts_with("refuse")) << action;
    }
  }
}

// Each comes once, with another number, and goes.
TEST(LaneWantsTest, RememberedMembersAreBounded) {
  LaneServer server({});
  server.OnHello(Reader(1), {1, 1, -1, 0, 7}, 1);
  for (int64_t consumer = 0; consumer < 70'000; ++consumer) {
    server.OnHello(Reader(0), {1, 1, consumer, 0, 7}, 1);
    server.OnReaderGone(Reader(0));
  }
  EXPECT_THAT(Actions(server), IsEmpty());
  server.OnHello(Reader(0), {1, 1, 0, 0, 6}, 1);
  EXPECT_THAT(Actions(server), IsEmpty()) << "it is forgotten";
  server.OnHello(Reader(0), {1, 1, 69'999, 0, 6}, 1);
  server.OnHello(Reader(0), {1, 1, -1, 0, 6}, 1);
  EXPECT_THAT(Actions(server), SizeIs(2)) << "a late one, and one that reads";
}

// Lanes that the dispatcher never gave to this worker, nor takes back.
TEST(LaneWantsTest, DoneLanesThatWereNotAssignedAreForgotten) {
  LaneServer server({});
  Hello(server, 0);
  for (int64_t lane = 0; lane < 5000; ++lane) {
    server.OnMessage(Reader(0), {{}, {}, {{{0, lane}, 0, 4, 0}}});
    Make(server, lane, 0, 4, /*tail=*/true);
  }
  EXPECT_EQ(server.AllNews().size(), 4096);
}

TEST(LaneWantsTest, AnEndIsToldOnceHoweverMuchIsWantedBehindIt) {
  LaneServer server = Running();
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 0, 4, 0}, {{0, 5}, 4, 8, 4}}});
  server.OnMessage(Reader(0), {{}, {}, {{{0, 5}, 8, 12, 8}, {{0, 5}, 12, 16, 12}}});
  Make(server, 0, 0, 4);
  server.TakeActions();
  server.OnEnded(MakeId<RunId>(0), 4);
  EXPECT_THAT(Actions(server), ElementsAre("tell 0 that lane 5 has 4"));
}

}  // namespace
}  // namespace millrace::delivery
