// Joins what lanes leave over into batches: the last batching operator, and those
// behind it, run on rows of several lanes. Whoever receives lanes does this, in its own
// process; it needs the pipeline, rewritten as that of the lanes was, and no data.
//
//   TailJoiner joiner = TRY(TailJoiner::Make(rewritten, library, {.seed = 7}));
//   JoinedTails joined = TRY(joiner.Join({tail, other_tail}, {.ends_pass = true}));
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/left_out.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

struct JoinOptions {
  bool ends_pass =
      false;         // There is no more to come: a short batch is made or dropped.
  int64_t lane = 0;  // Of the last rows, which errors name.
};

struct JoinedTails {
  std::vector<core::Block> batches = {};  // What comes out, in order.
  core::Block rest = {};                  // Rows that fill no batch yet.
  std::vector<LeftOutRow> left_out = {};  // By operators behind the batching one.
};

// Immutable: any number of threads may join.
class TailJoiner {
 public:
  // Of the options seed, epoch and cancelled count. An error where nothing joins lanes.
  // Requires: library and pool outlive it.
  static absl::StatusOr<TailJoiner> Make(const rewrite::Rewritten& pipeline,
                                         const ops::Library& library,
                                         const PassOptions& options,
                                         core::Pool& pool = core::HeapPool());

  // Makes batches of tails, or parts of them, one behind the other.
  absl::StatusOr<JoinedTails> Join(absl::Span<const core::Block> tails,
                                   const JoinOptions& options) const;

 private:
  TailJoiner(PassPlan plan, const ops::Library& library, core::Pool& pool)
      : plan_(std::make_unique<const PassPlan>(std::move(plan))),
        library_(&library),
        pool_(&pool) {}

  std::unique_ptr<const PassPlan> plan_;  // Without anything to read.
  const ops::Library* library_;
  core::Pool* pool_;
};

}  // namespace millrace::exec
