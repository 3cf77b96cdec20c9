// A service in one process: a dispatcher, workers and consumers over real sockets.

#include <algorithm>
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
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/status_matchers.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/lanes/state.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/ops/library.h"
#include "millrace/worker/worker.h"

namespace millrace::client {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::HasSubstr;

using Batch = std::vector<int64_t>;

class Service {
 public:
  explicit Service(int workers) {
    StartDispatcher(0);
    for (int i = 0; i < workers; ++i) AddWorker();
  }

  void StartDispatcher(int port) {
    loop_ = dispatcher::Loop::Start(store_, {}).value();
    server_ = dispatcher::Serve({.port = port}, *loop_).value();
  }

  // Loses what the dispatcher has not written down; readers and workers stay.
  void RestartDispatcher() {
    const int port = server_->port();
    server_.reset();
    loop_.reset();
    StartDispatcher(port);
  }

  void AddWorker() {
    worker::WorkerOptions options{.dispatcher = address()};
    options.engine.threads = 1;
    workers_.push_back(worker::Worker::Start(options).value());
  }

  void LoseWorker() { workers_.erase(workers_.begin()); }

  http::Address address() const { return {"127.0.0.1", server_->port()}; }

 private:
  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_;
  std::unique_ptr<http::Server> server_;
  std::vector<std::unique_ptr<worker::Worker>> workers_;
};

ir::Pipeline Parsed(const std::string& text) {
  return ir::Parse(text, {}, ops::DefaultLibrary().catalog()).value();
}

// Rows 0, ..., rows - 1, doubled, in batches.
ir::Pipeline Doubled(int64_t rows, int64_t batch) {
  return Parsed(base::StrCat("millrace 1\n%0 = range(start=0, stop=", rows,
                             ")\n%1 = map(%0, function={x: .value * 2})\n",
                             "%2 = batch(%1, size=", batch, ")\n"));
}

// The same, of which every third is kept: nobody knows how many that are.
ir::Pipeline Filtered(int64_t rows, int64_t batch) {
  return Parsed(base::StrCat("millrace 1\n%0 = range(start=0, stop=", rows,
                             ")\n%1 = map(%0, function={x: .value * 2})\n",
                             "%2 = filter(%1, predicate={.x % 3 == 0})\n",
                             "%3 = batch(%2, size=", batch, ")\n"));
}

ConsumerOptions Options(const Service& service, int64_t consumer = 0,
                        int64_t consumers = 1) {
  ConsumerOptions options{.dispatcher = service.address()};
  options.settings.name = "job";
  options.settings.consumers = consumers;
  options.settings.remainder = consumers > 1 ? "keep" : "";
  options.consumer = consumer;
  options.open_within = absl::Seconds(30);
  return options;
}

Batch ValuesOf(const core::Block& block) {
  const absl::Span<const int64_t> values = block.Find("x")->As<int64_t>();
  return {values.begin(), values.end()};
}

// The batches of a pass, or the first so many.
std::vector<Batch> Read(Consumer& consumer, int64_t most = INT64_MAX) {
  std::vector<Batch> batches;
  while (std::ssize(batches) < most) {
    absl::StatusOr<std::optional<core::Block>> next =
        consumer.Next(base::RealClock().Now() + absl::Seconds(60));
    CHECK(next.ok()) << next.status();
    if (!*next) break;
    batches.push_back(ValuesOf(**next));
  }
  return batches;
}

std::vector<int64_t> Sorted(const std::vector<Batch>& batches) {
  std::vector<int64_t> values;
  for (const Batch& batch : batches) {
    values.insert(values.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(values);
  return values;
}

std::vector<int64_t> Expected(int64_t rows, bool filtered) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) {
    if (!filtered || i * 2 % 3 == 0) values.push_back(i * 2);
  }
  return values;
}

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

}  // namespace
}  // namespace millrace::client
