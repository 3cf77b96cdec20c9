// A service in one process for tests: a dispatcher, workers and consumers over real
// sockets; pipelines of numbers, and reading them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/operations.h"
#include "millrace/base/check.h"
#include "millrace/base/clock.h"
#include "millrace/base/text.h"
#include "millrace/client/consumer.h"
#include "millrace/core/block.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/dispatcher/server.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/text.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/ops/library.h"
#include "millrace/worker/worker.h"

namespace millrace::client {

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

  void AddWorker(worker::WorkerOptions options = {}) {
    options.dispatcher = address();
    options.engine.threads = 1;
    workers_.push_back(worker::Worker::Start(options).value());
  }

  // Until the dispatcher has heard of all of them.
  void WaitForWorkers() {
    for (size_t joined = 0; joined < workers_.size();) {
      std::promise<size_t> told;
      loop_->Ask(api::ListWorkers{}, [&](const absl::StatusOr<api::WorkerList>& list) {
        told.set_value(list.value().workers.size());
      });
      joined = told.get_future().get();
    }
  }

  void LoseWorker() { workers_.erase(workers_.begin()); }

  // How a job was given its rows, as far as workers have told.
  api::JobSummary JobNamed(const std::string& name) {
    std::promise<api::JobSummary> told;
    loop_->Ask(api::ListJobs{}, [&](const absl::StatusOr<api::JobList>& list) {
      api::JobSummary found;
      for (const api::JobSummary& job : list.value().jobs) {
        if (job.name == name) found = job;
      }
      told.set_value(found);
    });
    return told.get_future().get();
  }

  http::Address address() const { return {"127.0.0.1", server_->port()}; }

 private:
  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_;
  std::unique_ptr<http::Server> server_;
  std::vector<std::unique_ptr<worker::Worker>> workers_;
};

inline ir::Pipeline Parsed(const std::string& text) {
  return ir::Parse(text, {}, ops::DefaultLibrary().catalog()).value();
}

// Rows 0, ..., rows - 1, doubled, in batches.
inline ir::Pipeline Doubled(int64_t rows, int64_t batch) {
  return Parsed(base::StrCat("millrace 1\n%0 = range(start=0, stop=", rows,
                             ")\n%1 = map(%0, function={x: .value * 2})\n",
                             "%2 = batch(%1, size=", batch, ")\n"));
}

// The same, of which every third is kept: nobody knows how many that are.
inline ir::Pipeline Filtered(int64_t rows, int64_t batch) {
  return Parsed(base::StrCat("millrace 1\n%0 = range(start=0, stop=", rows,
                             ")\n%1 = map(%0, function={x: .value * 2})\n",
                             "%2 = filter(%1, predicate={.x % 3 == 0})\n",
                             "%3 = batch(%2, size=", batch, ")\n"));
}

inline ConsumerOptions Options(const Service& service, int64_t consumer = 0,
                               int64_t consumers = 1) {
  ConsumerOptions options{.dispatcher = service.address()};
  options.settings.name = "job";
  options.settings.consumers = consumers;
  options.settings.remainder = consumers > 1 ? "keep" : "";
  options.consumer = consumer;
  options.open_within = absl::Seconds(30);
  return options;
}

inline Batch ValuesOf(const core::Block& block) {
  const absl::Span<const int64_t> values = block.Find("x")->As<int64_t>();
  return {values.begin(), values.end()};
}

// The batches of a pass, or the first so many.
inline std::vector<Batch> Read(Consumer& consumer, int64_t most = INT64_MAX) {
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

inline std::vector<int64_t> Sorted(const std::vector<Batch>& batches) {
  std::vector<int64_t> values;
  for (const Batch& batch : batches) {
    values.insert(values.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(values);
  return values;
}

inline std::vector<int64_t> Expected(int64_t rows, bool filtered) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows; ++i) {
    if (!filtered || i * 2 % 3 == 0) values.push_back(i * 2);
  }
  return values;
}

// Opens the job as each of them at once, and gives what each reads of a pass.
inline std::vector<std::vector<Batch>> ReadTogether(
    const ir::Pipeline& pipeline, const std::vector<ConsumerOptions>& all) {
  std::vector<std::future<std::vector<Batch>>> reading;
  for (const ConsumerOptions& options : all) {
    reading.push_back(std::async(std::launch::async, [&pipeline, options] {
      return Read(*Consumer::Open(pipeline, options).value());
    }));
  }
  std::vector<std::vector<Batch>> streams;
  for (auto& batches : reading) streams.push_back(batches.get());
  return streams;
}

}  // namespace millrace::client
