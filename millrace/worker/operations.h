// How a worker is, and the routes that tell it: /healthz, /readyz (it has joined) and
// /metrics (docs/metrics.md).
#pragma once

#include <cstdint>
#include <functional>

#include "millrace/adapters/http/exchange.h"
#include "millrace/adapters/http/router.h"

namespace millrace::worker {

struct WorkerStatus {
  bool joined = false;         // The dispatcher knows it, and answers.
  int64_t readers = 0;         // Consumers that are connected.
  int64_t lanes_assigned = 0;  // By the dispatcher.
  int64_t lanes_running = 0;
  int64_t lanes_begun = 0;   // Since the start, as all that follow.
  int64_t lanes_failed = 0;  // Each time.
  int64_t batches_sent = 0;
  int64_t bytes_sent = 0;
  int64_t memory_bytes = 0;  // That rows take now.
  int64_t window_bytes = 0;  // That is kept for other jobs now.
};

using TakeStatus = std::function<void(const WorkerStatus&)>;

// `ask` has it taken by the worker's own loop: who is answered has a worker that works.
void AddOperations(const std::function<void(TakeStatus)>& ask,
                   const http::Address& dispatcher, http::Router& router);

}  // namespace millrace::worker
