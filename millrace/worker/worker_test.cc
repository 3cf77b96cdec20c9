// A worker beside a real dispatcher, over real sockets; what a consumer would say is
// said by the test.
#include "millrace/worker/worker.h"

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/machine_name.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/job_pipeline.h"
#include "millrace/api/operations.h"
#include "millrace/api/route.h"
#include "millrace/api/service.h"
#include "millrace/api/stream.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/metadata/memory_store.h"

namespace millrace::worker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPipeline[] =
    "millrace 1\n%0 = range(start=0, stop=100000)\n%1 = batch(%0, size=4)\n";

class WorkerTest : public testing::Test {
 protected:
  static WorkerOptions OptionsFor(const http::Server& server) {
    WorkerOptions options{.dispatcher = {"127.0.0.1", server.port()}};
    options.engine.threads = 1;
    return options;
  }

  std::unique_ptr<Worker> Start() {
    return Worker::Start(OptionsFor(*server_)).value();
  }

  template <typename Reply, typename Request>
  Reply Ask(const Request& request) {
    std::promise<absl::StatusOr<Reply>> reply;
    loop_->Ask(request, [&](absl::StatusOr<Reply> answer) {
      reply.set_value(std::move(answer));
    });
    absl::StatusOr<Reply> answer = reply.get_future().get();
    CHECK(answer.ok()) << answer.status();
    return *std::move(answer);
  }

  void Await(const std::function<bool()>& come) {
    const absl::Time deadline = base::RealClock().Now() + absl::Seconds(60);
    while (!come()) {
      CHECK(base::RealClock().Now() < deadline) << "it does not come";
      base::RealClock().WaitFor(absl::Milliseconds(5), {});
    }
  }

  std::vector<api::WorkerSummary> Workers() {
    return Ask<api::WorkerList>(api::ListWorkers{}).workers;
  }

  // Opens a job as its one consumer, which then needs a lane.
  void OpenJob() {
    const api::PackedPipeline packed =
        api::PackPipeline({.text = kPipeline, .attachments = {}}).value();
    for (const api::PutObject& object : packed.objects) Ask<api::Nothing>(object);
    api::OpenJob open{.settings = {.name = "job", .pipeline = packed.hash}};
    open.run.id = "run";
    open.opening = 1;
    api::OpenedJob opened;
    Await([&] {
      opened = Ask<api::OpenedJob>(open);
      return opened.ready;
    });
    beat_.reader = {opened.job, opened.incarnation, 0, 0, opened.generation};
    beat_.needs = {{{0, 0}, 0, true}};
  }

  // Where the lane is run, as the consumer hears; -1: nowhere.
  int64_t Placed() {
    const auto news = Ask<api::ConsumerNews>(beat_);
    return news.placed.empty() ? -1 : news.placed[0].worker;
  }

  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_ = dispatcher::Loop::Start(store_, {}).value();
  std::unique_ptr<http::Server> server_ = dispatcher::Serve({}, *loop_).value();
  api::ConsumerBeat beat_;
};

TEST_F(WorkerTest, TellsOnWhichMachineItIsAndWhatItHolds) {
  WorkerOptions options = OptionsFor(*server_);
  options.engine.memory_bytes = 123 << 20;
  const auto worker = Worker::Start(options).value();
  Await([&] { return Workers().size() == 1; });
  const api::WorkerFacts facts = Workers()[0].facts;
  EXPECT_EQ(facts.host, http::MachineName());
  EXPECT_EQ(facts.memory_bytes, 123 << 20);
}

TEST_F(WorkerTest, AWorkerThatLeavesHandsItsLanesOver) {
  const auto first = Start();
  Await([&] { return Workers().size() == 1; });
  OpenJob();
  const int64_t leaving = Workers()[0].facts.worker;
  Await([&] { return Placed() == leaving; });
  first->Drain();
  Await([&] { return Workers()[0].draining; });
  EXPECT_EQ(Placed(), leaving) << "there is nobody else";
  EXPECT_FALSE(first->drained());

  const auto second = Start();
  Await([&] { return Placed() != leaving; });
  Await([&] { return first->drained(); });
  first->Leave();
  EXPECT_THAT(Workers(), SizeIs(1));
  EXPECT_NE(Workers()[0].facts.worker, leaving);
}

TEST_F(WorkerTest, AWorkerWithNothingToDoLeavesAtOnce) {
  const auto worker = Start();
  Await([&] { return Workers().size() == 1; });
  worker->Drain();
  Await([&] { return worker->drained(); });
  worker->Leave();
  EXPECT_THAT(Workers(), IsEmpty());
}

// Nobody is there to be told.
TEST_F(WorkerTest, AWorkerWithoutADispatcherLeavesSoon) {
  const auto worker = Start();
  Await([&] { return Workers().size() == 1; });
  server_.reset();
  worker->Drain();
  Await([&] { return worker->drained(); });
  worker->Leave();
}

// Its lanes cannot be handed over, and nobody reads them.
TEST_F(WorkerTest, AWorkerWhoseDispatcherIsGoneLeavesWithItsLanes) {
  const auto worker = Start();
  Await([&] { return Workers().size() == 1; });
  OpenJob();
  Await([&] { return Placed() >= 0; });
  server_.reset();
  worker->Drain();
  Await([&] { return worker->drained(); });
  worker->Leave();
}

}  // namespace
}  // namespace millrace::worker
