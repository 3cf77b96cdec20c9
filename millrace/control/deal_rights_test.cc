// What the dispatcher tells consumers of a pass in any order.

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/rights.h"
#include "millrace/api/service.h"
#include "millrace/api/state.h"
#include "millrace/api/stream.h"
#include "millrace/base/status_matchers.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/events.h"
#include "millrace/control/state.h"
#include "millrace/lanes/manifest.h"
#include "millrace/lanes/rest.h"
#include "millrace/lanes/state.h"
#include "millrace/lanes/taken.h"

namespace millrace::control {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using lanes::kRowsMax;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kNow = absl::FromUnixSeconds(1000);

// A dispatcher with one worker and a job of two consumers, in batches of 4 rows.
class Job {
 public:
  explicit Job(std::vector<std::string> states = {"", ""},
               const std::string& visit = "exactly_once") {
    settings_ = {.name = "job", .pipeline = "text", .consumers = 2, .order = "any"};
    settings_.visit = visit;
    settings_.remainder = "keep";
    api::WorkerBeat worker{.worker = 7};
    worker.facts = api::WorkerFacts{.worker = 7, .lanes_max = 4};
    EXPECT_THAT(dispatcher_.Beat(worker, kNow), IsOk());
    for (int64_t i = 0; i < 2; ++i) opened_ = Open(i, states[i]);
    dispatcher_.Place(kNow);
    worker.listed.push_back({.job = 1});
    worker.listed[0].facts.manifest = "files";
    EXPECT_THAT(dispatcher_.Beat(worker, kNow), IsOk());
  }

  Dispatcher& dispatcher() { return dispatcher_; }

  const absl::StatusOr<api::OpenedJob>& opened() const { return opened_; }

  // A beat about pass 0, as long as the dispatcher has no facts with these.
  absl::StatusOr<api::ConsumerNews> Beat(int64_t consumer, api::PassBeat about,
                                         std::vector<api::KnownRows> known = {}) {
    api::ConsumerBeat beat{.reader = {1, 1, consumer, 0, 1}};
    beat.known = std::move(known);
    beat.passes = {std::move(about)};
    return dispatcher_.Beat(beat, kNow);
  }

  api::PassNews Tell(int64_t consumer, api::PassBeat about = {},
                     std::vector<api::KnownRows> known = {}) {
    const auto news = Beat(consumer, std::move(about), std::move(known));
    EXPECT_THAT(news, IsOk());
    return news.ok() && !news->passes.empty() ? news->passes[0] : api::PassNews();
  }

  static api::PassBeat Facts(int64_t lanes, std::vector<api::LaneRun> rows = {}) {
    api::PassFacts facts{.lanes = lanes, .batch_rows = 4};
    facts.rows = std::move(rows);
    return {.facts = facts};
  }

 private:
  absl::StatusOr<api::OpenedJob> Open(int64_t consumer, const std::string& state) {
    api::OpenJob open{.settings = settings_, .run = {"run", 0, "host"}};
    open.consumer = consumer;
    open.opening = 1;
    open.state = state;
    return dispatcher_.Open(open, kNow);
  }

  Dispatcher dispatcher_{{}, 1};
  api::JobSettings settings_;
  absl::StatusOr<api::OpenedJob> opened_;
};

TEST(DealRightsTest, LeasesAFewLanesToEach) {
  Job job;
  const api::PassNews news = job.Tell(0, Job::Facts(9));
  EXPECT_THAT(news.rights, ElementsAre(api::Right{1, 0, 0, kRowsMax},
                                       api::Right{3, 2, 0, kRowsMax}));
  EXPECT_FALSE(news.leased);
  EXPECT_EQ(news.horizon, 0);
  EXPECT_EQ(job.Tell(1).rights.size(), 2);
}

TEST(DealRightsTest, LeasesToThoseThatWereDealtTheFewestBatches) {
  Job job;
  // One lane of 10 batches, and small ones.
  const api::PassNews news = job.Tell(0, Job::Facts(4, {{1, 40}, {3, 4}}));
  EXPECT_EQ(news.rights[0].lane, 0);
  const api::PassNews other = job.Tell(1);
  ASSERT_EQ(other.rights.size(), 2);
  EXPECT_EQ(other.rights[0].lane, 1);
  EXPECT_EQ(other.rights[1].lane, 2);
}

TEST(DealRightsTest, LeasesMoreToThoseThatHaveNothingLeft) {
  Job job;
  job.Tell(0, Job::Facts(9, {{9, 1}}));
  EXPECT_EQ(job.Tell(0).rights.size(), 2);
  EXPECT_EQ(job.Tell(0, {.hungry = true}).rights.size(), 4);
}

TEST(DealRightsTest, SendsAHorizonOfWhatIsKnownToExist) {
  Job job;
  job.Tell(0, Job::Facts(2));
  EXPECT_EQ(job.Tell(0, {}, {{{0, 0}, 12, false}}).horizon, 1) << "3 / 2";
  EXPECT_EQ(job.Tell(0, {}, {{{0, 1}, 7, false}}).horizon, 2) << "(3 + 1) / 2";
  const api::PassNews news = job.Tell(0, {}, {{{0, 0}, 13, true}, {{0, 1}, 7, true}});
  // 3 + 1 whole ones, and one of 1 + 3 rows.
  EXPECT_TRUE(news.final);
  EXPECT_EQ(news.horizon, 3);
  EXPECT_EQ(job.Tell(1).horizon, 2);
}

TEST(DealRightsTest, DealsWhatIsLeftOnceAllHaveGivenItUp) {
  Job job;
  job.Tell(0, Job::Facts(2, {{1, 5}, {1, 7}}));  // 1 + 1, and 1 + 3 rows.
  const api::PassNews news = job.Tell(0);
  EXPECT_EQ(news.give_rows, 1);
  EXPECT_FALSE(news.settled);
  job.Tell(0, {.promises = {{1, 4, 5, api::kToLeftovers}}});
  EXPECT_EQ(job.Tell(0).rights.size(), 1);
  const api::PassNews other = job.Tell(1, {.promises = {{2, 4, 7, api::kToLeftovers}}});
  EXPECT_TRUE(other.settled);
  const api::PassNews dealt = job.Tell(0);
  ASSERT_EQ(dealt.rights.size(), 3);
  EXPECT_EQ(dealt.rights[1].group, dealt.rights[2].group);
}

TEST(DealRightsTest, MovesWhatWasPromised) {
  Job job;
  job.Tell(0, Job::Facts(1, {{1, 12}}));  // 3 batches: two for the first.
  const api::PassNews news = job.Tell(0);
  EXPECT_THAT(news.asks, ElementsAre(api::Ask{1, 1}));
  const api::PassBeat promised{.promises = {{1, 8, 12, 1}}};
  job.Tell(0, promised);
  EXPECT_THAT(job.Tell(1).rights, ElementsAre(api::Right{2, 0, 8, 12}));
  job.Tell(0, promised);
  EXPECT_EQ(job.Tell(1).rights.size(), 1) << "an old answer changes nothing";
  EXPECT_THAT(job.Tell(0).asks, IsEmpty());
  EXPECT_TRUE(job.Tell(0).settled);
}

TEST(DealRightsTest, RefusesPromisesOfWhatIsAnothers) {
  Job job;
  job.Tell(0, Job::Facts(1, {{1, 12}}));
  job.Tell(1, {.promises = {{1, 8, 12, 1}}});
  job.Tell(0, {.promises = {{1, 8, 12, 2}, {1, 8, 12, api::kToNobody}}});
  EXPECT_THAT(job.Tell(0).rights, ElementsAre(api::Right{1, 0, 0, 12}));
}

TEST(DealRightsTest, AsksForALaneWhereSomebodyHasNothingLeft) {
  Job job;
  job.Tell(0, Job::Facts(1));
  EXPECT_THAT(job.Tell(0).asks, IsEmpty());
  job.Tell(1, {.hungry = true});
  EXPECT_THAT(job.Tell(0).asks, ElementsAre(api::Ask{1, 0}));
}

TEST(DealRightsTest, CountsWhatWasReceivedWhereTheRestMayBeLost) {
  Job job({"", ""}, "at_most_once");
  job.Tell(0, Job::Facts(1, {{1, 12}}));
  EXPECT_EQ(job.Tell(0).horizon, 0);
  EXPECT_EQ(job.Tell(0, {.received = {{1, 8}}}).horizon, 1);
  const api::PassNews news =
      job.Tell(0, {.promises = {{1, 8, 12, api::kToNobody}}, .received = {{1, 8}}});
  EXPECT_TRUE(news.final);
  EXPECT_EQ(news.horizon, 1) << "two batches are left, one for each";
}

TEST(DealRightsTest, CountsWhatIsDeliveredAgain) {
  Job job({"", ""}, "at_least_once");
  job.Tell(0, Job::Facts(1, {{1, 8}}));
  job.Tell(0, {.redo = {{1, 4}}});
  const api::PassNews news = job.Tell(0, {.received = {{2, 8}}});
  EXPECT_THAT(news.rights, ElementsAre(api::Right{2, 0, 0, 8}));
  EXPECT_TRUE(news.final);
  EXPECT_EQ(news.horizon, 2) << "three batches, one of them for the other";
  job.Tell(0, {.redo = {{2, 4}}});
  EXPECT_THAT(job.Tell(0).rights, ElementsAre(api::Right{2, 0, 0, 8}))
      << "all is counted";
}

TEST(DealRightsTest, LeasesOnlyWhatAStateLeftOpen) {
  std::vector<std::string> parts;
  for (int64_t i = 0; i < 2; ++i) {
    lanes::State state;
    state.lanes = 2;
    state.part = i;
    state.parts = 2;
    lanes::Taken taken;
    if (i == 0) taken.Add({0, 4, 8});
    if (i == 1) taken.AddFinished(1, 2);
    lanes::SetTaken(state, taken);
    parts.push_back(api::StateToJson(state));
  }
  Job job(parts);
  ASSERT_THAT(job.opened(), IsOk());
  const api::PassNews news = job.Tell(0, Job::Facts(2));
  EXPECT_THAT(news.rights,
              ElementsAre(api::Right{1, 0, 0, 4}, api::Right{2, 0, 8, kRowsMax}));
  EXPECT_TRUE(news.leased);
}

TEST(DealRightsTest, RefusesFactsThatMakeNoSense) {
  const auto refused = [](const api::PassBeat& about, const std::string& why) {
    Job job;
    EXPECT_THAT(job.Beat(0, about),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused(Job::Facts(int64_t{1} << 40), "absurd number of lanes");
  refused(Job::Facts(2, {{1, 5}}), "2 lanes, but rows of 1");
  refused(Job::Facts(2, {{3, 5}}), "a run of 3 lanes");
  api::PassBeat about = Job::Facts(2);
  about.facts->batch_rows = 0;
  refused(about, "batches of so many rows: 0");
}

TEST(DealRightsTest, RefusesConsumersThatSeeAnotherPass) {
  Job job;
  job.Tell(0, Job::Facts(2));
  EXPECT_THAT(job.Beat(1, Job::Facts(3)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("another number")));
}

TEST(DealRightsTest, ReplaysToTheSameRights) {
  Job job;
  job.Tell(0, Job::Facts(2, {{1, 5}, {1, 7}}));
  job.Tell(0, {.promises = {{1, 4, 5, api::kToLeftovers}}});
  job.Tell(1, {.promises = {{2, 4, 7, api::kToLeftovers}}, .finished = {{2, 4}}});
  State again;
  for (const std::string& line : job.dispatcher().TakeEvents()) {
    ASSERT_THAT(again.Apply(FromLine(line).value()), IsOk());
  }
  EXPECT_EQ(again.Snapshot(), job.dispatcher().state().Snapshot());
  const auto copy = State::FromSnapshot(again.Snapshot());
  ASSERT_THAT(copy, IsOk());
  EXPECT_EQ(*copy, again);
}

// Else it would be told again and again to run what nobody needs.
TEST(DealRightsTest, LetsAWorkerGoOfALaneThatNobodyPlaced) {
  Job job;
  api::WorkerBeat beat{.worker = 7};
  beat.lanes = {{.job = 1, .incarnation = 1, .at = {0, 0, 5}, .rows = 8}};
  const auto news = job.dispatcher().Beat(beat, kNow);
  ASSERT_THAT(news, IsOk());
  EXPECT_THAT(news->assigned, IsEmpty());
}

TEST(DealRightsTest, AdoptsWhatWorkersRunAfterARestart) {
  Job job;
  Dispatcher again({}, 1);
  ASSERT_THAT(again.Restore("", job.dispatcher().TakeEvents(), kNow), IsOk());
  api::WorkerBeat beat{.worker = 7};
  beat.facts = api::WorkerFacts{.worker = 7};
  beat.lanes = {{.job = 1, .incarnation = 1, .at = {0, 0, 5}, .rows = 8}};
  const auto news = again.Beat(beat, kNow);
  ASSERT_THAT(news, IsOk());
  EXPECT_EQ(news->assigned.size(), 1);
}

TEST(DealRightsTest, KnowsNoPassFarAhead) {
  Job job;
  api::PassBeat about = Job::Facts(2);
  about.pass = about.facts->pass = 2;
  job.Tell(0, about);
  EXPECT_THAT(job.dispatcher().state().Find(1)->passes, IsEmpty());
}

TEST(DealRightsTest, LeasesTheNextPassOnceAllOfThisOneIs) {
  Job job;
  job.Tell(0, Job::Facts(9));
  api::PassBeat next = Job::Facts(2);
  next.pass = next.facts->pass = 1;
  EXPECT_THAT(job.Tell(0, next).rights, IsEmpty());
  job.Tell(0, {.hungry = true});
  job.Tell(1, {.hungry = true});
  job.Tell(1, {.hungry = true});
  EXPECT_EQ(job.Tell(0, {.pass = 1}).rights.size(), 1);
}

TEST(DealRightsTest, ForgetsAPassOnceAllHaveGoneOn) {
  Job job;
  job.Tell(0, Job::Facts(2));
  api::ConsumerBeat beat{.reader = {1, 1, 0, 0, 1}, .pass = 1};
  ASSERT_THAT(job.dispatcher().Beat(beat, kNow), IsOk());
  EXPECT_EQ(job.dispatcher().state().Find(1)->passes.size(), 1);
  beat.reader.consumer = 1;
  const auto news = job.dispatcher().Beat(beat, kNow);
  ASSERT_THAT(news, IsOk());
  EXPECT_EQ(news->passes_over, 1);
  EXPECT_THAT(job.dispatcher().state().Find(1)->passes, IsEmpty());
  EXPECT_THAT(job.Tell(0, Job::Facts(2)).rights, IsEmpty()) << "an old beat";
}

TEST(DealRightsTest, APassThatNobodyCanReachIsRefused) {
  Job job;
  api::ConsumerBeat beat{.reader = {1, 1, 0, 0, 1}};
  beat.pass = std::numeric_limits<int64_t>::max();
  beat.passes = {Job::Facts(2)};
  EXPECT_THAT(job.dispatcher().Beat(beat, kNow),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("a pass must be 0 to")));
}

// A beat from a pass far ahead about any number of others.
TEST(DealRightsTest, PassesUnderWayAreBounded) {
  Job job;
  api::ConsumerBeat beat{.reader = {1, 1, 0, 0, 1}, .pass = 10'000};
  for (int64_t pass = 0; pass < 1'000; ++pass) {
    api::PassBeat& about = beat.passes.emplace_back(Job::Facts(1));
    about.pass = about.facts->pass = pass;
  }
  EXPECT_THAT(job.dispatcher().Beat(beat, kNow), IsOk());
  EXPECT_EQ(job.dispatcher().state().Find(1)->passes.size(), 256);
}

TEST(DealRightsTest, LanesOfAllPassesUnderWayAreBounded) {
  Job job;
  api::ConsumerBeat beat{.reader = {1, 1, 0, 0, 1}, .pass = 10};
  for (int64_t pass = 0; pass < 10; ++pass) {
    api::PassBeat& about = beat.passes.emplace_back(Job::Facts(int64_t{1} << 24));
    about.pass = about.facts->pass = pass;
  }
  EXPECT_THAT(job.dispatcher().Beat(beat, kNow), IsOk());
  EXPECT_EQ(job.dispatcher().state().Find(1)->passes.size(), 2);
}

TEST(DealRightsTest, LeftoversAreLessThanABatch) {
  Job job;
  job.Tell(0, Job::Facts(1, {{1, 1'000'000'000'000}}));
  job.Tell(0, {.promises = {{1, 0, 1'000'000'000'000, api::kToLeftovers},
                            {1, 4, 8, api::kToLeftovers}}});
  EXPECT_EQ(job.Tell(0).rights.size(), 1) << "dealing it would take for ever";
}

// Finished lanes cost an event each.
TEST(DealRightsTest, LeasesSoManyLanesForABeatAndGoesOnWithTheNext) {
  lanes::State state;
  state.lanes = 20'000;
  lanes::Taken taken;
  taken.AddFinished(0, state.lanes - 1);
  lanes::SetTaken(state, taken);
  Job job(std::vector<std::string>(2, api::StateToJson(state)));
  ASSERT_THAT(job.opened(), IsOk());
  job.dispatcher().TakeEvents();
  EXPECT_FALSE(job.Tell(0, Job::Facts(state.lanes)).leased);
  EXPECT_LT(job.dispatcher().TakeEvents().size(), 17'000);
  EXPECT_TRUE(job.Tell(0).leased);
}

// What consumers say of rows may add up to more than a number holds.
TEST(DealRightsTest, CountsOfAbsurdlyManyRowsStop) {
  Job job({"", ""}, "at_least_once");
  job.Tell(0, Job::Facts(40));
  for (int64_t number = 1; number < 40; ++number) {
    for (const int64_t consumer : {0, 1}) {
      job.Tell(consumer, {.redo = {{number, kRowsMax}}, .hungry = true});
    }
  }
  EXPECT_LE(job.Tell(0).horizon, kRowsMax);
}

}  // namespace
}  // namespace millrace::control
