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
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/library.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {
namespace {

// An absurd product of sizes stays absurd; cutting refuses it by name.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return b > 0 && a > kMost / b ? kMost : a * b;
}

int64_t BatchSizeOf(const ir::Pipeline& node) {
  for (const ir::ArgumentSchema& argument : node.schema().arguments) {
    if (argument.is_batch_size) return node.arguments()[argument.name].As<int64_t>();
  }
  return 1;
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

}  // namespace

lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes) {
  lanes::CutFacts facts;
  int64_t rows_per_row = 1;  // Rows of the source in a row at this place.
  for (const ir::Pipeline& node : nodes) {
    const ir::OperatorTraits& traits = node.schema().traits;
    if (traits.batching) {
      rows_per_row = Times(rows_per_row, BatchSizeOf(node));
      facts.batch_rows = rows_per_row;
    } else if (traits.changes_cardinality) {
      facts.counts_change = true;
    }
    if (traits.reorders) {
      const int64_t window = node.arguments()["window"].As<int64_t>();
      facts.shuffled = true;
      facts.shuffle_window =
          std::max(facts.shuffle_window, Times(window, rows_per_row));
    }
  }
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
  const std::vector<ir::Pipeline> written = pipeline.before.Nodes();
  std::vector<ir::Pipeline> nodes = pipeline.after.Nodes();
  TRY(CheckIsChain(nodes));
  std::unique_ptr<ops::Source> source = library.MakeSource(
      nodes[0], {.pool = pool, .seed = options.seed, .epoch = options.epoch});
  lanes::Manifest manifest = TRY(source->List());
  const lanes::CutRecord cut = TRY(lanes::DecideCut(manifest, CutFactsOf(written)));
  lanes::LaneList lanes =
      TRY(lanes::LaneList::Cut(manifest, cut, ChunkKeyOf(written, options)));
  const int last_batching = LastBatching(nodes);
  return PassPlan{std::move(nodes), std::move(source), std::move(manifest), cut,
                  std::move(lanes), last_batching};
}

}  // namespace millrace::exec
