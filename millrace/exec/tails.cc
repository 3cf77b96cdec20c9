#include "millrace/exec/tails.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/pool.h"
#include "millrace/exec/chain.h"
#include "millrace/exec/cut_facts.h"
#include "millrace/exec/lowered.h"
#include "millrace/exec/meters.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/exec/row_origins.h"
#include "millrace/exec/stage_run.h"
#include "millrace/exec/stages.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

// A plan as far as the operators tell.
absl::StatusOr<PassPlan> PlanOperators(const ir::Pipeline& pipeline,
                                       const PassOptions& options) {
  PassPlan plan = {.pipeline = pipeline.Nodes(),
                   .nodes = ChainTo(pipeline),
                   .numbers = {},
                   .source = nullptr,
                   .manifest = {},
                   .cut = {},
                   .lanes = TRY(lanes::LaneList::Cut({}, {}, base::RandomKey(0, 0, 0))),
                   .seed = options.seed,
                   .epoch = options.epoch,
                   .with_ids = true,
                   .cancelled = options.cancelled,
                   .sources = std::make_shared<RowOrigins>()};
  for (const ir::Pipeline& node : plan.nodes) {
    const auto found = std::ranges::find(plan.pipeline, node);
    plan.numbers.push_back(static_cast<int>(found - plan.pipeline.begin()));
  }
  plan.may_run = options.runs;
  plan.FindJoin();
  return plan;
}

}  // namespace

absl::StatusOr<TailJoiner> TailJoiner::Make(const rewrite::Rewritten& pipeline,
                                            const ops::Library& library,
                                            const PassOptions& options,
                                            core::Pool& pool) {
  PassPlan plan = TRY(PlanOperators(TRY(Lowered(pipeline.after, library)), options));
  if (plan.join == std::ssize(plan.nodes)) {
    return absl::InvalidArgumentError(
        "lanes of this pipeline leave nothing over: no batching operator joins them");
  }
  return TailJoiner(std::move(plan), library, pool);
}

absl::StatusOr<JoinedTails> TailJoiner::Join(absl::Span<const core::Block> tails,
                                             const JoinOptions& options) const {
  Meters meters(plan_->pipeline.size(), base::RealClock(), /*on=*/false);
  const ops::LaneContext context = {.pool = *pool_,
                                    .seed = plan_->seed,
                                    .epoch = plan_->epoch,
                                    .lane = {},
                                    .cancelled = plan_->cancelled.get()};
  Chain chain(*plan_,
              {.kind = Stage::Kind::kInOrder,
               .first = plan_->join,
               .last = static_cast<int>(plan_->nodes.size()) - 1},
              *library_, {context, options.lane}, meters);
  for (const core::Block& rows : tails) TRY(chain.Push(rows));
  while (TRY(chain.Finish(options.ends_pass)) == ops::Held::kMore) {
  }
  JoinedTails joined;
  for (Item& item : chain.TakeOutput()) {
    if (item.left_out) {
      joined.left_out.push_back(*std::move(item.left_out));
    } else {
      joined.batches.push_back(std::move(item.block));
    }
  }
  for (auto& [key, rows] : chain.TakeTails()) joined.rest = std::move(rows);
  return joined;
}

}  // namespace millrace::exec
