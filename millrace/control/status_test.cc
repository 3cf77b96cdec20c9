// What a dispatcher tells people and their tools, and what it notes for logs.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/control/dispatcher.h"
#include "millrace/control/dispatcher_test.h"

namespace millrace::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

api::ServiceStatus StatusOf(Service& service) {
  return service.dispatcher().Tell(api::GetStatus{}, service.now);
}

api::JobSummary JobOf(Service& service) {
  const api::JobList list = service.dispatcher().Tell(api::ListJobs{}, service.now);
  EXPECT_EQ(list.jobs.size(), 1);
  return list.jobs.at(0);
}

std::vector<api::WorkerSummary> WorkersOf(Service& service) {
  return service.dispatcher().Tell(api::ListWorkers{}, service.now).workers;
}

std::vector<std::string_view> NoticesOf(Service& service) {
  std::vector<std::string_view> notices;
  for (const Notice& notice : service.dispatcher().TakeNotices()) {
    notices.push_back(notice.what);
  }
  return notices;
}

TEST(StatusTest, CountsWhatThereIs) {
  Service service;
  EXPECT_EQ(StatusOf(service), api::ServiceStatus{.ready = true});
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening()});
  beats[0].needs = Needs({0, 1, 2});
  service.Placed(beats[0]);
  EXPECT_EQ(
      StatusOf(service),
      (api::ServiceStatus{
          .ready = true, .jobs = 1, .workers = 1, .lanes_placed = 3, .placements = 3}));
}

TEST(StatusTest, ARestartedDispatcherIsReadyWhenAllHadTimeToTell) {
  Service service;
  service.Join(Facts(1));
  service.Start({Opening()});
  service.Restart();
  EXPECT_FALSE(StatusOf(service).ready);
  EXPECT_THAT(StatusOf(service).waits_for, HasSubstr("workers"));
  service.now += absl::Seconds(2);
  EXPECT_TRUE(StatusOf(service).ready);
  EXPECT_EQ(StatusOf(service).waits_for, "");
}

TEST(StatusTest, TellsOfAJob) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::OpenJob> opens = {Opening(0, 2), Opening(1, 2)};
  for (api::OpenJob& open : opens) open.settings.seed = 11;
  std::vector<api::ConsumerBeat> beats = service.Start(opens);
  for (int64_t i = 0; i < 2; ++i) {
    beats[i].needs = Needs({i});
    beats[i].pass = 3 + i;
    beats[i].taken = 10;
    service.Accept(beats[i]);
  }
  service.now += absl::Milliseconds(700);
  api::JobSummary wanted{.job = 1, .name = "train", .pipeline = "hash"};
  wanted.order = "fixed";
  wanted.consumers = wanted.consumers_heard = 2;
  wanted.incarnation = 1;
  wanted.run = {"slurm-1", 0, "a"};
  wanted.lanes = 100;
  wanted.pass = 3;
  wanted.taken = 20;
  wanted.lanes_placed = 2;
  wanted.heard_ms = 700;
  wanted.state = "running";
  wanted.seed = 11;
  wanted.workers = 1;
  EXPECT_EQ(JobOf(service), wanted);
  service.now += absl::Seconds(3);
  EXPECT_EQ(JobOf(service).consumers_heard, 0);
}

TEST(StatusTest, SaysHowFastBatchesAreTaken) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  for (int64_t taken = 0; taken <= 60; taken += 20) {
    for (api::ConsumerBeat& beat : beats) {
      beat.taken = taken;
      service.Accept(beat);
    }
    if (taken < 60) service.now += absl::Seconds(1);
  }
  EXPECT_DOUBLE_EQ(JobOf(service).batches_per_second, 40);
}

TEST(StatusTest, SaysWhichConsumersWaitTheLongestFirst) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  for (int64_t i = 0; i < 2; ++i) {
    beats[i].needs = Needs({i});
    beats[i].waits_for = api::LaneAddress{.pass = 0, .lane = i};
    beats[i].waits_ms = 100 * (i + 1);
    service.Placed(beats[i]);
  }
  const std::vector<api::WaitingConsumer> waiting = JobOf(service).waiting;
  ASSERT_EQ(waiting.size(), 2);
  EXPECT_EQ(waiting[0], (api::WaitingConsumer{.consumer = 1,
                                              .waits_ms = 200,
                                              .lane = {.pass = 0, .lane = 1},
                                              .worker = "10.0.0.1:5050"}));
  EXPECT_EQ(waiting[1].consumer, 0);
}

TEST(StatusTest, OfManyWhoWaitItNamesAFew) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::OpenJob> opens;
  for (int64_t i = 0; i < 100; ++i) opens.push_back(Opening(i, 100));
  for (api::ConsumerBeat& beat : service.Start(opens)) {
    beat.waits_for = api::LaneAddress{.pass = 0, .lane = 3};
    service.Accept(beat);
  }
  EXPECT_EQ(JobOf(service).waiting.size(), 16);
}

TEST(StatusTest, AJobThatAllHaveLeftIsOver) {
  Service service;
  service.Join(Facts(1));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening(0, 2), Opening(1, 2)});
  beats[0].leaves = true;
  service.Accept(beats[0]);
  EXPECT_EQ(JobOf(service).state, "running");
  beats[1].leaves = true;
  service.Accept(beats[1]);
  EXPECT_EQ(JobOf(service).state, "over: its consumers have left");
}

TEST(StatusTest, SaysWhatAJobWaitsFor) {
  Service service;
  service.Accept(Opening(0, 2));
  EXPECT_EQ(JobOf(service).state, "waits for all its consumers");
  api::OpenJob second = Opening(1, 2);
  service.Accept(second);
  EXPECT_THAT(JobOf(service).state, HasSubstr("start one with `millrace worker`"));
  service.Join(Facts(1));
  EXPECT_EQ(JobOf(service).state, "waits for a worker to list the sources");
}

TEST(StatusTest, AJobWhoseWorkersAreNotThereSaysWhichItWants) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob open = Opening();
  open.settings.target = "local";
  std::vector<api::ConsumerBeat> beats = service.Start({open});
  beats[0].needs = Needs({0, 1});
  service.Accept(beats[0]);
  EXPECT_EQ(JobOf(service).lanes_waiting, 2);
  EXPECT_EQ(JobOf(service).state, "waits for a worker on its consumer's host");
  EXPECT_EQ(StatusOf(service).lanes_waiting, 2);
}

TEST(StatusTest, AnOpeningSaysWhichWorkerIsMissing) {
  Service service;
  service.Join(Facts(1));
  api::OpenJob open = Opening();
  open.settings.tags = {"gpu"};
  EXPECT_THAT(service.Send(open)->waits_for,
              HasSubstr("a worker with the tag gpu to join"));
}

TEST(StatusTest, TellsOfWorkers) {
  Service service;
  service.Join(Facts(1));
  service.Join(Facts(2));
  std::vector<api::ConsumerBeat> beats = service.Start({Opening()});
  service.Tell(2);
  beats[0].needs = Needs({0});
  service.Placed(beats[0]);
  service.now += absl::Milliseconds(500);
  api::WorkerBeat leaving{.worker = 2};
  leaving.draining = true;
  service.Accept(leaving);
  const std::vector<api::WorkerSummary> workers = WorkersOf(service);
  ASSERT_EQ(workers.size(), 2);
  EXPECT_EQ(workers[0],
            (api::WorkerSummary{.facts = Facts(1), .lanes = 1, .heard_ms = 500}));
  EXPECT_EQ(workers[1], (api::WorkerSummary{.facts = Facts(2), .draining = true}));
  EXPECT_EQ(StatusOf(service).workers_draining, 1);
}

TEST(StatusTest, NotesWhatHappens) {
  Service service;
  service.Join(Facts(1));
  service.Join(Facts(1));
  EXPECT_THAT(NoticesOf(service), ElementsAre("worker joined"));
  service.Start({Opening()});
  const std::vector<Notice> begun = service.dispatcher().TakeNotices();
  ASSERT_EQ(begun.size(), 1);
  EXPECT_EQ(begun[0].what, "job begun");
  EXPECT_EQ(begun[0].name, "train");
  EXPECT_THAT(begun[0].why, HasSubstr("slurm-1"));
  service.Pass(absl::Seconds(3));
  service.dispatcher().Place(service.now);
  EXPECT_THAT(NoticesOf(service), ElementsAre("worker lost"));
  EXPECT_THAT(NoticesOf(service), IsEmpty());
}

TEST(StatusTest, NoticesThatNobodyTakesAreBounded) {
  Service service;
  for (int64_t worker = 0; worker < 5000; ++worker) service.Join(Facts(worker));
  EXPECT_LE(service.dispatcher().TakeNotices().size(), 1024);
}

}  // namespace
}  // namespace millrace::control
