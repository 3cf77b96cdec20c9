// A worker's lanes on its engine, through windows that jobs share: what the lane server
// asks for and hears, as if each of its runs were one of the engine's. The worker's
// loop uses it. Wiring only: what is shared is decided in delivery/windows.h.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "millrace/api/service.h"
#include "millrace/core/block.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"
#include "millrace/exec/engine.h"
#include "millrace/worker/lane_engine.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {

class WindowEngine {
 public:
  WindowEngine(exec::Engine& engine, std::unique_ptr<Plans> plans, Post post,
               LaneEvents events, const delivery::WindowOptions& options);

  // All jobs that have lanes here, and what they share.
  void SetJobs(const std::vector<api::WorkerJob>& jobs);

  // Lists the sources of a job, and tells.
  void List(const api::WorkerJob& job) { engine_.List(job); }

  void Start(const delivery::StartRun& start) { windows_.Start(start); }

  void Stop(delivery::RunId run) { windows_.Stop(run); }

  void Pull(delivery::RunId run, bool needed) { windows_.Pull(run, needed); }

  void Hurry(delivery::RunId run) { windows_.Hurry(run); }

  void Drop(delivery::Token token) { windows_.Drop(token); }

  // The lane server asks for its rows no more. Where a window has them, others will.
  void Spend(delivery::Token token) {
    if (windows_.IsLastUse(token)) engine_.Spend(token);
  }

  // As LaneEngine has it.
  absl::StatusOr<core::Block> Rows(delivery::Token token, int64_t skip,
                                   int64_t rows) const {
    return engine_.Rows(token, skip, rows);
  }

  // Does what is to be done by now, and tells whether there was anything.
  bool Act(absl::Time now);

  // When Act is to be called at the latest.
  absl::Time wakes() const { return windows_.wakes(); }

  std::vector<api::JobVisits> Visits() const { return windows_.Visits(); }

  int64_t window_bytes() const { return windows_.window_bytes(); }

 private:
  LaneEvents EngineEvents();
  void Do(const delivery::WindowAction& action);

  LaneEvents events_;
  delivery::Windows windows_;
  LaneEngine engine_;
};

}  // namespace millrace::worker
