// A consumer of a job on a service: opens it, and is handed its batches, pass after
// pass, whatever happens to workers and dispatcher meanwhile. Only wiring: what to ask
// and what is ready is decided in delivery.
//
//   auto consumer = TRY(Consumer::Open(pipeline, {.dispatcher = {"host", 7171}}));
//   while (std::optional<core::Block> batch = TRY(consumer->Next())) …   // One pass.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/adapters/http/client.h"
#include "millrace/adapters/http/exchange.h"
#include "millrace/api/service.h"
#include "millrace/client/worker_links.h"
#include "millrace/core/block.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/state.h"
#include "millrace/ops/library.h"

namespace millrace::client {

struct ConsumerOptions {
  http::Address dispatcher = {};
  http::ClientOptions client = {};
  api::JobSettings settings = {};  // All but the pipeline.
  api::RunName run = {};
  int64_t consumer = 0;
  int64_t member = 0;
  std::optional<lanes::State> state = {};  // To go on from.
  bool resume = false;  // Without a state: from what the dispatcher heard last.
  bool takeover = false;
  bool one_pass = false;  // Nothing is made ahead for another.
  absl::Duration open_within = absl::Minutes(10);
  absl::Duration reach_within = absl::Seconds(5);  // The dispatcher, the first time.
  std::stop_token stop = {};                       // Ends opening early.
  int64_t credit_bytes = 64LL << 20;               // That may wait here.
  bool shares_memory = true;                       // With workers on this machine.
  const ops::Library* library = nullptr;           // Null: the default one.
};

// How the batches that Next gave came here.
struct CarrierStats {
  int64_t sharing = 0;       // Workers that share memory, now.
  int64_t shared_bytes = 0;  // In memory that was lent.
  int64_t copied_bytes = 0;  // The others: they came through streams.
  std::string note = {};     // Why something came by copying; of one worker.
};

class Consumer {
 public:
  // Opens the job, waiting for all consumers of the run, and for a worker.
  static absl::StatusOr<std::unique_ptr<Consumer>> Open(const ir::Pipeline& pipeline,
                                                        const ConsumerOptions& options);

  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Gives the next batch, waiting for it; nothing at the end of the pass, after which
  // the next pass begins, unless one was all. DeadlineExceeded at the deadline: ask
  // again. Any other error is given again by every later call.
  absl::StatusOr<std::optional<core::Block>> Next(
      absl::Time deadline = absl::InfiniteFuture());

  // Leaves the pass, and begins another from its start; all consumers must do the same.
  absl::Status StartPass(int64_t pass);

  // Ends it, also a Next that waits.
  void Cancel();

  // The same, and tells the dispatcher that others may have the job, which takes a
  // moment. Done at the end at the latest.
  void Leave();

  // The state after what Next has given.
  lanes::State state() const;

  // The pass that Next takes from.
  int64_t pass() const;

  // So far.
  CarrierStats carriers() const;

  // What the dispatcher said when the job was opened.
  const api::OpenedJob& job() const;

 private:
  class Process;
  explicit Consumer(std::unique_ptr<Process> process);
  std::unique_ptr<Process> process_;
};

}  // namespace millrace::client
