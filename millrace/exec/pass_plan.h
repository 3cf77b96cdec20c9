// How a pass over a pipeline falls into lanes: lists the source, decides the cut from
// what the operators say about themselves, and cuts. Pure but for the listing.
//
// Lanes are cut from the pipeline as written, whatever it was rewritten to, so that a
// rewrite never moves a row.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/core/pool.h"
#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"
#include "millrace/lanes/manifest.h"
#include "millrace/ops/bad_rows.h"
#include "millrace/ops/library.h"
#include "millrace/ops/operator.h"
#include "millrace/ops/source.h"
#include "millrace/rewrite/rewrite.h"

namespace millrace::exec {

struct PassOptions {
  uint64_t seed = 0;   // Of the job, for operators without a seed of their own.
  uint64_t epoch = 0;  // Enters every draw.
  std::optional<lanes::CutRecord> cut = {};  // Of the state to go on from.
  bool with_ids =
      false;  // Blocks are to have identities, also where no draw needs them.
};

// A pass, ready to run.
struct PassPlan {
  std::vector<ir::Pipeline> nodes;      // As run, from the source to the last operator.
  std::unique_ptr<ops::Source> source;  // Listed.
  lanes::Manifest manifest;
  lanes::CutRecord cut;
  lanes::LaneList lanes;
  int last_batching = -1;  // Place of the last batching operator; -1 without one.
  int join = 0;            // Place whose input is counted, and where lanes are joined:
                           // that of the last batching operator, or behind them all.
  bool with_ids = false;   // Somebody needs identities.

  // The rows that come to the joining place from each lane; lanes::kRowsMax where that
  // is not known.
  std::vector<int64_t> joined_rows = {};

  // Of positional operators, by place: the rows that come before each lane.
  std::map<int, std::vector<int64_t>> first_rows = {};

  // What the operator at a place may know of a lane, besides what all know.
  ops::LaneContext ContextAt(int place, int64_t lane, const ops::LaneContext& all,
                             ops::BadRows& bad_rows) const;
};

// Lists and cuts a pass, to be read into the pool. Unimplemented when the pipeline is
// not one chain of operators.
absl::StatusOr<PassPlan> PlanPass(const rewrite::Rewritten& pipeline,
                                  const ops::Library& library,
                                  const PassOptions& options,
                                  core::Pool& pool = core::HeapPool());

// What the operators say about their lanes. `counted`: the source knows its rows.
lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes, bool counted);

// The rows that a batching operator puts in a batch; 1 for others.
int64_t BatchSizeOf(const ir::Pipeline& node);

// What the chunks of the pass are permuted with: the first shuffle's seed and number.
base::RandomKey ChunkKeyOf(const std::vector<ir::Pipeline>& nodes,
                           const PassOptions& options);

}  // namespace millrace::exec
