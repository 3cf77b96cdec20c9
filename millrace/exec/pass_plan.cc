#include "millrace/exec/pass_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/pool.h"
#include "millrace/exec/left_out.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/define.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

// An absurd product of sizes stays absurd; cutting refuses it by name.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return b > 0 && a > kMost / b ? kMost : a * b;
}

absl::Status CheckIsChain(const std::vector<ir::Pipeline>& nodes) {
  for (const ir::Pipeline& node : nodes) {
    if (node.inputs().size() <= 1) continue;
    return absl::UnimplementedError(
        base::StrCat(node.name(), ": operators with several inputs do not run yet"));
  }
  return absl::OkStatus();
}

int LastBatching(const std::vector<ir::Pipeline>& nodes) {
  for (int i = static_cast<int>(nodes.size()) - 1; i >= 0; --i) {
    if (nodes[i].schema().traits.batching) return i;
  }
  return -1;
}

bool IsRowWise(const ir::Pipeline& node) { return node.schema().traits.row_wise; }

// Lanes are joined by the last batching operator. Where operators behind it look at
// more than one batch there is only one lane, and what comes out is counted.
int JoinPlace(const std::vector<ir::Pipeline>& nodes, int last_batching) {
  const auto end = static_cast<int>(nodes.size());
  if (last_batching < 0) return end;
  const bool ends_row_wise =
      std::all_of(nodes.begin() + last_batching + 1, nodes.end(), IsRowWise);
  return ends_row_wise ? last_batching : end;
}

// Whether as many rows come out as go in.
bool KeepsCount(const std::vector<ir::Pipeline>& nodes, int place) {
  const ir::OperatorTraits& traits = nodes[place].schema().traits;
  return !traits.changes_cardinality && !traits.batching && !MayLeaveOut(nodes, place);
}

// Draws need identities, and so do rows without fields: a batch of them would not know
// how many it holds.
bool NeedsIds(const ir::Pipeline& node) {
  const bool draws =
      node.schema().traits.row_wise && node.schema().is_random(node.arguments());
  return draws || node.spec().fields().empty();
}

bool CanFail(const ir::Pipeline& node) {
  return !node.schema().traits.source && node.schema().can_fail(node.arguments());
}

bool Unstacks(const ir::Pipeline& node) { return node.schema().traits.unstacks; }

// Errors name the row by its identity. Not worth it where batches are taken apart: a
// map may have left other rows in them than there are identities.
bool WantsIdsForErrors(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(nodes, CanFail) && std::ranges::none_of(nodes, Unstacks);
}

// Puts the operators that others are run as in their place.
absl::StatusOr<ir::Pipeline> Lowered(const ir::Pipeline& pipeline,
                                     const ops::Library& library) {
  const ir::Catalog& catalog = library.catalog();
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    const std::vector<ops::Step> steps = library.StepsOf(node);
    if (steps.empty()) return rewrite::WithInputs(node, inputs, catalog);
    ir::Pipeline made = inputs[0];
    for (const ops::Step& step : steps) {
      made = TRY(ir::Pipeline::Make(catalog, step.name, step.arguments, {made}));
    }
    return made;
  };
  return rewrite::RebuildAll(pipeline, rebuild);
}

// Follows the rows of each lane through the operators, as far as they are known.
void CountLanes(PassPlan& plan) {
  std::vector<int64_t> rows = plan.lanes.lane_rows();
  bool known = plan.cut.counted && !MayLeaveOut(plan.nodes, 0);
  for (int place = 1; place < plan.join; ++place) {
    const ir::Pipeline& node = plan.nodes[place];
    known = known && (node.schema().traits.positional || KeepsCount(plan.nodes, place));
    if (!known || !node.schema().traits.positional) continue;
    std::vector<int64_t>& first = plan.first_rows[place];
    int64_t before = 0;
    for (int64_t& lane_rows : rows) {
      first.push_back(before);
      before += lane_rows;
      lane_rows = node.schema().count_of_run(node.arguments(), first.back(), lane_rows);
    }
  }
  if (!known) rows.assign(rows.size(), lanes::kRowsMax);
  plan.joined_rows = std::move(rows);
}

}  // namespace

int64_t BatchSizeOf(const ir::Pipeline& node) {
  for (const ir::ArgumentSchema& argument : node.schema().arguments) {
    if (argument.is_batch_size) return node.arguments()[argument.name].As<int64_t>();
  }
  return 1;
}

ops::LaneContext PassPlan::ContextAt(int place, int64_t lane,
                                     const ops::LaneContext& all,
                                     ops::BadRows& bad_rows) const {
  ops::LaneContext context = {.pool = all.pool,
                              .seed = all.seed,
                              .epoch = all.epoch,
                              .lane = all.lane,
                              .call_number = all.call_number,
                              .first_row = all.first_row,
                              .bad_rows = bad_rows};
  const auto found = first_rows.find(place);
  if (found != first_rows.end()) context.first_row = found->second[lane];
  return context;
}

lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes, bool counted) {
  lanes::CutFacts facts;
  int64_t rows_per_row = 1;  // Rows of the source in a row at this place.
  for (int place = 0; place < static_cast<int>(nodes.size()); ++place) {
    const ir::Pipeline& node = nodes[place];
    const ir::OperatorTraits& traits = node.schema().traits;
    if (traits.batching) {
      rows_per_row = Times(rows_per_row, BatchSizeOf(node));
      facts.batch_rows = rows_per_row;
    } else if (traits.changes_cardinality || MayLeaveOut(nodes, place)) {
      facts.counts_change = true;
    }
    if (traits.reorders) {
      const int64_t window = node.arguments()["window"].As<int64_t>();
      facts.shuffled = true;
      facts.shuffle_window =
          std::max(facts.shuffle_window, Times(window, rows_per_row));
    }
    facts.one_lane =
        facts.one_lane || traits.across_lanes || (traits.positional && !counted);
    counted = counted && (traits.positional || KeepsCount(nodes, place));
  }
  const int last_batching = LastBatching(nodes);
  const bool mixes_batches =
      last_batching >= 0 && JoinPlace(nodes, last_batching) != last_batching;
  facts.one_lane = facts.one_lane || mixes_batches;
  return facts;
}

base::RandomKey ChunkKeyOf(const std::vector<ir::Pipeline>& nodes,
                           const PassOptions& options) {
  for (const ir::Pipeline& node : nodes) {
    if (!node.schema().traits.reorders) continue;
    const ir::Value& seed = node.arguments()["seed"];
    return {seed.is_none() ? options.seed : static_cast<uint64_t>(seed.As<int64_t>()),
            options.epoch, static_cast<uint64_t>(node.call_number())};
  }
  return {options.seed, options.epoch, 0};
}

absl::StatusOr<PassPlan> PlanPass(const rewrite::Rewritten& pipeline,
                                  const ops::Library& library,
                                  const PassOptions& options, core::Pool& pool) {
  const std::vector<ir::Pipeline> written =
      TRY(Lowered(pipeline.before, library)).Nodes();
  std::vector<ir::Pipeline> nodes = TRY(Lowered(pipeline.after, library)).Nodes();
  TRY(CheckIsChain(nodes));
  const bool with_ids = options.with_ids || std::ranges::any_of(written, NeedsIds) ||
                        WantsIdsForErrors(written);
  std::unique_ptr<ops::Source> source =
      library.MakeSource(nodes[0], {.pool = pool,
                                    .seed = options.seed,
                                    .epoch = options.epoch,
                                    .with_ids = with_ids});
  lanes::Manifest manifest = TRY(source->List());
  const bool began_without_counts = options.cut && !options.cut->counted;
  if (!manifest.counted() || began_without_counts) {
    manifest = lanes::WithoutCounts(std::move(manifest));
  }
  const lanes::CutRecord cut =
      options.cut
          ? *options.cut
          : TRY(lanes::DecideCut(manifest, CutFactsOf(written, manifest.counted())));
  lanes::LaneList lanes =
      TRY(lanes::LaneList::Cut(manifest, cut, ChunkKeyOf(written, options)));
  PassPlan plan = {.nodes = std::move(nodes),
                   .source = std::move(source),
                   .manifest = std::move(manifest),
                   .cut = cut,
                   .lanes = std::move(lanes),
                   .with_ids = with_ids};
  plan.last_batching = LastBatching(plan.nodes);
  plan.join = JoinPlace(plan.nodes, plan.last_batching);
  CountLanes(plan);
  return plan;
}

}  // namespace millrace::exec
