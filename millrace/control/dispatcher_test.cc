#include "millrace/control/dispatcher.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/error.h"
#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/control/dispatcher_test.h"
#include "millrace/control/events.h"
#include "millrace/control/state.h"

namespace millrace::control {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using base::IsOk;
using base::StatusIs;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// --- Opening ---

TEST(DispatcherTest, AConsumerWaitsForAWorkerToListItsSources) {
  Service service;
  EXPECT_EQ(service.Send(Opening())->waits_for,
            "a worker to join: start one with `millrace worker`");
  service.Join(Facts(1));
  EXPECT_EQ(service.Send(Opening())->waits_for, "a worker to list the sources");
  const api::WorkerNews news = service.Tell(1);
  ASSERT_EQ(news.jobs.size(), 1);
  EXPECT_EQ(news.jobs[0].pipeline, "hash");
  EXPECT_EQ(news.jobs[0].manifest, "") << "so it is to list them";
  service.List(1, Listed(true));
  const api::OpenedJob opened = *service.Send(Opening());
  EXPECT_TRUE(opened.ready);
  EXPECT_EQ(opened.waits_for, "");
  EXPECT_EQ(opened.job, 1);
  EXPECT_EQ(opened.incarnation, 1);
  EXPECT_EQ(opened.generation, 1);
  EXPECT_EQ(opened.tracks, 16);
  EXPECT_EQ(opened.facts, Listed(true));
  EXPECT_EQ(opened.heartbeat_ms, 1000);
  EXPECT_THAT(service.Tell(1).jobs, IsEmpty()) << "that is done";
}

TEST(DispatcherTest, ARunBeginsWhenAllItsConsumersHaveCome) {
  Service service;
  service.Join(Facts(1));
  EXPECT_EQ(service.Send(Opening(1, 3))->waits_for,
            "consumers that have not opened yet, of 3: 0, 2");
  EXPECT_EQ(service.Send(Opening(0, 3))->waits_for,
            "consumers that have not opened yet, of 3: 2");
  EXPECT_EQ(service.dispatcher().state().Find(1)->incarnation, 0);
  EXPECT_EQ(service.Send(Opening(2, 3))->waits_for, "a worker to list the sources");
  service.List(1, Listed(true));
  for (int64_t i = 0; i < 3; ++i) {
    const api::OpenedJob opened = *service.Send(Opening(i, 3));
    EXPECT_TRUE(opened.ready);
    EXPECT_EQ(opened.incarnation, 1);
    EXPECT_EQ(opened.tracks, 18) << "a multiple of the consumers";
  }
}

TEST(DispatcherTest, AllConsumersGoOnFromTheStateTheyLoad) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob open = Opening();
  open.state = "{\"version\":1}";
  service.Start({open});
  EXPECT_EQ(service.Send(open)->state, open.state);
}

TEST(DispatcherTest, AConsumerMustBeOneOfThem) {
  Service service;
  EXPECT_THAT(service.Send(Opening(2, 2)),
              StatusIs(kInvalidArgument, "no such consumer: 2 of 2, member 0 of 1"));
  EXPECT_THAT(service.Send(Opening(-1, 2)), StatusIs(kInvalidArgument));
  api::OpenJob open = Opening();
  open.member = 1;
  EXPECT_THAT(service.Send(open), StatusIs(kInvalidArgument));
  EXPECT_THAT(service.journal, IsEmpty());
}

TEST(DispatcherTest, SettingsWithoutMeaningAreRefused) {
  Service service;
  api::OpenJob open = Opening();
  open.settings.visit = "at_most_once";
  EXPECT_THAT(service.Send(open),
              StatusIs(kInvalidArgument, HasSubstr("order=\"fixed\" needs")));
}

TEST(DispatcherTest, OpeningMayBeRepeatedWithoutHarm) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening(0, 2), Opening(1, 2)});
  const api::OpenedJob opened = *service.Send(Opening(1, 2));
  const size_t events = service.journal.size();
  EXPECT_EQ(*service.Send(Opening(1, 2)), opened);
  EXPECT_EQ(service.journal.size(), events);
}

TEST(DispatcherTest, AnOpeningIsGivenItsNumberAndLaterOnesHigherOnes) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob open = Opening();
  open.opening = 0;
  const int64_t first = service.Send(open)->opening;
  EXPECT_GT(first, 0);
  EXPECT_GT(service.Send(open)->opening, first);
  service.Restart();
  EXPECT_GT(service.Send(open)->opening, first + 1);
  EXPECT_EQ(service.dispatcher().state().Named("train"), 0) << "nothing is begun yet";
}

TEST(DispatcherTest, ASeedIsTheJobsOwnOrDrawn) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob given = Opening();
  given.settings.name = "given";
  given.settings.seed = 42;
  service.Start({given});
  EXPECT_EQ(service.Send(given)->seed, 42);
  service.Start({Opening()});
  api::OpenJob other = Opening();
  other.settings.name = "other";
  service.Start({other});
  EXPECT_NE(service.Send(other)->seed, service.Send(Opening())->seed);
  EXPECT_GE(service.Send(other)->seed, 0);
}

TEST(DispatcherTest, LanesThatNeedAllMemoryAreOpenedOneAtATime) {
  Service service;
  service.Join(Facts(1));
  service.Accept(Opening());
  api::JobFacts facts = Listed(true);
  facts.lane_bytes = int64_t{1} << 40;
  service.List(1, facts);
  EXPECT_EQ(service.Send(Opening())->tracks, 1) << "one lane is always open";
}

// --- Listing ---

TEST(DispatcherTest, SourcesThatCannotBeListedAreAnErrorOfTheOpening) {
  Service service;
  service.Join(Facts(1));
  service.Accept(Opening());
  service.Accept(api::WorkerBeat{
      .worker = 1,
      .listed = {{1, "", {}, api::Error{"NOT_FOUND", "no such bucket: s3://photos"}}}});
  EXPECT_THAT(service.Send(Opening()),
              StatusIs(kNotFound, "no such bucket: s3://photos"));
  api::OpenJob again = Opening();
  again.opening = 2;
  EXPECT_EQ(service.Send(again)->waits_for, "a worker to list the sources")
      << "who opens again has it tried again";
  service.List(1, Listed(true));
  EXPECT_TRUE(service.Send(again)->ready);
}

TEST(DispatcherTest, AnotherWorkerListsWhenTheFirstIsLost) {
  Service service;
  service.Join(Facts(1));
  service.Accept(Opening());
  service.Join(Facts(2));
  EXPECT_THAT(service.Tell(2).jobs, IsEmpty());
  service.Pass(absl::Seconds(3), {2});
  service.List(2, Listed(true));
  EXPECT_TRUE(service.Send(Opening())->ready);
}

// Listing reads no rows, so a worker that may not run the lanes may do it.
TEST(DispatcherTest, AnyWorkerMayListWhateverTheTarget) {
  for (const char* target : {"any", "local", "remote"}) {
    Service service;
    service.Join(Facts(1));
    api::OpenJob open = Opening();
    open.settings.target = target;
    service.Accept(open);
    service.List(1, Listed(true));
    EXPECT_TRUE(service.Send(open)->ready) << target;
  }
}

TEST(DispatcherTest, WithStaticShardingAnyWorkerMayList) {
  Service service;
  api::WorkerFacts second = Facts(1);
  second.index = 1;
  second.of = 2;
  service.Join(second);
  api::OpenJob open = Opening();
  open.settings.sharding = "static";
  service.Accept(open);
  service.List(1, Listed(true));
  EXPECT_TRUE(service.Send(open)->ready);
}

TEST(DispatcherTest, ARunOfAnotherPipelineIsListedAnew) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  api::OpenJob other = Opening();
  other.run.restart = 1;
  other.opening = 2;
  other.settings.pipeline = "another";
  EXPECT_EQ(service.Send(other)->waits_for, "a worker to list the sources");
  service.List(1, {.manifest = "other sha"});
  EXPECT_EQ(service.Send(other)->facts.manifest, "other sha");
}

// --- Who may take over ---

TEST(DispatcherTest, AnotherRunMayNotTakeAJobThatIsRead) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  EXPECT_THAT(
      service.Send(OtherRun("slurm-2", 0)),
      StatusIs(kFailedPrecondition,
               "job \"train\" is read by run \"slurm-1\" (restart 0) on host a: "
               "wait for it to end, choose another name, or open with "
               "takeover=True"));
}

TEST(DispatcherTest, AnotherRunTakesAJobOnceItsReadersAreSilent) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  service.Pass(absl::Seconds(3), {1});
  EXPECT_THAT(service.Send(OtherRun("slurm-2", 0)), StatusIs(kFailedPrecondition));
  service.Pass(absl::Milliseconds(1), {1});
  EXPECT_EQ(service.Send(OtherRun("slurm-2", 0))->incarnation, 2);
}

TEST(DispatcherTest, AConsumerThatBeatsKeepsItsJob) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  for (int second = 0; second < 10; ++second) {
    service.Pass(absl::Seconds(1), {1});
    ASSERT_THAT(service.Send(beat), IsOk());
  }
  EXPECT_THAT(service.Send(OtherRun("slurm-2", 0)), StatusIs(kFailedPrecondition));
}

TEST(DispatcherTest, WhoLeavesNeedsNothingAndLetsOthersHaveTheJobAtOnce) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = Needs({0, 1});
  service.Accept(beat);
  EXPECT_EQ(service.Tell(1).assigned.size(), 2);
  api::ConsumerBeat last = beat;
  last.leaves = true;
  service.Accept(last);
  EXPECT_TRUE(service.Tell(1).assigned.empty());
  service.Accept(beat);  // It comes late.
  EXPECT_TRUE(service.Tell(1).assigned.empty());
  EXPECT_EQ(service.Send(OtherRun("slurm-2", 0))->incarnation, 2);
}

TEST(DispatcherTest, AWorkerIsToldFirstWhatIsNeededSoonest) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = Needs({9, 3, 7, 1});
  beat.needs[0].now = false;
  service.Placed(beat);
  std::vector<int64_t> lanes;
  for (const api::AssignedLane& lane : service.Tell(1).assigned) {
    lanes.push_back(lane.at.lane);
  }
  EXPECT_THAT(lanes, ElementsAre(3, 7, 1, 9)) << "what is ahead comes last";
}

TEST(DispatcherTest, WhatWasTakenAndLeftOutIsToldWhenAllHaveLeft) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.taken = 7;
  beat.left_out_rows = 3;
  beat.pass = 1;
  beat.leaves = true;
  service.Accept(beat);
  const api::JobSummary job =
      service.dispatcher().Tell(api::ListJobs(), service.now).jobs.at(0);
  EXPECT_EQ(job.taken, 7);
  EXPECT_EQ(job.left_out_rows, 3);
  EXPECT_EQ(job.pass, 1);
  EXPECT_THAT(service.dispatcher().TakeNotices(),
              Contains(Field(&Notice::what, "rows left out")));
}

TEST(DispatcherTest, WithinARunAJobStaysWhatItIs) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  service.Accept(beat);
  api::OpenJob again = Opening();
  again.opening = 2;
  const auto with = [&](const auto& change) {
    api::OpenJob other = again;
    change(other.settings);
    return service.Send(other);
  };
  EXPECT_THAT(with([](api::JobSettings& job) { job.pipeline = "other"; }),
              StatusIs(kInvalidArgument, HasSubstr("differ in pipeline")));
  EXPECT_THAT(with([](api::JobSettings& job) { job.order = "any"; }),
              StatusIs(kInvalidArgument, HasSubstr("differ in order")));
  EXPECT_THAT(with([](api::JobSettings& job) { job.consumers = 2; }),
              StatusIs(kInvalidArgument, HasSubstr("differ in consumers: 1 and 2")));
  EXPECT_THAT(service.Send(again), IsOk()) << "the same may be opened again";
}

TEST(DispatcherTest, WhoHasLeftAJobMayRunAnotherOfItsName) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat last = service.Start({Opening()})[0];
  last.leaves = true;
  service.Accept(last);
  api::OpenJob other = Opening();
  other.opening = 2;
  other.settings.pipeline = "other";
  other.settings.order = "any";
  EXPECT_EQ(service.Start({other})[0].reader.incarnation, 2);
}

TEST(DispatcherTest, WhatHasNoMeaningForTheListedSourcesIsRefused) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::OpenJob> opens = {Opening(0, 2), Opening(1, 2)};
  for (api::OpenJob& open : opens) {
    open.settings.remainder = "";
    service.Accept(open);
  }
  service.List(1, Listed(true));
  EXPECT_THAT(service.Send(opens[0]),
              StatusIs(kInvalidArgument, HasSubstr("needs remainder")));
}

TEST(DispatcherTest, TheNextRunMayBringItsOwnSeed) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  const int64_t drawn = service.Send(Opening())->seed;
  api::OpenJob other = OtherRun("slurm-1", 1);
  EXPECT_EQ(service.Send(other)->seed, drawn) << "it is the job's";
  other = OtherRun("slurm-1", 2);
  other.opening = 3;
  other.settings.seed = 42;
  EXPECT_EQ(service.Send(other)->seed, 42);
}

TEST(DispatcherTest, TheSameLauncherTakesOverWhenItRestarts) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  EXPECT_EQ(service.Send(OtherRun("slurm-1", 1))->incarnation, 2);
  EXPECT_THAT(service.Send(Opening()),
              StatusIs(kFailedPrecondition,
                       "job \"train\" was taken over by run \"slurm-1\" (restart 1) on "
                       "host b"));
  api::OpenJob late = Opening();
  late.opening = 3;
  EXPECT_THAT(service.Send(late), StatusIs(kFailedPrecondition, HasSubstr("restart 1")))
      << "the restart before must not take it back";
}

TEST(DispatcherTest, ARestartTakesOverThoughItsClockWasSetBack) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob first = Opening();
  first.opening = 1'000'000;
  service.Start({first});
  EXPECT_EQ(service.Send(OtherRun("slurm-1", 1))->incarnation, 2);
  EXPECT_THAT(service.Send(first),
              StatusIs(kFailedPrecondition, HasSubstr("restart 1")))
      << "what is late of the run before is late all the same";
}

TEST(DispatcherTest, WhoAsksForItTakesOver) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  api::OpenJob other = OtherRun("slurm-2", 0);
  other.takeover = true;
  EXPECT_EQ(service.Send(other)->incarnation, 2);
}

// Two programs that nobody has given an id are not one run because of that.
TEST(DispatcherTest, RunsWithoutAnIdAreToldApartByTheirHosts) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob first = Opening();
  first.run.id = "";
  service.Start({first});
  EXPECT_THAT(service.Send(OtherRun("", 0)),
              StatusIs(kFailedPrecondition, HasSubstr("is read by run \"\"")));
}

TEST(DispatcherTest, AReaderThatWasTakenOverIsToldByWhom) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat old = service.Start({Opening()})[0];
  api::OpenJob later = Opening();
  later.opening = 2;
  const api::ConsumerBeat beat = service.Start({later})[0];
  EXPECT_EQ(beat.reader.incarnation, 2);
  EXPECT_EQ(beat.reader.generation, 2);
  EXPECT_THAT(service.Send(beat), IsOk());
  EXPECT_THAT(service.Send(old),
              StatusIs(kFailedPrecondition,
                       "job \"train\" was taken over by run \"slurm-1\" (restart 0) on "
                       "host a"));
}

// A rank of a larger run before has no place in this one, though nobody has its number.
TEST(DispatcherTest, ARankOfTheRunBeforeDoesNotComeBack) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening(0, 2), Opening(1, 2)});
  service.Start({OtherRun("slurm-1", 1)});
  EXPECT_THAT(service.Send(Opening(1, 2)),
              StatusIs(kFailedPrecondition, HasSubstr("taken over by run")));
}

// It asked to take over once; repeating that does not take the job back.
TEST(DispatcherTest, ARankThatTookOverDoesNotDoSoAgain) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::OpenJob> opens = {Opening(0, 2), Opening(1, 2)};
  for (api::OpenJob& open : opens) open.takeover = true;
  service.Start(opens);
  api::OpenJob other = OtherRun("slurm-2", 0);
  other.takeover = true;
  service.Start({other});
  EXPECT_THAT(service.Send(opens[1]),
              StatusIs(kFailedPrecondition, HasSubstr("by run \"slurm-2\"")));
}

TEST(DispatcherTest, GenerationsOnlyGrow) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening(0, 2), Opening(1, 2)});
  service.Start({OtherRun("slurm-1", 1)});
  std::vector<api::OpenJob> opens = {Opening(0, 2), Opening(1, 2)};
  for (api::OpenJob& open : opens) {
    open.run.restart = 2;
    open.opening = 3;
  }
  const std::vector<api::ConsumerBeat> beats = service.Start(opens);
  EXPECT_EQ(beats[0].reader.generation, 3);
  EXPECT_EQ(beats[1].reader.generation, 2) << "it was not in the second run";
  EXPECT_EQ(beats[1].reader.incarnation, 3);
}

// --- News ---

TEST(DispatcherTest, AReaderOfNoJobIsAnError) {
  Service service;
  EXPECT_THAT(service.Send(api::ConsumerBeat{.reader = {.job = 9}}),
              StatusIs(kNotFound, "no such job: 9"));
}

TEST(DispatcherTest, AnUnknownWorkerIsAskedToJoin) {
  Service service;
  EXPECT_TRUE(service.Tell(1).join);
  EXPECT_FALSE(service.Join(Facts(1)).join);
  EXPECT_FALSE(service.Tell(1).join);
}

TEST(DispatcherTest, AConsumerLearnsWhereItsLanesAre) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = Needs({4});
  EXPECT_THAT(service.Send(beat)->placed, ElementsAre(api::PlacedLane{{0, 4}, -1}))
      << "it is placed only after this was answered";
  const api::ConsumerNews news = *service.Send(beat);
  EXPECT_THAT(news.placed, ElementsAre(api::PlacedLane{{0, 4}, 1}));
  EXPECT_THAT(news.workers, ElementsAre(api::WorkerPlace{1, "10.0.0.1:5050", "host1"}));
}

TEST(DispatcherTest, AWorkerLearnsWhatToRunWithWhatIsNeededNowFirst) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()})[0];
  beat.needs = {{{0, 1}, 0, false}, {{0, 2}, 8, true}};
  service.Accept(beat);
  const api::WorkerNews news = service.Tell(1);
  EXPECT_THAT(news.assigned, ElementsAre(api::AssignedLane{1, 1, {0, 2}, 8, 1, true},
                                         api::AssignedLane{1, 1, {0, 1}, 0, 1, false}));
  ASSERT_EQ(news.jobs.size(), 1);
  EXPECT_EQ(news.jobs[0].manifest, "sha");
  EXPECT_EQ(news.jobs[0].incarnation, 1);
  EXPECT_EQ(news.jobs[0].seed, service.dispatcher().state().Find(1)->seed);
}

TEST(DispatcherTest, ABeatThatWasOvertakenChangesNothing) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat late = service.Start({Opening()})[0];
  late.number = 1;
  late.needs = Needs({3});
  api::ConsumerBeat urgent = late;
  urgent.number = 2;
  urgent.needs = Needs({4});
  service.Accept(urgent);
  service.Accept(late);
  EXPECT_THAT(service.Placed(urgent), ElementsAre(Pair(4, 1)));
  EXPECT_THAT(service.Tell(1).assigned,
              ElementsAre(Field(&api::AssignedLane::at, api::LaneAddress{0, 4})));
}

TEST(DispatcherTest, NewsHoldOnlyWhatHasChangedAndWhatIsNeeded) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  beats[0].needs = Needs({1, 2});
  beats[1].needs = Needs({2, 3});
  for (const api::ConsumerBeat& beat : beats) service.Accept(beat);
  api::ConsumerNews news = *service.Send(beats[0]);
  EXPECT_EQ(news.placed.size(), 3) << "the others' lanes too: it may need them soon";
  beats[0].version = news.version;
  news = *service.Send(beats[0]);
  EXPECT_EQ(news.version, beats[0].version);
  EXPECT_THAT(news.placed,
              ElementsAre(api::PlacedLane{{0, 1}, 1}, api::PlacedLane{{0, 2}, 1}));
}

TEST(DispatcherTest, AVersionOfAnotherDispatcherIsAsGoodAsNone) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  beats[1].needs = Needs({3});
  service.Accept(beats[1]);
  beats[0].version = int64_t{1} << 60;
  EXPECT_THAT(service.Send(beats[0])->placed, ElementsAre(api::PlacedLane{{0, 3}, 1}));
}

// --- Rows that are learnt by running lanes ---

TEST(DispatcherTest, ConsumersLearnFromOneAnother) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats =
      service.Start({Opening(0, 2), Opening(1, 2)}, Listed(false));
  beats[0].known = {{{0, 5}, 12, true}};
  beats[1].needs = Needs({5, 6});
  service.Accept(beats[0]);
  EXPECT_THAT(service.Send(beats[1])->known,
              ElementsAre(api::KnownRows{{0, 5}, 12, true}));
}

TEST(DispatcherTest, WhatWorkersLearnIsTold) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  service.Tell(1, {Report(5, 8)});
  api::ConsumerNews news = *service.Send(beat);
  EXPECT_THAT(news.known, ElementsAre(api::KnownRows{{0, 5}, 8, false}));
  service.Tell(1, {Report(5, 4)});  // A late one.
  news = *service.Send(beat);
  EXPECT_THAT(news.known, ElementsAre(api::KnownRows{{0, 5}, 8, false}));
  service.Tell(1, {Report(5, 10, true)});
  news = *service.Send(beat);
  EXPECT_THAT(news.known, ElementsAre(api::KnownRows{{0, 5}, 10, true}));
}

TEST(DispatcherTest, OnlyEndsAreWrittenDownAndOnce) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  const size_t events = service.journal.size();
  service.Tell(1, {Report(5, 8)});
  EXPECT_EQ(service.journal.size(), events);
  for (int i = 0; i < 3; ++i) service.Tell(1, {Report(5, 10, true)});
  EXPECT_EQ(service.journal.size(), events + 1);
  EXPECT_EQ(service.dispatcher().state().Find(1)->ends.at({0, 5}).rows, 10);
}

TEST(DispatcherTest, WhatIsCountedBeforehandIsNotLearnt) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(true))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  const size_t events = service.journal.size();
  service.Tell(1, {Report(5, 10, true)});
  EXPECT_EQ(service.journal.size(), events);
  EXPECT_THAT(service.Send(beat)->known, IsEmpty());
}

TEST(DispatcherTest, ALaneThatCameOutOtherwiseFailsThePass) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  service.Tell(1, {Report(5, 10, true)});
  service.Tell(1, {Report(5, 11, true)});
  const api::ConsumerNews news = *service.Send(beat);
  ASSERT_TRUE(news.failed.has_value());
  EXPECT_EQ(news.failed->code, "DATA_LOSS");
  EXPECT_EQ(news.failed->message,
            "lane 5 came out with 10 rows and then with 11: a function is not "
            "deterministic, or a file has changed");
}

TEST(DispatcherTest, AConsumerThatKnowsOtherwiseIsTold) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat beat = service.Start({Opening()}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Accept(beat);
  service.Tell(1, {Report(5, 10)});
  beat.known = {{{0, 5}, 9, true}};
  EXPECT_THAT(service.Send(beat), StatusIs(kDataLoss, HasSubstr("lane 5 came out")));
}

TEST(DispatcherTest, ReportsOfAStartBeforeChangeNothing) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()}, Listed(false));
  api::OpenJob later = Opening();
  later.opening = 2;
  api::ConsumerBeat beat = service.Start({later}, Listed(false))[0];
  beat.needs = Needs({5});
  service.Tell(1, {Report(5, 10, true)});
  EXPECT_THAT(service.Send(beat)->known, IsEmpty());
}

// --- Forgetting ---

// A hundred thousand lanes, a few at a time: what is known stays small, and so does
// what a restart has to read.
TEST(DispatcherTest, LanesThatAllHavePassedAreForgotten) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats =
      service.Start({Opening(0, 2), Opening(1, 2)}, Listed(false));
  const size_t snapshot = service.dispatcher().state().Snapshot().size();
  size_t largest = 0;
  for (int64_t lane = 0; lane < 100'000; lane += 50) {
    std::vector<int64_t> needed;
    std::vector<api::LaneReport> reports;
    for (int64_t i = lane; i < lane + 50; ++i) {
      needed.push_back(i);
      reports.push_back(Report(i, 10, true));
      reports.back().released = true;
    }
    for (api::ConsumerBeat& beat : beats) {
      beat.needs = Needs(needed);
      const api::ConsumerNews news = *service.Send(beat);
      ASSERT_LE(news.known.size(), 100);
      beat.version = news.version;
    }
    service.Tell(1, reports);
    ASSERT_LE(service.dispatcher().state().Find(1)->ends.size(), 100);
    service.journal.clear();
    if (lane % 5000 > 0) continue;
    largest = std::max(largest, service.dispatcher().state().Snapshot().size());
  }
  EXPECT_LE(largest, snapshot + 6400);
}

TEST(DispatcherTest, LanesAreKeptWhileOneConsumerHasNotToldWhatItNeeds) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats =
      service.Start({Opening(0, 2), Opening(1, 2)}, Listed(false));
  beats[0].known = {{{0, 5}, 12, true}};
  beats[0].needs = Needs({6});
  service.Accept(beats[0]);
  EXPECT_EQ(service.dispatcher().state().Find(1)->ends.size(), 1);
  beats[1].needs = Needs({6});
  service.Accept(beats[1]);
  EXPECT_EQ(service.dispatcher().state().Find(1)->ends.size(), 0);
}

TEST(DispatcherTest, AJobIsForgottenADayAfterItsLastReader) {
  Service service;
  service.Join(Facts(1));
  const api::ConsumerBeat beat = service.Start({Opening()})[0];
  service.now += absl::Hours(23);
  service.Join(Facts(1));
  ASSERT_THAT(service.Send(beat), IsOk());
  service.now += absl::Hours(24);
  service.Join(Facts(1));
  EXPECT_NE(service.dispatcher().state().Find(1), nullptr);
  service.now += absl::Seconds(1);
  service.Tell(1);
  EXPECT_EQ(service.dispatcher().state().Find(1), nullptr);
  EXPECT_THAT(service.Send(beat), StatusIs(kNotFound));
  EXPECT_EQ(service.Start({Opening()})[0].reader.job, 2);
}

}  // namespace
}  // namespace millrace::control
