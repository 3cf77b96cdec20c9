// A worker: joins a dispatcher, runs the lanes it is given on one engine, and streams
// them to who asks. It keeps nothing that others need: killed, its lanes are run
// elsewhere. Only wiring: what is decided is decided in delivery and control.
//
//   auto worker = TRY(Worker::Start({.dispatcher = {"127.0.0.1", 7171}}));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/library.h"

namespace millrace::worker {

struct WorkerOptions {
  http::Address dispatcher = {};
  http::ServerOptions server = {};  // Where readers find it.
  http::ClientOptions client = {};  // How it asks the dispatcher.
  std::string host = {};            // Its name for readers; empty: the server's.
  exec::EngineOptions engine = {};
  std::vector<std::string> tags = {};
  int64_t lanes_max = 64;                  // Run at once.
  int64_t lane_buffer_bytes = 64LL << 20;  // Of one lane, made and not sent.
  const ops::Library* library = nullptr;   // Null: the default one.
};

class Worker {
 public:
  // Listens, and begins to join; a dispatcher that is not there is waited for.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const WorkerOptions& options);

  // Ends at once: readers go elsewhere.
  ~Worker();

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  int port() const;

 private:
  class Process;
  explicit Worker(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
};

}  // namespace millrace::worker
