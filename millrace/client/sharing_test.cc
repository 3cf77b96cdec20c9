// Jobs that share their rows, over real sockets: what each is given, and what it costs.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/operations.h"
#include "millrace/api/service.h"
#include "millrace/base/clock.h"
#include "millrace/client/consumer.h"
#include "millrace/client/running_service_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/worker/worker.h"

namespace millrace::client {
namespace {

using testing::Each;
using testing::IsSupersetOf;
using testing::SizeIs;

constexpr int64_t kRows = 4000;

// What workers tell of it within a few heartbeats.
api::JobVisits VisitsOnce(Service& service, const std::string& name,
                          const std::function<bool(const api::JobVisits&)>& there) {
  const absl::Time limit = base::RealClock().Now() + absl::Seconds(20);
  api::JobVisits visits = service.JobNamed(name).visits;
  while (!there(visits) && base::RealClock().Now() < limit) {
    visits = service.JobNamed(name).visits;
  }
  return visits;
}

int64_t RowsIn(const api::JobVisits& visits) {
  return visits.made + visits.shared + visits.again;
}

std::unique_ptr<Consumer> Open(const Service& service, const std::string& name,
                               const ir::Pipeline& pipeline,
                               const std::string& share = "search") {
  ConsumerOptions options = Options(service);
  options.settings.name = name;
  options.settings.share = share;
  options.credit_bytes = 1 << 10;
  return Consumer::Open(pipeline, options).value();
}

// Workers that make little of one job before there is another to keep it for.
void AddWorkers(Service& service, int workers) {
  for (int i = 0; i < workers; ++i) service.AddWorker({.lane_buffer_bytes = 250});
}

TEST(SharingTest, TwoJobsReadTheSameRowsWhichAreMadeOnce) {
  Service service(0);
  AddWorkers(service, 2);
  const ir::Pipeline pipeline = Doubled(kRows, 16);
  const std::unique_ptr<Consumer> one = Open(service, "one", pipeline);
  const std::unique_ptr<Consumer> other = Open(service, "other", pipeline);
  const std::vector<Batch> rows = Read(*one);
  EXPECT_EQ(Sorted(rows), Expected(kRows, false));
  EXPECT_EQ(Read(*other), rows);
  const auto all = [](const api::JobVisits& visits) { return RowsIn(visits) >= kRows; };
  const api::JobVisits first = VisitsOnce(service, "one", all);
  const api::JobVisits second = VisitsOnce(service, "other", all);
  EXPECT_LT(first.made + second.made, kRows * 3 / 2);
  EXPECT_GT(first.shared + second.shared, kRows / 2);
  EXPECT_EQ(service.JobNamed("one").sharers, 2);
  EXPECT_EQ(service.JobNamed("one").group, "search");
}

TEST(SharingTest, BatchesOfAnotherSizeHaveTheSameRows) {
  Service service(0);
  AddWorkers(service, 1);
  const std::unique_ptr<Consumer> one = Open(service, "one", Filtered(kRows, 16));
  const std::unique_ptr<Consumer> other = Open(service, "other", Filtered(kRows, 7));
  const std::vector<int64_t> expected = Expected(kRows, true);
  EXPECT_EQ(Sorted(Read(*other)), expected);
  EXPECT_EQ(Sorted(Read(*one)), expected);
  const auto all = [](const api::JobVisits& visits) {
    return RowsIn(visits) >= std::ssize(Expected(kRows, true));
  };
  const api::JobVisits first = VisitsOnce(service, "one", all);
  const api::JobVisits second = VisitsOnce(service, "other", all);
  EXPECT_LT(first.made + second.made, std::ssize(expected) * 3 / 2);
  EXPECT_GT(first.shared + second.shared, std::ssize(expected) / 2);
}

TEST(SharingTest, ATinyWindowStillGivesEverythingOnce) {
  Service service(0);
  service.AddWorker({.lane_buffer_bytes = 1000, .window_bytes = 1000});
  const ir::Pipeline pipeline = Doubled(kRows, 16);
  const std::unique_ptr<Consumer> fast = Open(service, "fast", pipeline);
  const std::unique_ptr<Consumer> slow = Open(service, "slow", pipeline);
  const std::vector<Batch> first = Read(*slow, 3);
  const std::vector<Batch> rows = Read(*fast);
  EXPECT_EQ(Sorted(rows), Expected(kRows, false));
  std::vector<Batch> rest = Read(*slow);
  rest.insert(rest.begin(), first.begin(), first.end());
  EXPECT_EQ(rest, rows);
}

TEST(SharingTest, AtMostOnceDoesWithoutWhatHasFallenOut) {
  Service service(0);
  service.AddWorker({.lane_buffer_bytes = 1000, .window_bytes = 1000});
  const ir::Pipeline pipeline = Doubled(kRows / 2, 16);
  const std::unique_ptr<Consumer> fast = Open(service, "fast", pipeline);
  ConsumerOptions options = Options(service);
  options.settings.name = "slow";
  options.settings.share = "search";
  options.settings.order = "any";
  options.settings.visit = "at_most_once";
  options.credit_bytes = 1000;
  const std::unique_ptr<Consumer> slow = Consumer::Open(pipeline, options).value();
  std::vector<Batch> rows = Read(*slow, 2);
  EXPECT_EQ(Sorted(Read(*fast)), Expected(kRows / 2, false));
  for (Batch& batch : Read(*slow)) rows.push_back(batch);
  const std::vector<int64_t> given = Sorted(rows);
  EXPECT_THAT(Expected(kRows / 2, false), IsSupersetOf(given));
  // Which lanes it had begun when it fell back is a matter of time.
  const int64_t lacking = kRows / 2 - std::ssize(given);
  const auto told = [&](const api::JobVisits& visits) {
    return visits.skipped >= lacking;
  };
  EXPECT_EQ(VisitsOnce(service, "slow", told).skipped, lacking);
}

TEST(SharingTest, ALateJobInAnyOrderGetsEverythingOnce) {
  Service service(2);
  const ir::Pipeline pipeline = Doubled(kRows, 16);
  const auto open = [&](const std::string& name) {
    ConsumerOptions options = Options(service);
    options.settings.name = name;
    options.settings.share = "search";
    options.settings.order = "any";
    options.credit_bytes = 1 << 12;
    return Consumer::Open(pipeline, options).value();
  };
  const std::unique_ptr<Consumer> early = open("early");
  std::vector<Batch> rows = Read(*early, 100);
  const std::unique_ptr<Consumer> late = open("late");
  EXPECT_EQ(Sorted(Read(*late)), Expected(kRows, false));
  for (Batch& batch : Read(*early)) rows.push_back(batch);
  EXPECT_EQ(Sorted(rows), Expected(kRows, false));
}

TEST(SharingTest, OffMeansOffAndAnotherSeedDoesNotShare) {
  Service service(1);
  const ir::Pipeline pipeline = Doubled(kRows, 16);
  const auto open = [&](const std::string& name, const std::string& share,
                        int64_t seed) {
    ConsumerOptions options = Options(service);
    options.settings.name = name;
    options.settings.share = share;
    options.settings.seed = seed;
    return Consumer::Open(pipeline, options).value();
  };
  for (const auto& consumer :
       {open("one", "auto", 7), open("off", "off", 7), open("seed", "auto", 8)}) {
    EXPECT_EQ(Sorted(Read(*consumer)), Expected(kRows, false));
  }
  for (const std::string name : {"one", "off", "seed"}) {
    EXPECT_EQ(service.JobNamed(name).visits.shared, 0) << name;
    EXPECT_EQ(service.JobNamed(name).sharers, 1) << name;
  }
}

TEST(SharingTest, AWorkerAndTheDispatcherMayBeLostMeanwhile) {
  Service service(2);
  const ir::Pipeline pipeline = Filtered(10 * kRows, 16);
  const auto open = [&](const std::string& name) {
    ConsumerOptions options = Options(service);
    options.settings.name = name;
    options.settings.share = "search";
    options.credit_bytes = 1 << 12;
    return Consumer::Open(pipeline, options).value();
  };
  const std::vector<std::unique_ptr<Consumer>> jobs = [&] {
    std::vector<std::unique_ptr<Consumer>> opened;
    for (const std::string name : {"one", "other"}) opened.push_back(open(name));
    return opened;
  }();
  std::vector<std::vector<Batch>> rows;
  for (const auto& job : jobs) rows.push_back(Read(*job, 20));
  service.LoseWorker();
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (Batch& batch : Read(*jobs[i], 20)) rows[i].push_back(batch);
  }
  service.RestartDispatcher();
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (Batch& batch : Read(*jobs[i])) rows[i].push_back(batch);
    EXPECT_EQ(Sorted(rows[i]), Expected(10 * kRows, true));
  }
}

}  // namespace
}  // namespace millrace::client
