// For tests: runs lanes by themselves, and says what they must give: the same
// operators, one row block after another, on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/engine.h"
#include "millrace/exec/lane_reader.h"
#include "millrace/exec/lane_run.h"
#include "millrace/exec/nested_source.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/runs_test.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

inline std::shared_ptr<LanePlan> MustPlan(Engine& engine,
                                          const rewrite::Rewritten& pipeline,
                                          const PassOptions& options = {}) {
  auto plan = engine.PlanLanes(pipeline, ops::DefaultLibrary(), options);
  CHECK(plan.ok()) << plan.status();
  return *std::move(plan);
}

inline std::unique_ptr<LaneRun> MustOpen(Engine& engine,
                                         const std::shared_ptr<LanePlan>& plan,
                                         const LaneWork& work,
                                         const LaneOptions& options = {}) {
  auto run = engine.OpenLane(plan, work, options);
  CHECK(run.ok()) << run.status();
  return *std::move(run);
}

// All that a lane gave.
struct LaneLog {
  std::vector<LaneBatch> batches = {};
  LaneEnd end = {};
  absl::Status status = {};
};

inline LaneLog Drain(LaneRun& run) {
  LaneLog log;
  while (true) {
    absl::StatusOr<std::optional<LaneBatch>> batch = run.Next();
    if (!batch.ok()) log.status = batch.status();
    if (!batch.ok()) return log;
    if (!batch->has_value()) break;
    log.batches.push_back(**std::move(batch));
  }
  log.end = run.end();
  return log;
}

// A plan whose lanes end before the operator that joins them.
inline std::shared_ptr<PassPlan> BeforeJoining(const rewrite::Rewritten& pipeline,
                                               PassOptions options) {
  options.with_ids = true;
  auto plan =
      std::make_shared<PassPlan>(*PlanPass(pipeline, ops::DefaultLibrary(), options));
  CHECK(plan->GrowToEnd().ok());
  if (plan->join == std::ssize(plan->nodes)) return plan;
  for (int place = 0; place < plan->join; ++place) {
    plan->ignored_behind =
        plan->ignored_behind || IgnoringPlace(plan->nodes, place) > plan->join;
  }
  const auto join = plan->nodes.begin() + plan->join;
  plan->nodes.erase(join, plan->nodes.end());
  plan->numbers.resize(plan->nodes.size());
  plan->last_batching = -1;  // Of several, all but the last end with their lane.
  return plan;
}

// The rows that come to the joining operator from a lane, or an error.
inline absl::StatusOr<core::Block> PlainRows(const std::shared_ptr<PassPlan>& plan,
                                             int64_t lane) {
  LaneReader reader({.plan = plan, .begin = lane, .end = lane + 1},
                    ops::DefaultLibrary(), core::HeapPool());
  std::vector<core::Block> blocks;
  while (true) {
    absl::StatusOr<std::optional<Item>> item = reader.Next();
    if (!item.ok()) return item.status();
    if (!item->has_value()) return Joined(std::move(blocks));
    if (!(*item)->left_out) blocks.push_back((*item)->block);
  }
}

}  // namespace millrace::exec
