// A whole service for a workload, over real sockets: a dispatcher and workers as
// threads of this process, and a way to read jobs from them. One thread starts and ends
// it; consumers may be used from any.
//
//   auto service = TRY(LocalService::Start({.workers = 4}));
//   auto consumer = TRY(service->Read({.pipeline = "…"}));
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/adapters/http/stream_options.h"
#include "millrace/api/service.h"
#include "millrace/client/consumer.h"
#include "millrace/dispatcher/loop.h"
#include "millrace/lanes/state.h"
#include "millrace/metadata/memory_store.h"
#include "millrace/worker/worker.h"

namespace millrace::bench {

struct LocalServiceOptions {
  int workers = 1;
  int worker_threads = 1;
  http::PayloadSums sums = http::PayloadSums::kBetweenHosts;
  bool shares_memory = false;               // Else as between machines.
  int64_t memory_bytes = int64_t{1} << 30;  // Of a worker.
};

// How one consumer reads a job.
struct Reading {
  std::string pipeline;            // As text, of ServiceLibrary.
  api::JobSettings settings = {};  // Its name is chosen where there is none.
  int64_t consumer = 0;
  std::optional<lanes::State> state = {};
};

// A worker of ServiceLibrary that joins a dispatcher.
absl::StatusOr<std::unique_ptr<worker::Worker>> StartWorker(
    const http::Address& dispatcher, const LocalServiceOptions& options);

// Opens a job at a dispatcher.
absl::StatusOr<std::unique_ptr<client::Consumer>> OpenJob(
    const http::Address& dispatcher, const Reading& reading);

class LocalService {
 public:
  static absl::StatusOr<std::unique_ptr<LocalService>> Start(
      const LocalServiceOptions& options);

  http::Address address() const { return {"127.0.0.1", server_->port()}; }

  absl::StatusOr<std::unique_ptr<client::Consumer>> Read(Reading reading);

 private:
  LocalService() = default;

  metadata::MemoryStore store_;
  std::unique_ptr<dispatcher::Loop> loop_;
  std::unique_ptr<http::Server> server_;
  std::vector<std::unique_ptr<worker::Worker>> workers_;
  int64_t jobs_ = 0;
};

}  // namespace millrace::bench
