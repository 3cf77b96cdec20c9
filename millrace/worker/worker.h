// A worker: joins a dispatcher, runs the lanes it is given on one engine, and streams
// them to who asks. It keeps nothing that others need: killed, its lanes are run
// elsewhere. Who ends it with less haste has it hand its lanes over first. Only wiring:
// what is decided is decided in delivery and control.
//
//   auto worker = TRY(Worker::Start({.dispatcher = {"127.0.0.1", 7171}}));
//   worker->Drain();
//   while (!worker->drained() && …) …
//   worker->Leave();
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/server.h"
#include "millrace/api/service.h"
#include "millrace/exec/engine.h"
#include "millrace/ops/library.h"
#include "millrace/worker/operations.h"

namespace millrace::worker {

struct WorkerOptions {
  http::Address dispatcher = {};
  http::ServerOptions server = {};  // Where readers find it.
  http::ClientOptions client = {};  // How it asks the dispatcher.
  http::Address advertise = {};     // Told to readers; empty, 0: where it listens.
  std::string host_name = {};       // Of its machine; empty: as that calls itself.
  exec::EngineOptions engine = {};
  std::vector<std::string> tags = {};
  int64_t lanes_max = 64;                   // Run at once.
  int64_t lane_buffer_bytes = 64LL << 20;   // Of one lane, made and not sent.
  int64_t window_bytes = 1LL << 30;         // That jobs share, of all lanes together.
  bool allows_python = false;               // Jobs may bring functions.
  std::vector<api::Package> packages = {};  // That such functions find here.
  int64_t index = 0;                        // Of `of`, in static sharding.
  int64_t of = 0;                           // 0: it takes no part in that.
  const ops::Library* library = nullptr;    // Null: the default one.
  bool shares_memory = true;  // With readers on this machine that ask for it.
  int64_t shared_memory_bytes = 1LL << 30;  // That one of them may have.
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

  // Has its loop tell how it is, on that loop: quick, and without waiting.
  void Ask(TakeStatus take);

  // Begins to leave: it gets no more lanes, and others get those it has. It goes on
  // sending what readers ask it for, and all of it where there is nobody else. Where
  // neither readers nor a dispatcher are there, it waits for neither.
  void Drain();

  // Tells whether nobody needs it any more. Requires: Drain was called.
  bool drained();

  // Tells the dispatcher, if it hears it soon, that this worker is gone.
  void Leave();

 private:
  class Process;
  explicit Worker(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
};

}  // namespace millrace::worker
