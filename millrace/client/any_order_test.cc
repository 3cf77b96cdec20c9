// Jobs in any order, over real sockets: every row once, in whatever order it comes.

#include <algorithm>
#include <cstdint>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/api/state.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/client/running_service_test.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/state.h"

namespace millrace::client {
namespace {

using absl::StatusCode;
using base::StatusIs;
using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

ConsumerOptions AnyOptions(const Service& service, int64_t consumer = 0,
                           int64_t consumers = 1) {
  ConsumerOptions options = Options(service, consumer, consumers);
  options.settings.order = "any";
  return options;
}

std::vector<ConsumerOptions> Several(const Service& service, int64_t consumers,
                                     const std::string& name) {
  std::vector<ConsumerOptions> all;
  for (int64_t i = 0; i < consumers; ++i) {
    all.push_back(AnyOptions(service, i, consumers));
    all.back().settings.name = name;
  }
  return all;
}

std::vector<Batch> All(const std::vector<std::vector<Batch>>& streams) {
  std::vector<Batch> all;
  for (const std::vector<Batch>& batches : streams) {
    all.insert(all.end(), batches.begin(), batches.end());
  }
  return all;
}

TEST(AnyOrderTest, GivesEveryRowOncePassAfterPass) {
  Service service(2);
  for (const bool filtered : {false, true}) {
    ConsumerOptions options = AnyOptions(service);
    options.settings.name = base::StrCat("filtered ", filtered);
    auto consumer =
        Consumer::Open(filtered ? Filtered(1000, 7) : Doubled(1000, 7), options)
            .value();
    for (int pass = 0; pass < 3; ++pass) {
      EXPECT_EQ(consumer->pass(), pass);
      EXPECT_EQ(Sorted(Read(*consumer)), Expected(1000, filtered)) << pass;
    }
  }
}

TEST(AnyOrderTest, SeveralEndTogether) {
  Service service(2);
  for (const bool filtered : {false, true}) {
    const auto streams =
        ReadTogether(filtered ? Filtered(3000, 8) : Doubled(3000, 8),
                     Several(service, 3, base::StrCat("filtered ", filtered)));
    EXPECT_EQ(Sorted(All(streams)), Expected(3000, filtered));
    const int64_t each = std::ssize(All(streams)) / 3;
    EXPECT_THAT(streams, Each(SizeIs(AllOf(Ge(each), Le(each + 1)))));
  }
}

TEST(AnyOrderTest, GoesOnWhenAWorkerIsLostAndAnotherComes) {
  Service service(2);
  auto consumer = Consumer::Open(Filtered(3000, 4), AnyOptions(service)).value();
  std::vector<Batch> batches = Read(*consumer, 20);
  service.LoseWorker();
  for (Batch& batch : Read(*consumer, 20)) batches.push_back(std::move(batch));
  service.AddWorker();
  service.LoseWorker();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_EQ(Sorted(batches), Expected(3000, true));
}

TEST(AnyOrderTest, DoesNotNoticeThatTheDispatcherIsRestarted) {
  Service service(1);
  auto consumer = Consumer::Open(Doubled(3000, 4), AnyOptions(service)).value();
  std::vector<Batch> batches = Read(*consumer, 50);
  service.RestartDispatcher();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_EQ(Sorted(batches), Expected(3000, false));
}

TEST(AnyOrderTest, OtherVisitsAreServedToo) {
  Service service(2);
  for (const std::string visit : {"at_most_once", "at_least_once"}) {
    ConsumerOptions options = AnyOptions(service);
    options.settings.name = options.settings.visit = visit;
    auto consumer = Consumer::Open(Filtered(2000, 8), options).value();
    EXPECT_EQ(Sorted(Read(*consumer)), Expected(2000, true)) << "nobody was lost";
  }
}

// Three go on where two stopped, from what these had taken at the same step.
TEST(AnyOrderTest, GoesOnFromThePartsOfAStateWithOtherConsumers) {
  Service service(2);
  const ir::Pipeline pipeline = Filtered(3000, 8);
  const std::vector<ConsumerOptions> both = Several(service, 2, "stopped");
  std::vector<std::future<std::pair<std::vector<Batch>, std::string>>> reading;
  for (const ConsumerOptions& options : both) {
    reading.push_back(std::async(std::launch::async, [&pipeline, options] {
      auto consumer = Consumer::Open(pipeline, options).value();
      std::vector<Batch> batches = Read(*consumer, 20);
      return std::pair(batches, api::StateToJson(consumer->state()));
    }));
  }
  std::vector<Batch> batches;
  std::vector<std::string> parts;
  for (auto& part : reading) {
    auto [taken, state] = part.get();
    batches.insert(batches.end(), taken.begin(), taken.end());
    parts.push_back(state);
  }
  const auto joined = api::JoinStates(parts);
  ASSERT_TRUE(joined.ok()) << joined.status();
  std::vector<ConsumerOptions> three = Several(service, 3, "went on");
  for (ConsumerOptions& options : three) {
    options.state = api::StateFromJson(*joined).value();
  }
  const auto streams = ReadTogether(pipeline, three);
  const std::vector<Batch> rest = All(streams);
  batches.insert(batches.end(), rest.begin(), rest.end());
  EXPECT_EQ(Sorted(batches), Expected(3000, true));
}

TEST(AnyOrderTest, WithShardingOffEveryWorkerGivesAllRows) {
  Service service(2);
  service.WaitForWorkers();
  ConsumerOptions options = AnyOptions(service);
  options.settings.sharding = "off";
  auto consumer = Consumer::Open(Filtered(1000, 8), options).value();
  std::vector<int64_t> twice = Expected(1000, true);
  std::ranges::copy(Expected(1000, true), std::back_inserter(twice));
  std::ranges::sort(twice);
  EXPECT_EQ(Sorted(Read(*consumer)), twice);
}

TEST(AnyOrderTest, WithShardingOffAStateKeepsTheNumberOfWorkers) {
  Service service(2);
  service.WaitForWorkers();
  ConsumerOptions options = AnyOptions(service);
  options.settings.sharding = "off";
  std::vector<Batch> batches;
  {
    auto consumer = Consumer::Open(Doubled(1000, 8), options).value();
    batches = Read(*consumer, 50);
    options.state = consumer->state();
  }
  service.AddWorker();
  service.WaitForWorkers();
  options.settings.name = "went on";
  auto consumer = Consumer::Open(Doubled(1000, 8), options).value();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_THAT(Sorted(batches), SizeIs(2000));
  options.settings.sharding = "dynamic";
  options.settings.name = "went on otherwise";
  EXPECT_THAT(Consumer::Open(Doubled(1000, 8), options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("sharding=\"off\"")));
}

TEST(AnyOrderTest, APassWithoutEndGoesOnAndGoesOnFromAState) {
  Service service(2);
  const ir::Pipeline endless = Parsed(
      "millrace 1\n%0 = range(stop=100)\n"
      "%1 = map(%0, function={x: .value * 2})\n%2 = repeat(%1)\n"
      "%3 = batch(%2, size=4)\n");
  ConsumerOptions options = AnyOptions(service);
  options.settings.remainder = "";
  std::vector<Batch> batches;
  {
    auto consumer = Consumer::Open(endless, options).value();
    batches = Read(*consumer, 500);
    options.state = consumer->state();
  }
  options.settings.name = "went on";
  auto consumer = Consumer::Open(endless, options).value();
  for (Batch& batch : Read(*consumer, 500)) batches.push_back(std::move(batch));
  std::map<int64_t, int64_t> times;
  for (const int64_t x : Sorted(batches)) ++times[x];
  EXPECT_EQ(times.size(), 100);
  const auto [least, most] = std::ranges::minmax(std::views::values(times));
  EXPECT_GE(least, 20) << "4,000 rows are 40 turns, some ahead of others";
  EXPECT_LE(most, 60);
}

TEST(AnyOrderTest, APassCannotBeReadAgain) {
  Service service(1);
  auto consumer = Consumer::Open(Doubled(100, 4), AnyOptions(service)).value();
  Read(*consumer, 3);
  EXPECT_THAT(consumer->StartPass(0),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("open the job")));
  ASSERT_TRUE(consumer->StartPass(4).ok());
  EXPECT_EQ(Sorted(Read(*consumer)), Expected(100, false)) << "a later one can";
}

}  // namespace
}  // namespace millrace::client
