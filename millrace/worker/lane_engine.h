// Runs lanes for a worker's LaneServer on the engine: what is started is planned,
// opened and asked for one block after another; what comes of it is told back. The
// worker's loop uses it; engine and planner only post to that loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/api/service.h"
#include "millrace/base/bounded_queue.h"
#include "millrace/core/block.h"
#include "millrace/delivery/lane_server.h"
#include "millrace/delivery/windows.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/lane_run.h"
#include "millrace/worker/plans.h"

namespace millrace::worker {

// Has something done on the worker's loop.
using Post = std::function<void(std::function<void()>)>;

// What runs tell; called on the loop.
struct LaneEvents {
  std::function<void(delivery::RunId, const delivery::Made&)> on_made;
  std::function<void(delivery::RunId, int64_t rows, const std::vector<int64_t>& tails)>
      on_ended;
  std::function<void(delivery::RunId, const absl::Status&)> on_failed;
  std::function<void(delivery::RunId, int64_t begin, int64_t end)> on_skipped = nullptr;
  std::function<void(const api::ListedJob&)> on_listed;
};

class LaneEngine {
 public:
  LaneEngine(exec::Engine& engine, std::unique_ptr<Plans> plans, Post post,
             LaneEvents events);
  ~LaneEngine();
  LaneEngine(const LaneEngine&) = delete;
  LaneEngine& operator=(const LaneEngine&) = delete;

  // Says what a job is, before lanes of it are started.
  void SetJob(const api::WorkerJob& job);

  // Lists the sources of a job, and tells.
  void List(const api::WorkerJob& job);

  void Start(const delivery::StartRun& start);
  void Stop(delivery::RunId run);
  // `needed`: somebody waits for it, so it comes before what is made ahead.
  void Pull(delivery::RunId run, bool needed);
  void Hurry(delivery::RunId run);

  // Makes a block of parts of others. What goes wrong is told when rows of it are
  // asked for.
  void Compose(const delivery::Compose& compose);

  // Rows of a block: all, or those of a part. An error where a batch has no parts.
  // Requires: it was made and not dropped.
  absl::StatusOr<core::Block> Rows(delivery::Token token, int64_t skip,
                                   int64_t rows) const;

  // Nobody asks for its rows any more; it is still to be dropped.
  void Spend(delivery::Token token) { blocks_.at(token).block = core::Block(); }

  void Drop(delivery::Token token);

 private:
  using PassKey = std::tuple<int64_t, int64_t, int64_t>;  // Job, incarnation, pass.
  using SharedPlan = std::shared_ptr<exec::LanePlan>;

  struct Run {
    delivery::StartRun start;
    std::unique_ptr<exec::LaneRun> lane = nullptr;
    bool pulled = false;
    bool needed = true;
  };

  struct MadeBlock {
    absl::StatusOr<core::Block> block;
    int64_t rows = 0;  // Of the lane: a batch is one row of its block.
  };

  struct Pass {
    bool asked = false;
    SharedPlan plan = nullptr;
  };

  static PassKey KeyOf(const delivery::JobLane& lane) {
    return {lane.job, lane.incarnation, lane.at.pass};
  }

  bool Knows(const delivery::JobLane& lane) const;
  void ForgetBefore(const delivery::JobLane& lane);
  void AskForPlan(const delivery::JobLane& lane);
  void OnPlanned(const PassKey& key, const absl::StatusOr<SharedPlan>& plan);
  int64_t OwnerOf(int64_t job) const;
  void Open(delivery::RunId id);
  static void SetNeeded(Run& run, bool needed);
  void Poll(delivery::RunId id);
  void OnBatch(delivery::RunId id, exec::LaneBatch batch);
  void Fail(delivery::RunId id, const absl::Status& status);
  absl::StatusOr<core::Block> Composed(const delivery::Compose& compose) const;

  exec::Engine& engine_;
  Post post_;
  LaneEvents events_;
  std::map<int64_t, api::WorkerJob> jobs_;
  std::map<PassKey, Pass> passes_;
  std::map<delivery::RunId, Run> runs_;
  std::map<delivery::Token, MadeBlock> blocks_;
  int64_t next_token_ = 0;
  std::unique_ptr<Plans> plans_;  // The planner's.
  base::BoundedQueue<std::function<void()>> to_plan_;
  std::jthread planner_;
};

}  // namespace millrace::worker
