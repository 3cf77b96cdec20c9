// A service in one process: a dispatcher, workers and consumers over real sockets.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/client/running_service_test.h"
#include "millrace/core/block.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/state.h"

namespace millrace::client {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

TEST(ServiceTest, GivesEveryRowOncePassAfterPass) {
  Service service(2);
  auto consumer = Consumer::Open(Doubled(1000, 7), Options(service)).value();
  const std::vector<Batch> first = Read(*consumer);
  EXPECT_EQ(first.size(), (1000 + 6) / 7);
  EXPECT_EQ(Sorted(first), Expected(1000, false));
  EXPECT_EQ(Read(*consumer), first) << "nothing is shuffled";
}

TEST(ServiceTest, GivesTheSameStreamWhateverTheFleet) {
  std::vector<std::vector<Batch>> streams;
  for (const int workers : {1, 3}) {
    Service service(workers);
    auto consumer = Consumer::Open(Filtered(3000, 16), Options(service)).value();
    streams.push_back(Read(*consumer));
  }
  EXPECT_EQ(streams[0], streams[1]);
  EXPECT_EQ(Sorted(streams[0]), Expected(3000, true));
}

TEST(ServiceTest, DealsBatchesToSeveralConsumers) {
  Service service(2);
  for (const bool filtered : {false, true}) {
    const ir::Pipeline pipeline = filtered ? Filtered(500, 8) : Doubled(500, 8);
    std::vector<std::future<std::vector<Batch>>> reading;
    for (int64_t i = 0; i < 3; ++i) {
      reading.push_back(std::async(std::launch::async, [&, i] {
        ConsumerOptions options = Options(service, i, 3);
        options.settings.name = filtered ? "filtered" : "doubled";
        return Read(*Consumer::Open(pipeline, options).value());
      }));
    }
    std::vector<Batch> all;
    for (auto& batches : reading) {
      for (Batch& batch : batches.get()) all.push_back(std::move(batch));
    }
    EXPECT_EQ(Sorted(all), Expected(500, filtered));
  }
}

TEST(ServiceTest, GoesOnWhenAWorkerIsLostAndAnotherComes) {
  Service service(2);
  auto consumer = Consumer::Open(Filtered(3000, 4), Options(service)).value();
  std::vector<Batch> batches = Read(*consumer, 20);
  service.LoseWorker();
  for (Batch& batch : Read(*consumer, 20)) batches.push_back(std::move(batch));
  service.AddWorker();
  service.LoseWorker();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_EQ(Sorted(batches), Expected(3000, true));
}

TEST(ServiceTest, DoesNotNoticeThatTheDispatcherIsRestarted) {
  Service service(1);
  auto consumer = Consumer::Open(Doubled(3000, 4), Options(service)).value();
  std::vector<Batch> batches = Read(*consumer, 50);
  service.RestartDispatcher();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_EQ(Sorted(batches), Expected(3000, false));
}

TEST(ServiceTest, GoesOnFromAState) {
  Service service(2);
  const std::vector<Batch> whole =
      Read(*Consumer::Open(Filtered(2000, 8), Options(service)).value());
  ConsumerOptions options = Options(service);
  options.settings.name = "stopped";
  std::vector<Batch> batches;
  {
    auto consumer = Consumer::Open(Filtered(2000, 8), options).value();
    batches = Read(*consumer, 30);
    options.state = consumer->state();
  }
  options.takeover = true;
  auto consumer = Consumer::Open(Filtered(2000, 8), options).value();
  for (Batch& batch : Read(*consumer)) batches.push_back(std::move(batch));
  EXPECT_EQ(batches, whole) << "as if nothing had happened";
}

TEST(ServiceTest, SaysWhatItWaitsFor) {
  Service service(0);
  ConsumerOptions options = Options(service);
  options.open_within = absl::Milliseconds(1);
  EXPECT_THAT(Consumer::Open(Doubled(10, 2), options),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("millrace worker")));
}

TEST(ServiceTest, TellsWhyAPipelineCannotBeRead) {
  Service service(1);
  const ir::Pipeline pipeline = Parsed(
      "millrace 1\n%0 = read_text(paths=[\"nowhere/at-all.txt\"])\n"
      "%1 = batch(%0, size=2)\n");
  EXPECT_THAT(Consumer::Open(pipeline, Options(service)),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere/at-all.txt")));
}

TEST(ServiceTest, ALaterOpeningTakesOver) {
  Service service(1);
  auto first = Consumer::Open(Doubled(3000, 4), Options(service)).value();
  Read(*first, 3);
  ConsumerOptions options = Options(service);
  options.run.id = "another program";
  EXPECT_THAT(Consumer::Open(Doubled(3000, 4), options),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("takeover=True")));
  options.takeover = true;
  auto second = Consumer::Open(Doubled(3000, 4), options).value();
  EXPECT_EQ(Sorted(Read(*second)), Expected(3000, false));
  absl::Status status;
  while (status.ok()) status = first->Next().status();
  EXPECT_THAT(status, StatusIs(StatusCode::kFailedPrecondition));
}

// --- Several who read ---

// Two consumers that end like this.
std::vector<ConsumerOptions> TwoWith(const Service& service,
                                     const std::string& remainder) {
  std::vector<ConsumerOptions> both = {Options(service, 0, 2), Options(service, 1, 2)};
  for (ConsumerOptions& options : both) {
    options.settings.name = base::StrCat("with ", remainder);
    options.settings.remainder = remainder;
  }
  return both;
}

TEST(ServiceTest, MembersReadTheSame) {
  Service service(2);
  std::vector<ConsumerOptions> members;
  for (int64_t i = 0; i < 3; ++i) {
    members.push_back(Options(service));
    members.back().settings.members = 3;
    members.back().member = i;
  }
  const auto streams = ReadTogether(Filtered(1000, 8), members);
  EXPECT_EQ(Sorted(streams[0]), Expected(1000, true));
  EXPECT_EQ(streams[1], streams[0]);
  EXPECT_EQ(streams[2], streams[0]);
}

// Of lanes that fill no batch too: those are joined, then cut.
TEST(ServiceTest, EachTakesItsSliceOfAGlobalBatch) {
  Service service(2);
  for (const bool filtered : {false, true}) {
    const ir::Pipeline pipeline = filtered ? Filtered(960, 8) : Doubled(960, 8);
    ConsumerOptions alone = Options(service);
    alone.settings.name = base::StrCat("alone ", filtered);
    const std::vector<Batch> whole = Read(*Consumer::Open(pipeline, alone).value());
    std::vector<ConsumerOptions> both = TwoWith(service, "keep");
    for (ConsumerOptions& options : both) {
      options.settings.name = base::StrCat("slices ", filtered);
      options.settings.global_batch = true;
    }
    const auto streams = ReadTogether(pipeline, both);
    ASSERT_EQ(streams[0].size(), whole.size());
    ASSERT_EQ(streams[1].size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      Batch joined = streams[0][i];
      joined.insert(joined.end(), streams[1][i].begin(), streams[1][i].end());
      EXPECT_EQ(joined, whole[i]) << i;
      EXPECT_EQ(streams[0][i].size(), streams[1][i].size()) << i;
    }
  }
}

// Five batches for two: one has a third, which the other lacks.
TEST(ServiceTest, TheLastRoundIsKeptDroppedOrFilled) {
  Service service(1);
  const ir::Pipeline pipeline = Doubled(40, 8);
  const auto kept = ReadTogether(pipeline, TwoWith(service, "keep"));
  ASSERT_EQ(kept[0].size(), 3);
  ASSERT_EQ(kept[1].size(), 2);
  const auto dropped = ReadTogether(pipeline, TwoWith(service, "drop"));
  EXPECT_EQ(dropped[0], std::vector<Batch>(kept[0].begin(), kept[0].begin() + 2));
  EXPECT_EQ(dropped[1], kept[1]);
  const auto filled = ReadTogether(pipeline, TwoWith(service, "pad"));
  EXPECT_EQ(filled[0], kept[0]);
  ASSERT_EQ(filled[1].size(), 3);
  EXPECT_EQ(filled[1][2], kept[0][0]) << "with what the pass began with";
}

TEST(ServiceTest, AShortGlobalBatchIsCutDroppedOrFilled) {
  Service service(1);
  std::map<std::string, std::vector<std::vector<Batch>>> ends;
  for (const std::string remainder : {"keep", "drop", "pad"}) {
    std::vector<ConsumerOptions> both = TwoWith(service, remainder);
    for (ConsumerOptions& options : both) options.settings.global_batch = true;
    ends[remainder] = ReadTogether(Doubled(11, 8), both);
  }
  const Batch first = {0, 2, 4, 6};
  const Batch second = {8, 10, 12, 14};
  EXPECT_EQ(ends["drop"][0], std::vector<Batch>{first});
  EXPECT_EQ(ends["drop"][1], std::vector<Batch>{second});
  EXPECT_EQ(ends["keep"][0], (std::vector<Batch>{first, {16}}));
  EXPECT_EQ(ends["keep"][1], (std::vector<Batch>{second, {18, 20}}));
  EXPECT_EQ(ends["pad"][0], (std::vector<Batch>{first, {16, 18, 20, 0}}));
  EXPECT_EQ(ends["pad"][1], (std::vector<Batch>{second, {2, 4, 6, 8}}));
}

TEST(ServiceTest, GivesRowsWhereNothingIsBatched) {
  Service service(1);
  const ir::Pipeline pipeline = Parsed(
      "millrace 1\n%0 = range(start=0, stop=200)\n"
      "%1 = map(%0, function={x: .value * 2})\n");
  auto consumer = Consumer::Open(pipeline, Options(service)).value();
  EXPECT_EQ(Sorted(Read(*consumer)), Expected(200, false));
}

// --- What goes wrong ---

TEST(ServiceTest, ALaneThatFailsEverywhereEndsThePassWithItsError) {
  const ir::Pipeline pipeline = Parsed(
      "millrace 1\n%0 = range(start=0, stop=100)\n"
      "%1 = map(%0, function={x: 1 // (.value - 50)})\n%2 = batch(%1, size=4)\n");
  for (const int workers : {1, 2}) {
    Service service(workers);
    auto consumer = Consumer::Open(pipeline, Options(service)).value();
    absl::StatusOr<std::optional<core::Block>> next;
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
    do {
      next = consumer->Next(deadline);
    } while (next.ok() && next->has_value());
    EXPECT_THAT(next, StatusIs(StatusCode::kDataLoss, HasSubstr("map (%1)")));
    EXPECT_EQ(consumer->Next(deadline).status(), next.status()) << "again";
  }
}

TEST(ServiceTest, WhoIsCancelledWaitsNoLonger) {
  Service service(1);
  auto consumer = Consumer::Open(Doubled(100, 4), Options(service)).value();
  Read(*consumer, 2);
  consumer->Cancel();
  EXPECT_THAT(consumer->Next(), StatusIs(StatusCode::kCancelled));
}

TEST(ServiceTest, APipelineWithoutEndNeverEnds) {
  Service service(2);
  const ir::Pipeline pipeline = Parsed(
      "millrace 1\n%0 = range(start=0, stop=10)\n"
      "%1 = map(%0, function={x: .value * 2})\n%2 = repeat(%1)\n"
      "%3 = batch(%2, size=4)\n");
  ConsumerOptions options = Options(service);
  auto consumer = Consumer::Open(pipeline, options).value();
  std::vector<Batch> batches = Read(*consumer, 100);
  EXPECT_EQ(batches.size(), 100);
  options.state = consumer->state();
  const std::vector<Batch> more = Read(*consumer, 100);
  options.settings.name = "resumed";
  auto resumed = Consumer::Open(pipeline, options).value();
  EXPECT_EQ(Read(*resumed, 100), more) << "as if nothing had happened";
  batches.insert(batches.end(), more.begin(), more.end());
  std::map<int64_t, int64_t> counts;
  for (const int64_t value : Sorted(batches)) ++counts[value];
  EXPECT_EQ(counts.size(), 10);
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 80, 30) << value;
}

// --- Jobs ---

TEST(ServiceTest, TwoJobsAtOnceDoNotMix) {
  Service service(2);
  ConsumerOptions options = Options(service);
  options.settings.name = "another";
  auto one = Consumer::Open(Doubled(800, 8), Options(service)).value();
  auto other = Consumer::Open(Filtered(900, 8), options).value();
  std::vector<Batch> ones;
  std::vector<Batch> others;
  for (int i = 0; i < 20; ++i) {
    ones.push_back(Read(*one, 1).front());
    others.push_back(Read(*other, 1).front());
  }
  for (Batch& batch : Read(*one)) ones.push_back(std::move(batch));
  for (Batch& batch : Read(*other)) others.push_back(std::move(batch));
  EXPECT_EQ(Sorted(ones), Expected(800, false));
  EXPECT_EQ(Sorted(others), Expected(900, true));
}

TEST(ServiceTest, AJobThatWasReadCanBeReadAgain) {
  Service service(1);
  std::vector<Batch> first;
  {
    auto consumer = Consumer::Open(Filtered(500, 8), Options(service)).value();
    first = Read(*consumer);
  }
  ConsumerOptions options = Options(service);
  options.takeover = true;
  auto again = Consumer::Open(Filtered(500, 8), options).value();
  EXPECT_EQ(Read(*again), first);
}

TEST(ServiceTest, GoesOnWithBatchesOfAnotherSize) {
  Service service(2);
  ConsumerOptions options = Options(service);
  std::vector<Batch> batches;
  {
    auto consumer = Consumer::Open(Doubled(1000, 4), options).value();
    batches = Read(*consumer, 25);
    options.state = consumer->state();
  }
  options.settings.name = "larger";
  auto consumer = Consumer::Open(Doubled(1000, 32), options).value();
  const std::vector<Batch> rest = Read(*consumer);
  EXPECT_EQ(rest.size(), (900 + 31) / 32);
  batches.insert(batches.end(), rest.begin(), rest.end());
  EXPECT_EQ(Sorted(batches), Expected(1000, false));
}

TEST(ServiceTest, WhoResumesWithoutAStateGoesOnWhereTheDispatcherHeardOfIt) {
  Service service(2);
  for (const std::string order : {"fixed", "any"}) {
    ConsumerOptions options = Options(service);
    options.settings.name = options.settings.order = order;
    options.resume = true;
    std::vector<Batch> batches;
    for (int run = 0; run < 3; ++run) {
      auto consumer = Consumer::Open(Filtered(2000, 8), options).value();
      for (Batch& batch : Read(*consumer, run < 2 ? 30 : INT64_MAX)) {
        batches.push_back(std::move(batch));
      }
    }
    EXPECT_EQ(Sorted(batches), Expected(2000, true)) << "it told as it left";
  }
}

TEST(ServiceTest, AStateOfAnotherPipelineIsRefused) {
  Service service(1);
  ConsumerOptions options = Options(service);
  {
    auto consumer = Consumer::Open(Doubled(100, 4), options).value();
    Read(*consumer, 3);
    options.state = consumer->state();
  }
  options.settings.name = "other";
  EXPECT_THAT(Consumer::Open(Filtered(100, 4), options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("fingerprint")));
}

}  // namespace
}  // namespace millrace::client
