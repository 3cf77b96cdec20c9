// What the operators of a chain, one behind the other from where rows come from, say
// about its lanes: how large these are to be, where they are joined, and why there may
// be only one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/ir/pipeline.h"
#include "millrace/lanes/cutting.h"

namespace millrace::exec {

// The operators from the nearest one that rows come from, a source or what makes one
// stream of several, to the last.
std::vector<ir::Pipeline> ChainTo(const ir::Pipeline& last);

// What the operators say about their lanes. `counted`: the source knows its rows.
// `ignored_behind`: rows that are wrong are left out behind all of the nodes.
// `divisible`: a lane of the source may end at any row. `runs`: lanes may give runs.
lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes, bool counted,
                           bool ignored_behind = false, bool divisible = false,
                           bool runs = false);

// The same where lanes are cut for what stands behind a repeat or concat as well.
lanes::CutFacts WithBehind(lanes::CutFacts facts,
                           const std::vector<ir::Pipeline>& behind, bool runs = false);

// Whether all but the first of the nodes are row-wise.
bool AreRowWise(const std::vector<ir::Pipeline>& nodes);

// The rows that a batching operator puts in a batch; 1 for others.
int64_t BatchSizeOf(const ir::Pipeline& node);

// The place of the last batching operator; -1 without one.
int LastBatching(const std::vector<ir::Pipeline>& nodes);

// Lanes are joined by the last batching operator. Where operators behind it look at
// more than one batch there is only one lane, and what comes out is counted.
int JoinPlace(const std::vector<ir::Pipeline>& nodes, int last_batching);

// The place of an operator whose lanes may give runs, which joins them where they do:
// the last that batches, with nothing behind it that looks at more than one batch; -1
// without one.
int RunsPlace(const std::vector<ir::Pipeline>& nodes);

// Whether as many rows come out as go in.
bool KeepsCount(const std::vector<ir::Pipeline>& nodes, int place, bool ignored_behind);

// Checks lanes where there may be only one, for a reason that is not empty: a recorded
// cut may be another pipeline's over the same data, which needed no places.
absl::Status CheckOneLane(const std::string& reason, const lanes::LaneList& lanes);

}  // namespace millrace::exec
