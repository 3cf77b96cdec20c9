// A job as Python reads it, with a real dispatcher and worker in this process.
#include "millrace/adapters/python/service.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "millrace/adapters/http/server.h"
#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/worker/worker.h"

namespace millrace::python {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

bool Never() { return false; }

// What is thrown by a call, as "CODE: message".
template <typename Call>
std::string ErrorOf(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code() + ": " + error.what();
  }
  return "";
}

Pipeline Batches(int64_t rows) {
  return Pipeline::Parse(
      "%0 = range(stop=" + std::to_string(rows) + ")\n%1 = batch(%0, size=10)\n", {});
}

class ServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    dispatcher::LoopOptions options;
    options.control.has_token = true;
    loop_ = dispatcher::Loop::Start(store_, options).value();
    server_ = dispatcher::Serve({.token = "secret"}, *loop_).value();
  }

  void StartWorker(bool allows_python) {
    worker::WorkerOptions options{.dispatcher = {"127.0.0.1", server_->port()}};
    options.client.token = "secret";
    options.server.token = "secret";
    options.engine.threads = 1;
    options.library = &Library();
    options.allows_python = allows_python;
    options.packages = {{"python", "3.11.2"}, {"numpy", "1.0"}};
    worker_ = worker::Worker::Start(options).value();
  }

  std::unique_ptr<ServiceJob> Open(const Pipeline& pipeline, JobChoice choice = {},
                                   const std::optional<std::string>& state = {}) const {
    if (choice.name.empty()) choice.name = "job";
    choice.open_seconds = 30;
    choice.open_lanes = 1;  // The logical order.
    return std::make_unique<ServiceJob>(
        pipeline,
        ServiceAddress{.host = "127.0.0.1", .port = server_->port(), .token = "secret"},
        choice, state, Never);
  }

  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<worker::Worker> worker_;
};

std::vector<int64_t> NumbersOf(const Rows& rows) {
  const auto& batch = std::get<std::vector<FieldValue>>(rows.columns[0]).at(0);
  const auto& array = std::get<Array>(batch);
  std::vector<int64_t> numbers(array.shape.at(0));
  std::memcpy(numbers.data(), array.data, numbers.size() * sizeof(int64_t));
  return numbers;
}

std::vector<int64_t> Rest(ServiceJob& job, int64_t turn) {
  std::vector<int64_t> all;
  while (std::optional<Rows> rows = job.Next(turn)) {
    const std::vector<int64_t> numbers = NumbersOf(*rows);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  return all;
}

std::vector<int64_t> Numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

TEST_F(ServiceTest, GivesPassAfterPass) {
  StartWorker(false);
  const auto job = Open(Batches(105));
  for (int64_t pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Rest(*job, job->StartPass(pass)), Numbers(0, 105));
  }
  EXPECT_EQ(job->pass(), 2);
  EXPECT_EQ(job->rows(), 210);
  EXPECT_EQ(job->bytes(), 210 * 8);
}

TEST_F(ServiceTest, FieldsOfABatchAreGivenWithoutACopy) {
  StartWorker(false);
  const Pipeline fields = Pipeline::Parse(
      "%0 = range(stop=100)\n%1 = map(%0, function={x: .value, y: .value * 2})\n"
      "%2 = batch(%1, size=10)\n",
      {});
  const auto job = Open(fields);
  const int64_t turn = job->StartPass(0);
  int batches = 0;
  while (const std::optional<Rows> rows = job->Next(turn)) {
    EXPECT_EQ(rows->copied_bytes, 0);
    ++batches;
  }
  EXPECT_EQ(batches, 10);
}

TEST_F(ServiceTest, GoesOnFromAState) {
  StartWorker(false);
  std::string state;
  {
    const auto job = Open(Batches(100));
    const int64_t turn = job->StartPass(0);
    for (int i = 0; i < 3; ++i) job->Next(turn);
    state = job->State().Json();
  }
  const auto job = Open(Batches(100), {}, state);
  EXPECT_EQ(Rest(*job, job->StartPass(0)), Numbers(30, 100));
}

TEST_F(ServiceTest, WhoseTurnIsOverIsSentAway) {
  StartWorker(false);
  const auto job = Open(Batches(100));
  const int64_t first = job->StartPass(0);
  job->Next(first);
  const int64_t second = job->StartPass(0);
  EXPECT_THAT(ErrorOf([&] { job->Next(first); }), StartsWith("CANCELLED"));
  job->LeavePass(first);  // Not that of another.
  EXPECT_EQ(Rest(*job, second), Numbers(0, 100));
  const int64_t third = job->StartPass(1);
  job->LeavePass(third);
  EXPECT_THAT(ErrorOf([&] { job->Next(third); }), StartsWith("CANCELLED"));
}

TEST_F(ServiceTest, WaitingCanBeInterrupted) {
  int asked = 0;
  const auto open = [&] {
    const ServiceJob job(
        Batches(10), {.host = "127.0.0.1", .port = server_->port(), .token = "secret"},
        {.name = "job"}, {}, [&] { return ++asked == 2; });  // There is no worker.
  };
  EXPECT_EQ(ErrorOf(open), "CANCELLED: interrupted");
  EXPECT_EQ(asked, 2);
}

TEST_F(ServiceTest, AJobThatWasClosedGivesNothing) {
  StartWorker(false);
  const auto job = Open(Batches(100));
  const int64_t turn = job->StartPass(0);
  job->Close();
  EXPECT_THAT(ErrorOf([&] { job->Next(turn); }), StartsWith("CANCELLED"));
  job->Close();
}

// Python's own, that nothing here can call.
Pipeline WithFunction() {
  const Attachment function("no function");
  const Pipeline rows = Batches(10).Inputs()[0];
  const Argument attached{
      std::vector<Argument>{{std::make_shared<const Attachment>(function)}}};
  return Pipeline::Make("map_python",
                        {{"function", attached}, {"fields", {"{x: int64}"}}}, {rows});
}

TEST_F(ServiceTest, FunctionsAreNotRunWithoutPermissionWhateverIsAsked) {
  StartWorker(false);
  EXPECT_THAT(ErrorOf([&] { Open(WithFunction()); }),
              StartsWith("PERMISSION_DENIED: the pipeline has Python functions"));
  JobChoice choice{.name = "told"};
  choice.packages = {{"python", "3.11.2"}};
  EXPECT_THAT(ErrorOf([&] { Open(WithFunction(), choice); }),
              HasSubstr("--allow-python"));
}

TEST_F(ServiceTest, DifferencesOfPackagesAreTold) {
  StartWorker(true);
  JobChoice choice{.name = "functions"};
  choice.packages = {{"python", "3.11.2"}, {"numpy", "2.0"}};
  const auto job = Open(WithFunction(), choice);
  ASSERT_THAT(job->differences(), SizeIs(1));
  EXPECT_THAT(job->differences()[0], HasSubstr("numpy 1.0"));
  choice.name = "missing";
  choice.packages.emplace_back("torch", "2.9");
  EXPECT_THAT(ErrorOf([&] { Open(WithFunction(), choice); }), HasSubstr("no torch"));
}

}  // namespace
}  // namespace millrace::python
