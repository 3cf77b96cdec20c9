// Which lanes are given to whom, and when they are taken back (dispatcher.h).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/error.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"

namespace millrace::control {
namespace {

using base::IsOk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// A service whose workers are there; each is told to run nothing yet.
Service With(const std::vector<api::WorkerFacts>& workers) {
  Service service;
  for (const api::WorkerFacts& facts : workers) service.Join(facts);
  return service;
}

// One consumer that needs these lanes now.
api::ConsumerBeat Reader(Service& service, const std::vector<int64_t>& lanes,
                         const api::OpenJob& open = Opening(),
                         const api::JobFacts& facts = Listed(true)) {
  api::ConsumerBeat beat = service.Start({open}, facts)[0];
  beat.needs = Needs(lanes);
  return beat;
}

// The lanes that a worker is to run.
std::vector<int64_t> LanesOf(Service& service, int64_t worker) {
  std::vector<int64_t> lanes;
  const api::WorkerNews news = service.Tell(worker);
  lanes.reserve(news.assigned.size());
  for (const api::AssignedLane& lane : news.assigned) lanes.push_back(lane.at.lane);
  return lanes;
}

api::LaneReport Failure(int64_t lane, const std::string& message = "no such file") {
  api::LaneReport report{.job = 1, .incarnation = 1, .at = {0, lane}};
  report.failed = api::Error{"NOT_FOUND", message};
  return report;
}

// Why a consumer's pass cannot go on, as it is told; empty: it can.
std::string WhyFailed(Service& service, const api::ConsumerBeat& beat) {
  return service.Send(beat)->failed.value_or(api::Error()).message;
}

// --- Whom ---

TEST(PlaceLanesTest, LanesAreSpreadOverTheWorkers) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {0, 1, 2, 3});
  EXPECT_THAT(service.Placed(beat),
              UnorderedElementsAre(Pair(0, 1), Pair(1, 2), Pair(2, 1), Pair(3, 2)));
}

TEST(PlaceLanesTest, LanesOfAllJobsCount) {
  Service service = With({Facts(1), Facts(2)});
  service.Placed(Reader(service, {0}));
  api::OpenJob other = Opening();
  other.settings.name = "other";
  EXPECT_THAT(service.Placed(Reader(service, {0, 1}, other)),
              UnorderedElementsAre(Pair(0, 2), Pair(1, 1)));
}

TEST(PlaceLanesTest, LanesAheadAreGivenOnlyWhereThereIsRoom) {
  Service service = With({Facts(1)});
  api::ConsumerBeat beat = Reader(service, {10, 11, 12, 13, 14});
  beat.needs.push_back({{0, 1}, 0, false});
  std::map<int64_t, int64_t> placed = service.Placed(beat);
  EXPECT_EQ(placed[14], 1) << "it is needed now, full or not";
  EXPECT_EQ(placed[1], -1);
  service.Join(Facts(2));
  EXPECT_EQ(service.Placed(beat)[1], 2);
}

TEST(PlaceLanesTest, AWorkerOnTheHostThatWaitsIsPreferred) {
  api::WorkerFacts local = Facts(2);
  local.host = "a";  // As the consumer's.
  Service service = With({Facts(1), local});
  api::ConsumerBeat beat = Reader(service, {3, 4});
  beat.waits_for = api::LaneAddress{0, 3};
  EXPECT_THAT(service.Placed(beat), UnorderedElementsAre(Pair(3, 2), Pair(4, 1)));
}

TEST(PlaceLanesTest, ATargetHoldsForAllLanesNotOnlyThoseThatAreWaitedFor) {
  for (const char* target : {"local", "remote"}) {
    api::WorkerFacts here = Facts(1);
    here.host = "a";  // As the consumer's.
    Service service = With({here, Facts(2)});
    api::OpenJob open = Opening();
    open.settings.target = target;
    const int64_t worker = target == std::string("local") ? 1 : 2;
    EXPECT_THAT(service.Placed(Reader(service, {3, 4}, open)),
                UnorderedElementsAre(Pair(3, worker), Pair(4, worker)));
  }
}

TEST(PlaceLanesTest, WhoHasLeftIsForgottenAtOnce) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  api::WorkerBeat last{.worker = 1};
  last.left = true;
  EXPECT_FALSE(service.Send(last)->join);
  EXPECT_EQ(service.Placed(beat)[3], 2);
  EXPECT_TRUE(service.Tell(1).join) << "it is not known any more";
}

TEST(PlaceLanesTest, AListingOfAnotherPipelineIsNotBelieved) {
  Service service = With({Facts(1)});
  const api::OpenJob open = Opening();
  service.Accept(open);
  api::WorkerBeat beat{.worker = 1};
  beat.listed.push_back({.job = 1, .pipeline = "another", .facts = Listed(true)});
  service.Accept(beat);
  EXPECT_FALSE(service.Send(open)->ready);
  EXPECT_THAT(service.Tell(1).jobs, testing::SizeIs(1)) << "it is to list it again";
  beat.listed[0].pipeline = open.settings.pipeline;
  service.Accept(beat);
  EXPECT_TRUE(service.Send(open)->ready);
}

TEST(PlaceLanesTest, TagsAreKept) {
  api::WorkerFacts tagged = Facts(2);
  tagged.tags = {"gpu"};
  Service service = With({Facts(1), tagged});
  api::OpenJob open = Opening();
  open.settings.tags = {"gpu"};
  EXPECT_THAT(service.Placed(Reader(service, {3, 4}, open)),
              UnorderedElementsAre(Pair(3, 2), Pair(4, 2)));
}

TEST(PlaceLanesTest, PythonRunsWhereItIsAllowed) {
  api::WorkerFacts allowed = Facts(2);
  allowed.python = true;
  Service service = With({Facts(1), allowed});
  api::JobFacts facts = Listed(true);
  facts.python = true;
  EXPECT_THAT(service.Placed(Reader(service, {3, 4}, Opening(), facts)),
              UnorderedElementsAre(Pair(3, 2), Pair(4, 2)));
}

TEST(PlaceLanesTest, StaticShardingWaitsForTheWorkerOfALane) {
  api::WorkerFacts first = Facts(5);
  first.of = 2;
  Service service = With({first});
  api::OpenJob open = Opening();
  open.settings.sharding = "static";
  const api::ConsumerBeat beat = Reader(service, {0, 1, 2, 3}, open);
  EXPECT_THAT(service.Placed(beat),
              UnorderedElementsAre(Pair(0, 5), Pair(1, -1), Pair(2, 5), Pair(3, -1)));
  api::WorkerFacts second = Facts(6);
  second.index = 1;
  second.of = 2;
  service.Join(second);
  EXPECT_THAT(service.Placed(beat),
              UnorderedElementsAre(Pair(0, 5), Pair(1, 6), Pair(2, 5), Pair(3, 6)));
}

// A service of static sharding; its workers of three have these indexes.
Service WithIndexes(const std::vector<int64_t>& indexes) {
  std::vector<api::WorkerFacts> workers;
  for (const int64_t index : indexes) {
    workers.push_back(Facts(index + 1));
    workers.back().index = index;
    workers.back().of = 3;
  }
  return With(workers);
}

api::OpenJob Static() {
  api::OpenJob open = Opening();
  open.settings.sharding = "static";
  return open;
}

TEST(PlaceLanesTest, AnIndexThatDoesNotComeIsAnErrorThatNamesIt) {
  Service service = WithIndexes({0, 2});
  const api::ConsumerBeat beat = Reader(service, {3, 4, 5}, Static());
  EXPECT_EQ(service.Placed(beat)[4], -1);
  service.Pass(absl::Seconds(60), {1, 3});
  EXPECT_EQ(WhyFailed(service, beat), "");
  service.Pass(absl::Seconds(1), {1, 3});
  EXPECT_EQ(WhyFailed(service, beat),
            "job \"train\" has sharding=\"static\", and lane 4 waits for a worker of "
            "the lane's index, number 1 of 3, that has not come for 1m: start it with "
            "`millrace worker --index 1 --of 3`");
}

TEST(PlaceLanesTest, AnIndexThatComesInTimeIsWaitedForAnewWhenItIsLost) {
  Service service = WithIndexes({0, 2});
  const api::ConsumerBeat beat = Reader(service, {4}, Static());
  service.Accept(beat);
  service.Pass(absl::Seconds(50), {1, 3});
  api::WorkerFacts missing = Facts(2);
  missing.index = 1;
  missing.of = 3;
  service.Join(missing);
  EXPECT_EQ(service.Placed(beat)[4], 2);
  service.Pass(absl::Seconds(50), {1, 3});
  EXPECT_EQ(service.Placed(beat)[4], -1) << "it is lost";
  EXPECT_EQ(WhyFailed(service, beat), "");
  service.Pass(absl::Seconds(61), {1, 3});
  EXPECT_NE(WhyFailed(service, beat), "");
}

TEST(PlaceLanesTest, WithoutAnyIndexTheErrorSaysHowToGiveThem) {
  Service service = With({Facts(1)});
  const api::ConsumerBeat beat = Reader(service, {3}, Static());
  service.Accept(beat);
  service.Pass(absl::Seconds(61), {1});
  EXPECT_THAT(WhyFailed(service, beat), HasSubstr("--index I --of M"));
}

TEST(PlaceLanesTest, NobodyWaitsForTheIndexOfALaneAhead) {
  Service service = WithIndexes({0});
  api::ConsumerBeat beat = Reader(service, {3}, Static());
  beat.needs.push_back({{0, 4}, 0, false});
  service.Accept(beat);
  service.Pass(absl::Minutes(2), {1});
  EXPECT_EQ(WhyFailed(service, beat), "");
}

// --- Memory ---

// Sixteen lanes are open, of so many bytes each.
api::JobFacts Large(int64_t lane_bytes) {
  api::JobFacts facts = Listed(true);
  facts.lane_bytes = lane_bytes;
  return facts;
}

TEST(PlaceLanesTest, AWorkerThatCannotHoldAllOpenLanesGetsNone) {
  api::WorkerFacts small = Facts(1);
  small.memory_bytes = 16 * 1000 - 1;
  api::WorkerFacts large = Facts(2);
  large.memory_bytes = 16 * 1000;
  Service service = With({small, large});
  EXPECT_THAT(service.Placed(Reader(service, {3, 4}, Opening(), Large(1000))),
              UnorderedElementsAre(Pair(3, 2), Pair(4, 2)));
}

TEST(PlaceLanesTest, WhoWaitsForMemoryIsToldWhatWouldFit) {
  api::WorkerFacts small = Facts(1);
  small.memory_bytes = 5 << 20;
  Service service = With({small});
  service.Accept(Opening());
  service.List(1, Large(1 << 20));
  EXPECT_EQ(
      service.Send(Opening())->waits_for,
      "a worker with more memory: its 16 open lanes take at least 1 MiB each, 16 "
      "MiB in all: start one with `millrace worker --memory 16777216`, or open it "
      "with open_lanes=5, which fit");
  api::WorkerFacts large = Facts(2);
  large.memory_bytes = 16 << 20;
  service.Join(large);
  EXPECT_TRUE(service.Send(Opening())->ready);
}

TEST(PlaceLanesTest, FewerOpenLanesFitLessMemory) {
  api::WorkerFacts small = Facts(1);
  small.memory_bytes = 5 << 20;
  Service service = With({small});
  api::OpenJob open = Opening();
  open.settings.open_lanes = 5;
  EXPECT_EQ(service.Placed(Reader(service, {3}, open, Large(1 << 20)))[3], 1);
}

TEST(PlaceLanesTest, InAnyOrderALaneAtATimeIsEnough) {
  api::WorkerFacts small = Facts(1);
  small.memory_bytes = 1 << 20;
  Service service = With({small});
  api::OpenJob open = Opening();
  open.settings.order = "any";
  service.Accept(open);
  service.List(1, Large(1 << 20));
  EXPECT_TRUE(service.Send(open)->ready);
}

TEST(PlaceLanesTest, AWorkerNobodyCanReachGetsNothing) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  beat.unreachable = {1};
  EXPECT_EQ(service.Placed(beat)[3], 2) << "what it had moves";
  beat.unreachable = {1, 2};
  EXPECT_EQ(service.Placed(beat)[3], 2) << "there is nowhere else to go";
}

// --- What a worker is told ---

TEST(PlaceLanesTest, MembersAreTold) {
  Service service = With({Facts(1)});
  api::OpenJob open = Opening();
  open.settings.members = 2;
  api::OpenJob other = open;
  other.member = 1;
  api::ConsumerBeat beat = service.Start({open, other})[0];
  beat.needs = Needs({3});
  service.Accept(beat);
  EXPECT_EQ(service.Tell(1).assigned[0].members, 2);
}

TEST(PlaceLanesTest, TheFirstRowThatAnybodyNeedsIsTold) {
  Service service = With({Facts(1)});
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  const auto need = [&](int64_t first, int64_t second) {
    beats[0].needs = {{{0, 3}, first, true}};
    beats[1].needs = {{{0, 3}, second, true}};
    for (const api::ConsumerBeat& beat : beats) service.Accept(beat);
    return service.Tell(1).assigned[0].from;
  };
  EXPECT_EQ(need(8, 12), 8);
  EXPECT_EQ(need(16, 12), 12);
}

TEST(PlaceLanesTest, ALaneThatBecomesUrgentIsToldSo) {
  Service service = With({Facts(1)});
  api::ConsumerBeat beat = Reader(service, {3});
  beat.needs[0].now = false;
  service.Accept(beat);
  const api::WorkerNews before = service.Tell(1);
  EXPECT_FALSE(before.assigned[0].now);
  beat.needs[0].now = true;
  service.Accept(beat);
  const api::WorkerNews after = service.Tell(1);
  EXPECT_TRUE(after.assigned[0].now);
  EXPECT_GT(after.version, before.version);
}

TEST(PlaceLanesTest, SaysWhetherAnythingHasChanged) {
  Service service = With({Facts(1)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_THAT(service.dispatcher().Beat(beat, service.now), IsOk());
  EXPECT_TRUE(service.dispatcher().Place(service.now));
  EXPECT_FALSE(service.dispatcher().Place(service.now));
}

// --- Taking back ---

TEST(PlaceLanesTest, LanesOfALostWorkerMoveAfterTwoHeartbeats) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3, 4});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Pass(absl::Seconds(2), {2});
  EXPECT_EQ(service.Placed(beat)[3], 1);
  service.Pass(absl::Milliseconds(1), {2});
  EXPECT_THAT(service.Placed(beat), UnorderedElementsAre(Pair(3, 2), Pair(4, 2)));
  EXPECT_TRUE(service.Tell(1).join) << "who comes back begins anew";
}

TEST(PlaceLanesTest, LanesOfAWorkerThatLeavesMoveAtOnce) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3, 4});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  EXPECT_EQ(service.Placed(beat)[3], 2);
}

// They were begun: where they may stay they are better gone on with, full or not.
TEST(PlaceLanesTest, LanesAheadOfAWorkerThatLeavesMoveToo) {
  api::WorkerFacts full = Facts(2);
  full.lanes_max = 1;
  Service service = With({Facts(1)});
  api::ConsumerBeat beat = Reader(service, {3});
  beat.needs.push_back({{0, 4}, 0, false});
  ASSERT_EQ(service.Placed(beat)[4], 1);
  service.Join(full);
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  EXPECT_THAT(service.Placed(beat), UnorderedElementsAre(Pair(3, 2), Pair(4, 2)));
  EXPECT_THAT(LanesOf(service, 1), IsEmpty());
}

// What its readers have had is not made again.
TEST(PlaceLanesTest, ALaneThatMovesGoesOnFromTheFirstRowThatIsNeeded) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  beat.needs[0].from = 12;
  service.Accept(beat);
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  EXPECT_EQ(service.Tell(2).assigned[0].from, 12);
}

TEST(PlaceLanesTest, WhoLeavesLeavesForGood) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  service.Tell(1);  // A beat of before that comes late.
  EXPECT_EQ(service.Placed(beat)[3], 2);
}

TEST(PlaceLanesTest, WhoLeavesListsNothing) {
  Service service = With({Facts(1)});
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  service.Accept(Opening());
  EXPECT_THAT(service.Tell(1).jobs, IsEmpty());
  EXPECT_EQ(service.Send(Opening())->waits_for,
            "a worker to join: start one with `millrace worker`");
}

TEST(PlaceLanesTest, TheLastWorkerKeepsItsLanesWhileItLeaves) {
  Service service = With({Facts(1)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Accept(api::WorkerBeat{.worker = 1, .draining = true});
  EXPECT_EQ(service.Placed(beat)[3], 1);
}

TEST(PlaceLanesTest, ALaneIsTakenBackOnceNobodyNeedsIt) {
  Service service = With({Facts(1)});
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  beats[0].needs = Needs({3});
  service.Accept(beats[0]);
  EXPECT_THAT(LanesOf(service, 1), ElementsAre(3));
  beats[0].needs = {};
  service.Accept(beats[0]);
  EXPECT_THAT(LanesOf(service, 1), ElementsAre(3)) << "the other may need it";
  service.Accept(beats[1]);
  EXPECT_THAT(LanesOf(service, 1), IsEmpty());
}

TEST(PlaceLanesTest, ANewRunTakesAllLanesBack) {
  Service service = With({Facts(1)});
  service.Placed(Reader(service, {3}));
  ASSERT_THAT(LanesOf(service, 1), ElementsAre(3));
  const int64_t version = service.Tell(1).version;
  api::OpenJob later = Opening();
  later.opening = 2;
  service.Accept(later);
  EXPECT_THAT(LanesOf(service, 1), IsEmpty());
  EXPECT_GT(service.Tell(1).version, version);
}

TEST(PlaceLanesTest, AReleasedLaneIsNoLongerRun) {
  Service service = With({Facts(1)});
  api::ConsumerBeat beat = Reader(service, {3, 4});
  service.Accept(beat);
  beat.needs = Needs({4});
  ASSERT_THAT(service.dispatcher().Beat(beat, service.now), IsOk());
  service.Tell(1, {{.job = 1,
                    .incarnation = 1,
                    .at = {0, 3},
                    .rows = 8,
                    .ended = true,
                    .released = true}});
  EXPECT_THAT(LanesOf(service, 1), ElementsAre(4));
}

// Who was sent all of it has not said yet that it needs it no more.
TEST(PlaceLanesTest, AReleasedLaneIsNotRunAgainAtOnce) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  api::LaneReport sent = Report(3, 8, true);
  sent.released = true;
  service.Tell(1, {sent});
  EXPECT_EQ(service.Placed(beat)[3], -1);
  service.Pass(absl::Milliseconds(500), {1, 2});
  EXPECT_NE(service.Placed(beat)[3], -1) << "what was sent may be lost";
}

// --- Failures ---

TEST(PlaceLanesTest, AFailedLaneIsTriedElsewhere) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Tell(1, {Failure(3)});
  EXPECT_EQ(service.Placed(beat)[3], 2);
  EXPECT_EQ(WhyFailed(service, beat), "");
}

TEST(PlaceLanesTest, ALaneThatThreeWorkersFailedFailsThePass) {
  Service service = With({Facts(1), Facts(2), Facts(3), Facts(4)});
  const api::ConsumerBeat beat = Reader(service, {3});
  for (int failures = 0; failures < 3; ++failures) {
    EXPECT_EQ(WhyFailed(service, beat), "") << failures;
    service.Tell(service.Placed(beat)[3], {Failure(3)});
  }
  const api::ConsumerNews news = *service.Send(beat);
  EXPECT_EQ(news.failed, (api::Error{"NOT_FOUND", "no such file"}));
  EXPECT_EQ(service.Placed(beat)[3], -1) << "nothing more is tried";
}

TEST(PlaceLanesTest, OneWorkerThatFailsALaneAgainIsOne) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(beat);
  for (int repeated = 0; repeated < 5; ++repeated) service.Tell(1, {Failure(3)});
  EXPECT_EQ(WhyFailed(service, beat), "");
}

TEST(PlaceLanesTest, ALaneThatAllWorkersFailedFailsThePass) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(beat);
  service.Tell(1, {Failure(3)});
  EXPECT_EQ(WhyFailed(service, beat), "");
  service.Tell(2, {Failure(3, "no such file there")});
  EXPECT_EQ(WhyFailed(service, beat), "no such file there");
}

// It waits for a worker that may run it, but not for one that has failed it.
TEST(PlaceLanesTest, ALaneThatFailedWhereItStillCouldRunFailsThePass) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(beat);
  const int64_t first = service.Placed(beat)[3];
  service.Tell(first, {Failure(3)});
  EXPECT_EQ(WhyFailed(service, beat), "");
  service.Pass(absl::Seconds(10), {first});  // The other is lost.
  EXPECT_EQ(WhyFailed(service, beat), "no such file");
}

// A worker that may not run the lane is no hope for it.
TEST(PlaceLanesTest, ALaneThatAllWhoMayRunItFailedFailsThePass) {
  api::WorkerFacts tagged = Facts(2);
  tagged.tags = {"gpu"};
  Service service = With({Facts(1), tagged});
  api::OpenJob open = Opening();
  open.settings.tags = {"gpu"};
  const api::ConsumerBeat beat = Reader(service, {3}, open);
  service.Accept(beat);
  service.Tell(2, {Failure(3)});
  EXPECT_EQ(WhyFailed(service, beat), "no such file");
}

TEST(PlaceLanesTest, WithStaticShardingALaneHasOneWorkerToFailIt) {
  std::vector<api::WorkerFacts> workers = {Facts(1), Facts(2)};
  for (int64_t i = 0; i < 2; ++i) {
    workers[i].index = i;
    workers[i].of = 2;
  }
  Service service = With(workers);
  api::OpenJob open = Opening();
  open.settings.sharding = "static";
  const api::ConsumerBeat beat = Reader(service, {2}, open);
  service.Accept(beat);
  service.Tell(1, {Failure(2)});
  EXPECT_EQ(WhyFailed(service, beat), "no such file");
}

TEST(PlaceLanesTest, AWorkerOfAnotherTargetIsNoHopeEither) {
  for (const char* target : {"local", "remote"}) {
    api::WorkerFacts here = Facts(1);
    here.host = "a";  // As the consumer's.
    Service service = With({here, Facts(2)});
    api::OpenJob open = Opening();
    open.settings.target = target;
    api::ConsumerBeat beat = Reader(service, {3}, open);
    beat.waits_for = api::LaneAddress{0, 3};
    const int64_t worker = service.Placed(beat)[3];
    EXPECT_EQ(worker, target == std::string("local") ? 1 : 2);
    service.Tell(worker, {Failure(3)});
    EXPECT_EQ(WhyFailed(service, beat), "no such file");
  }
}

// The lane was moved before its failure was heard of: the other goes on.
TEST(PlaceLanesTest, AFailureOfTheWorkerBeforeDoesNotDisturbTheNext) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  beat.unreachable = {1};
  ASSERT_EQ(service.Placed(beat)[3], 2);
  const int64_t version = service.Tell(2).version;
  service.Tell(1, {Failure(3)});
  EXPECT_EQ(service.Tell(2).version, version);
  EXPECT_EQ(service.Placed(beat)[3], 2);
}

TEST(PlaceLanesTest, ANewRunTriesAgain) {
  Service service = With({Facts(1)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(beat);
  service.Tell(1, {Failure(3)});
  ASSERT_EQ(WhyFailed(service, beat), "no such file");
  api::OpenJob later = Opening();
  later.opening = 2;
  const api::ConsumerBeat again = Reader(service, {3}, later);
  EXPECT_EQ(service.Placed(again)[3], 1);
  EXPECT_EQ(WhyFailed(service, again), "");
}

// An error that this version has no name for is still an error.
TEST(PlaceLanesTest, AnUnknownCodeIsAnUnknownError) {
  Service service = With({Facts(1)});
  const api::ConsumerBeat beat = Reader(service, {3});
  service.Accept(beat);
  api::LaneReport report = Failure(3);
  report.failed->code = "ON_FIRE";
  service.Tell(1, {report});
  EXPECT_EQ(service.Send(beat)->failed->code, "UNKNOWN");
}

// --- Stragglers ---

TEST(PlaceLanesTest, ALaneThatSomebodyWaitsForTooLongMoves) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  beat.waits_for = api::LaneAddress{0, 3};
  const auto wait = [&](absl::Duration time) {
    service.Pass(time, {1, 2});
    beat.waits_ms += absl::ToInt64Milliseconds(time);
    return service.Placed(beat)[3];
  };
  EXPECT_EQ(wait(absl::Seconds(30)), 1);
  EXPECT_EQ(wait(absl::Seconds(1)), 2);
  EXPECT_EQ(wait(absl::Seconds(1)), 2) << "which then has as long";
}

TEST(PlaceLanesTest, ALaneThatNobodyWaitsForMayTakeItsTime) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Pass(absl::Minutes(10), {1, 2});
  EXPECT_EQ(service.Placed(beat)[3], 1);
}

// Once lanes have ended it is known how long they take: twice that is too long.
TEST(PlaceLanesTest, TheLimitIsMeasured) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3, 4, 5});
  ASSERT_EQ(service.Placed(beat)[5], 1);
  service.Pass(absl::Seconds(4), {1, 2});
  service.Tell(1, {{.job = 1, .incarnation = 1, .at = {0, 3}, .ended = true}});
  beat.waits_for = api::LaneAddress{0, 5};
  beat.waits_ms = 4000;
  service.Pass(absl::Seconds(4), {1, 2});
  beat.waits_ms = 8000;
  EXPECT_EQ(service.Placed(beat)[5], 1);
  service.Pass(absl::Seconds(1), {1, 2});
  beat.waits_ms = 9000;
  EXPECT_EQ(service.Placed(beat)[5], 2);
}

TEST(PlaceLanesTest, TheLimitFollowsWhatLanesTakeLately) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {1, 3, 5, 7});
  ASSERT_EQ(service.Placed(beat)[5], 1);
  const auto end = [&](int64_t lane) {
    service.Pass(absl::Seconds(4), {1, 2});
    service.Tell(service.Placed(beat)[lane],
                 {{.job = 1, .incarnation = 1, .at = {0, lane}, .ended = true}});
  };
  end(1);  // After 4 seconds.
  end(3);  // After 8: so they take 5 now, and twice that is too long.
  beat.waits_for = api::LaneAddress{0, 5};
  service.Pass(absl::Seconds(2), {1, 2});
  beat.waits_ms = 10'000;
  EXPECT_EQ(service.Placed(beat)[5], 1);
  service.Pass(absl::Seconds(1), {1, 2});
  beat.waits_ms = 11'000;
  EXPECT_EQ(service.Placed(beat)[5], 2);
}

TEST(PlaceLanesTest, AStragglerMovesToAWorkerWithMoreToDo) {
  api::WorkerFacts small = Facts(2);
  small.lanes_max = 1;
  Service service = With({Facts(1), small});
  api::ConsumerBeat beat = Reader(service, {3, 4, 5});
  ASSERT_THAT(service.Placed(beat),
              UnorderedElementsAre(Pair(3, 1), Pair(4, 2), Pair(5, 1)));
  service.Pass(absl::Minutes(1), {1, 2});
  beat.waits_for = api::LaneAddress{0, 5};
  beat.waits_ms = 60'000;
  EXPECT_EQ(service.Placed(beat)[5], 2);
}

TEST(PlaceLanesTest, NobodyWaitsLongForTheOtherLanesOfASlowWorker) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3, 4, 5});
  ASSERT_THAT(service.Placed(beat),
              UnorderedElementsAre(Pair(3, 1), Pair(4, 2), Pair(5, 1)));
  service.Pass(absl::Seconds(31), {1, 2});
  beat.waits_for = api::LaneAddress{0, 3};
  beat.waits_ms = 31'000;
  ASSERT_EQ(service.Placed(beat)[3], 2);
  EXPECT_EQ(service.Placed(beat)[5], 1) << "it is not waited for yet";
  beat.waits_for = api::LaneAddress{0, 5};
  beat.waits_ms = 1;
  EXPECT_EQ(service.Placed(beat)[5], 2);
  beat.needs.push_back({{0, 6}, 0, true});
  EXPECT_EQ(service.Placed(beat)[6], 2) << "who is slow comes last";
}

TEST(PlaceLanesTest, ASlowWorkerThatFinishesALaneIsSlowNoMore) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3, 4, 5});
  service.Placed(beat);
  service.Pass(absl::Seconds(31), {1, 2});
  beat.waits_for = api::LaneAddress{0, 3};
  beat.waits_ms = 31'000;
  ASSERT_EQ(service.Placed(beat)[3], 2);
  service.Tell(1,
               {{.job = 1, .incarnation = 1, .at = {0, 5}, .rows = 1, .ended = true}});
  beat.waits_for = std::nullopt;
  beat.needs.push_back({{0, 6}, 0, true});
  EXPECT_EQ(service.Placed(beat)[6], 1);
}

// Nobody finds a worker that is fast enough: each has longer than the one before.
TEST(PlaceLanesTest, ALaneThatIsSlowEverywhereIsGivenEverMoreTime) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  beat.waits_for = api::LaneAddress{0, 3};
  std::vector<int64_t> moves;
  int64_t worker = 1;
  for (int64_t second = 1; second <= 300; ++second) {
    service.Pass(absl::Seconds(1), {1, 2});
    beat.waits_ms += 1000;
    const int64_t now = service.Placed(beat)[3];
    if (std::exchange(worker, now) != now) moves.push_back(second);
  }
  EXPECT_THAT(moves, ElementsAre(31, 92, 212));
}

TEST(PlaceLanesTest, LanesDoNotGoRoundAmongSlowWorkers) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3, 4});
  ASSERT_THAT(service.Placed(beat), UnorderedElementsAre(Pair(3, 1), Pair(4, 2)));
  service.Pass(absl::Seconds(31), {1, 2});
  beat.waits_ms = 31'000;
  beat.waits_for = api::LaneAddress{0, 3};
  ASSERT_EQ(service.Placed(beat)[3], 2);
  beat.waits_for = api::LaneAddress{0, 4};
  ASSERT_EQ(service.Placed(beat)[4], 1) << "both are slow now";
  beat.waits_ms = 1;
  const int64_t version = service.Tell(1).version;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(service.Placed(beat)[4], 1);
  EXPECT_EQ(service.Tell(1).version, version);
}

// Consumers that take their time make lanes long: that is no reason to wait for a
// worker that does nothing.
TEST(PlaceLanesTest, LongLanesDoNotMakeTheLimitLonger) {
  Service service = With({Facts(1), Facts(2)});
  api::ConsumerBeat beat = Reader(service, {3, 5});
  ASSERT_THAT(service.Placed(beat), UnorderedElementsAre(Pair(3, 1), Pair(5, 2)));
  service.Pass(absl::Hours(1), {1, 2});
  service.Tell(1, {{.job = 1, .incarnation = 1, .at = {0, 3}, .ended = true}});
  beat.waits_for = api::LaneAddress{0, 5};
  beat.waits_ms = 31'000;
  EXPECT_EQ(service.Placed(beat)[5], 1);
}

// It was stopped, and goes on as if nothing had happened.
TEST(PlaceLanesTest, WhoWakesUpAfterItsLanesWereMovedLetsGoOfThem) {
  Service service = With({Facts(1), Facts(2)});
  const api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Pass(absl::Seconds(3), {2});
  ASSERT_EQ(service.Placed(beat)[3], 2);
  ASSERT_TRUE(
      service.Tell(1, {{.job = 1, .incarnation = 1, .at = {0, 3}, .rows = 4}}).join);
  api::WorkerBeat again{.worker = 1, .facts = Facts(1)};
  again.lanes = {{.job = 1,
                  .incarnation = 1,
                  .at = {0, 3},
                  .rows = 8,
                  .ended = true,
                  .released = true}};
  EXPECT_THAT(service.Send(again)->assigned, IsEmpty());
  EXPECT_THAT(LanesOf(service, 2), ElementsAre(3)) << "it is the other's";
}

TEST(PlaceLanesTest, AStragglerStaysWhereThereIsNobodyElse) {
  Service service = With({Facts(1)});
  api::ConsumerBeat beat = Reader(service, {3});
  ASSERT_EQ(service.Placed(beat)[3], 1);
  service.Pass(absl::Minutes(1), {1});
  beat.waits_for = api::LaneAddress{0, 3};
  beat.waits_ms = 60'000;
  EXPECT_EQ(service.Placed(beat)[3], 1);
}

}  // namespace
}  // namespace millrace::control
