// Runs a pipeline the plain way: one thread, one lane after another, block by block, in
// logical order. Nothing ahead, nothing clever: this is the definition of what a
// pipeline gives, and what the engine is compared with, row for row.
//
//   SequentialRunner runner = TRY(SequentialRunner::Open(Unchanged(pipeline), library,
//   {})); while (std::optional<core::Block> batch = TRY(runner.Next())) …
//
// Batching goes on from lane to lane: a lane's tail is pushed into the next lane, so
// that rows come in the same order whatever the batch size. Holds the output of one
// lane.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/stage_run.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

class SequentialRunner {
 public:
  // Plans a pass. The library and the pool must outlive the runner. A pipeline comes
  // as written (rewrite::Unchanged), or with what it was rewritten to.
  static absl::StatusOr<SequentialRunner> Open(const rewrite::Rewritten& pipeline,
                                               const ops::Library& library,
                                               const PassOptions& options,
                                               core::Pool& pool = core::HeapPool());

  // Gives the next block; nothing at the end of the pass. After the last batching
  // operator a block is one batch. An error names the operator and the lane, and ends
  // the pass.
  absl::StatusOr<std::optional<core::Block>> Next();

  const PassPlan& plan() const { return plan_; }

  // What was left out before what Next has given.
  const LeftOut& left_out() const { return left_out_; }

 private:
  class Lane;

  SequentialRunner(PassPlan plan, const ops::Library& library, core::Pool& pool)
      : plan_(std::move(plan)),
        library_(library),
        pool_(pool),
        left_out_(plan_.pipeline) {}

  PassPlan plan_;
  const ops::Library& library_;
  core::Pool& pool_;
  int64_t next_lane_ = 0;
  std::map<int64_t, core::Block> carry_;  // Tails so far, by key.
  std::deque<Item> ready_;
  LeftOut left_out_;
  absl::Status status_;
};

}  // namespace millrace::exec
