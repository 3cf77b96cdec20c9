// How jobs are opened and left, with a real dispatcher and worker in this process.
#include "millrace/client/opening.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
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
#include "millrace/core/tensor.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/ir/attachment.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/ir/value.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/ops/library.h"
#include "millrace/worker/worker.h"

namespace millrace::client {
namespace {

using absl::StatusCode;
using base::IsOk;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class OpeningTest : public testing::Test {
 protected:
  void SetUp() override {
    loop_ = dispatcher::Loop::Start(store_, {}).value();
    server_ = dispatcher::Serve({.token = "secret"}, *loop_).value();
  }

  void StartWorker() {
    worker::WorkerOptions options{.dispatcher = address()};
    options.client.token = "secret";
    options.server.token = "secret";
    options.engine.threads = 1;
    worker_ = worker::Worker::Start(options).value();
  }

  http::Address address() const { return {"127.0.0.1", server_->port()}; }

  ConsumerOptions Options() const {
    ConsumerOptions options{.dispatcher = address()};
    options.client.token = "secret";
    options.settings.name = "job";
    options.open_within = absl::Seconds(30);
    return options;
  }

  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<worker::Worker> worker_;
};

ir::Pipeline Shuffled() {
  return ir::Parse(
             "millrace 1\n%0 = range(start=0, stop=300)\n"
             "%1 = shuffle(%0, window=50)\n%2 = batch(%1, size=8)\n",
             {}, ops::DefaultLibrary().catalog())
      .value();
}

// Rows of an array, which stands beside the pipeline.
ir::Pipeline OfArray(const std::vector<int64_t>& values) {
  const core::Tensor array =
      core::Tensor::FromValues<int64_t>(values, {std::ssize(values)});
  const ir::Catalog& catalog = ops::DefaultLibrary().catalog();
  const ir::Pipeline rows =
      ir::Pipeline::Make(
          catalog, "from_arrays",
          {{"names", ir::List{"value"}}, {"arrays", ir::List{ir::EncodeTensor(array)}}},
          {})
          .value();
  return ir::Pipeline::Make(catalog, "batch", {{"size", int64_t{8}}}, {rows}).value();
}

std::vector<int64_t> Read(Consumer& consumer) {
  std::vector<int64_t> values;
  while (true) {
    absl::StatusOr<std::optional<core::Block>> next =
        consumer.Next(base::RealClock().Now() + absl::Seconds(60));
    CHECK(next.ok()) << next.status();
    if (!*next) return values;
    const absl::Span<const int64_t> batch = (*next)->Find("value")->As<int64_t>();
    values.insert(values.end(), batch.begin(), batch.end());
  }
}

TEST_F(OpeningTest, WhereNobodyIsIsToldSoonWithTheRemedy) {
  ConsumerOptions options = Options();
  server_.reset();
  options.reach_within = absl::Milliseconds(200);
  const std::string where = base::StrCat("127.0.0.1:", options.dispatcher.port);
  EXPECT_THAT(Consumer::Open(Shuffled(), options),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no dispatcher answers at " + where),
                             HasSubstr("`millrace dispatcher --listen " + where))));
}

TEST_F(OpeningTest, AWrongTokenIsTold) {
  ConsumerOptions options = Options();
  options.client.token = "another";
  EXPECT_THAT(Consumer::Open(Shuffled(), options),
              StatusIs(StatusCode::kUnauthenticated, HasSubstr("token")));
}

TEST_F(OpeningTest, ItEndsWhenItIsAskedTo) {
  std::stop_source stop;
  ConsumerOptions options = Options();
  options.stop = stop.get_token();
  absl::Status ended;
  std::thread opening(
      [&] { ended = Consumer::Open(Shuffled(), options).status(); });  // No worker.
  stop.request_stop();
  opening.join();
  EXPECT_THAT(ended, StatusIs(StatusCode::kCancelled));
}

TEST_F(OpeningTest, ArraysTravelWithThePipeline) {
  StartWorker();
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 1000; ++i) values.push_back(i * i);
  auto consumer = Consumer::Open(OfArray(values), Options());
  ASSERT_THAT(consumer, IsOk());
  EXPECT_EQ(Read(**consumer), values);
}

TEST_F(OpeningTest, APassCanBeLeftForAnother) {
  StartWorker();
  auto consumer = Consumer::Open(Shuffled(), Options()).value();
  const std::vector<int64_t> first = Read(*consumer);
  const std::vector<int64_t> second = Read(*consumer);
  EXPECT_NE(first, second);
  EXPECT_EQ(consumer->pass(), 2);
  ASSERT_THAT(consumer->Next(), IsOk());  // Of the third.
  ASSERT_THAT(consumer->StartPass(1), IsOk());
  EXPECT_EQ(Read(*consumer), second);
  ASSERT_THAT(consumer->StartPass(0), IsOk());
  EXPECT_EQ(Read(*consumer), first);
}

TEST_F(OpeningTest, AJobThatWasLeftIsFreeForOthersAtOnce) {
  StartWorker();
  ConsumerOptions mine = Options();
  mine.run.id = "mine";
  ConsumerOptions other = Options();
  other.run.id = "other";
  auto consumer = Consumer::Open(Shuffled(), mine).value();
  EXPECT_THAT(Consumer::Open(Shuffled(), other),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is read by")));
  consumer->Leave();
  EXPECT_THAT(consumer->Next(), StatusIs(StatusCode::kCancelled));
  EXPECT_THAT(Consumer::Open(Shuffled(), other), IsOk());
}

TEST_F(OpeningTest, TheSeedIsTheRunsWhereItGivesOne) {
  StartWorker();
  ConsumerOptions options = Options();
  options.settings.seed = 5;
  EXPECT_EQ(Consumer::Open(Shuffled(), options).value()->job().seed, 5);
  options.settings.seed = 6;
  auto consumer = Consumer::Open(Shuffled(), options).value();
  EXPECT_EQ(consumer->job().seed, 6);
  EXPECT_EQ(Read(*consumer).size(), 300);
}

}  // namespace
}  // namespace millrace::client
