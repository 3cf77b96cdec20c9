// Which jobs are told to share their rows, and where these are made (dispatcher.h).

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"

namespace millrace::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

api::JobFacts Rows(const std::string& rows = "rows") {
  api::JobFacts facts = Listed(true);
  facts.rows_hash = rows;
  facts.joins = 4;
  return facts;
}

// A job of one consumer.
api::OpenJob Job(const std::string& name, const std::string& share = "auto") {
  api::OpenJob open = Opening();
  open.settings.name = name;
  open.settings.share = share;
  if (share == "auto") open.settings.seed = 7;
  return open;
}

// It needs these lanes now.
api::ConsumerBeat Reader(Service& service, const api::OpenJob& open,
                         const std::vector<int64_t>& lanes,
                         const api::JobFacts& facts = Rows()) {
  api::ConsumerBeat beat = service.Start({open}, facts)[0];
  beat.needs = Needs(lanes);
  service.Accept(beat);
  return beat;
}

// What a worker is told of a job.
api::WorkerJob Told(Service& service, int64_t worker, int64_t job) {
  const api::WorkerNews news = service.Tell(worker);
  for (const api::WorkerJob& told : news.jobs) {
    if (told.job == job) return told;
  }
  return {};
}

api::JobSummary Shown(Service& service, int64_t number) {
  const api::JobList list = service.dispatcher().Tell(api::ListJobs(), service.now);
  for (const api::JobSummary& job : list.jobs) {
    if (job.job == number) return job;
  }
  return {};
}

TEST(ShareGroupsTest, AJobAloneIsTold) {
  Service service;
  service.Join(Facts(1));
  Reader(service, Job("one"), {0});
  const api::WorkerJob told = Told(service, 1, 1);
  EXPECT_EQ(told.sharers, 1);
  EXPECT_EQ(told.joins, 4);
}

TEST(ShareGroupsTest, WorkersHearWhenAnotherComesAndWhenItIsGone) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat one = Reader(service, Job("one"), {0});
  const int64_t before = service.Tell(1).version;
  api::ConsumerBeat other = Reader(service, Job("other"), {5});
  EXPECT_GT(service.Tell(1).version, before);
  EXPECT_EQ(Told(service, 1, 1).sharers, 2);
  EXPECT_EQ(Told(service, 1, 1).share, Told(service, 1, 2).share);
  other.leaves = true;
  other.number = 5;
  service.Accept(other);
  EXPECT_EQ(Told(service, 1, 1).sharers, 1);
}

TEST(ShareGroupsTest, AWorkerThatHasRunALaneOfAGroupHearsOfIt) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat one = Reader(service, Job("one"), {0});
  api::ConsumerBeat other = Reader(service, Job("other"), {});
  one.needs = {};
  one.number = 5;
  service.Accept(one);
  EXPECT_THAT(service.Tell(1).assigned, IsEmpty());
  EXPECT_EQ(Told(service, 1, 1).sharers, 2) << "it keeps rows for the other";
  EXPECT_EQ(Told(service, 1, 2).sharers, 2);
  for (api::ConsumerBeat* const beat : {&one, &other}) {
    beat->leaves = true;
    beat->number = 9;
    service.Accept(*beat);
  }
  EXPECT_THAT(service.Tell(1).jobs, IsEmpty());
}

TEST(ShareGroupsTest, WhoIsSilentForLongSharesNoMore) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat one = Reader(service, Job("one"), {0});
  Reader(service, Job("other"), {0});
  EXPECT_EQ(Told(service, 1, 1).sharers, 2);
  for (int i = 0; i < 10; ++i) {
    service.Pass(absl::Seconds(1), {1});
    service.Accept(one);
  }
  EXPECT_EQ(Told(service, 1, 1).sharers, 1);
}

TEST(ShareGroupsTest, WhoBatchesOtherwiseIsCutAsTheFirst) {
  Service service;
  service.Join(Facts(1));
  api::JobFacts coarse = Rows();
  coarse.cuts = "coarse";
  coarse.lanes = 3;
  api::JobFacts fine = Rows();
  fine.cuts = "fine";
  fine.lanes = 30;
  Reader(service, Job("one"), {0}, coarse);
  Reader(service, Job("other"), {0}, fine);
  EXPECT_EQ(Told(service, 1, 2).sharers, 2);
  EXPECT_EQ(Told(service, 1, 2).cuts, "coarse");
  EXPECT_EQ(service.dispatcher().state().Find(2)->facts->lanes, 3);
  Reader(service, Job("alone", "off"), {0}, fine);
  EXPECT_EQ(Told(service, 1, 3).cuts, "fine");
}

TEST(ShareGroupsTest, OtherRowsAnotherSeedOrOffDoNotShare) {
  Service service;
  service.Join(Facts(1));
  Reader(service, Job("one"), {0});
  Reader(service, Job("rows"), {0}, Rows("others"));
  api::OpenJob seeded = Job("seed");
  seeded.settings.seed = 8;
  Reader(service, seeded, {0});
  Reader(service, Job("off", "off"), {0});
  for (const int64_t job : {1, 2, 3, 4}) EXPECT_EQ(Told(service, 1, job).sharers, 1);
  EXPECT_THAT(Told(service, 1, 4).share, IsEmpty());
}

TEST(ShareGroupsTest, ALaneGoesWhereTheOthersOfItsGroupHaveIt) {
  Service service;
  for (const int64_t worker : {1, 2, 3}) service.Join(Facts(worker));
  const api::ConsumerBeat one = Reader(service, Job("one"), {0, 1, 2});
  const std::map<int64_t, int64_t> placed = service.Placed(one);
  const api::ConsumerBeat other = Reader(service, Job("other"), {2, 1, 0});
  EXPECT_EQ(service.Placed(other), placed);
}

TEST(ShareGroupsTest, ALaneGoesWhereItWasRunThoughTheOthersAreDoneWithIt) {
  Service service;
  for (const int64_t worker : {1, 2, 3}) service.Join(Facts(worker));
  api::ConsumerBeat one = Reader(service, Job("one"), {0});
  api::ConsumerBeat other = Reader(service, Job("other"), {});
  const int64_t worker = service.Placed(one)[0];
  one.needs = {};
  one.number = 3;
  service.Accept(one);
  other.needs = Needs({0});
  other.number = 3;
  EXPECT_THAT(service.Placed(other), ElementsAre(Pair(0, worker)));
}

TEST(ShareGroupsTest, ASharedLaneCountsOnceAmongThoseOfAWorker) {
  Service service;
  service.Join(Facts(1));
  Reader(service, Job("one"), {0, 1});
  Reader(service, Job("other"), {0, 1});
  const api::WorkerList list =
      service.dispatcher().Tell(api::ListWorkers(), service.now);
  EXPECT_EQ(list.workers.at(0).lanes, 2);
}

TEST(ShareGroupsTest, WhoNamesAGroupTakesItsSeedAndItsPass) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat one = Reader(service, Job("one", "search"), {0});
  one.pass = 3;
  one.number = 2;
  service.Accept(one);
  const api::OpenJob late = Job("late", "search");
  service.Start({late}, Rows());
  const api::OpenedJob opened = *service.Send(late);
  EXPECT_EQ(opened.first_pass, 3);
  EXPECT_EQ(opened.seed, service.dispatcher().state().Find(1)->seed);
  EXPECT_EQ(Told(service, 1, 1).sharers, 2);
  service.Restart();
  EXPECT_EQ(service.dispatcher().state().Find(2)->first_pass, 3);
}

TEST(ShareGroupsTest, RowsAreKeptForThoseThatANamedGroupStillExpects) {
  Service service;
  service.Join(Facts(1));
  Reader(service, Job("one", "search"), {0});
  EXPECT_EQ(Told(service, 1, 1).sharers, 2);
}

TEST(ShareGroupsTest, WithASeedOfItsOwnItBeginsAtTheBeginning) {
  Service service;
  service.Join(Facts(1));
  api::ConsumerBeat one = Reader(service, Job("one", "search"), {0});
  one.pass = 3;
  one.number = 2;
  service.Accept(one);
  api::OpenJob late = Job("late", "search");
  late.settings.seed = 99;
  service.Start({late}, Rows());
  EXPECT_EQ(service.Send(late)->first_pass, 0);
  EXPECT_EQ(service.Send(late)->seed, 99);
}

TEST(ShareGroupsTest, HoldingBackIsTheGroupsAndSkippingTheJobs) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob holds = Job("one");
  holds.settings.share_hold_ms = 1500;
  Reader(service, holds, {0});
  api::OpenJob skips = Job("other");
  skips.settings.order = "any";
  skips.settings.visit = "at_most_once";
  Reader(service, skips, {0});
  EXPECT_EQ(Told(service, 1, 2).hold_ms, 1500);
  EXPECT_TRUE(Told(service, 1, 2).skips);
  EXPECT_FALSE(Told(service, 1, 1).skips);
}

TEST(ShareGroupsTest, WhatWorkersDidIsShownAndKeptWhenTheyAreGone) {
  Service service;
  service.Join(Facts(1));
  service.Join(Facts(2));
  const api::ConsumerBeat one = Reader(service, Job("one"), {0});
  api::WorkerBeat beat{.worker = 1};
  beat.visits = {{.job = 1, .incarnation = 1, .made = 10, .shared = 5, .lag = 4}};
  service.Accept(beat);
  service.Accept(beat);  // It is told again and again.
  beat.worker = 2;
  service.Accept(beat);
  EXPECT_EQ(Shown(service, 1).visits.made, 20);
  EXPECT_EQ(Shown(service, 1).visits.lag, 8);
  beat.left = true;
  service.Accept(beat);
  EXPECT_EQ(Shown(service, 1).visits.made, 20);
  EXPECT_EQ(Shown(service, 1).visits.lag, 4);
  beat.visits[0].incarnation = 9;
  beat.worker = 1;
  beat.left = false;
  service.Accept(beat);
  EXPECT_EQ(Shown(service, 1).visits.made, 20);
}

}  // namespace
}  // namespace millrace::control
