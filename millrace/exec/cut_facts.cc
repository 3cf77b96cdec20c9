#include "millrace/exec/cut_facts.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "millrace/base/text.h"
#include "millrace/exec/left_out.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/lanes/cutting.h"

namespace millrace::exec {
namespace {

// An absurd product of sizes stays absurd; cutting refuses it by name.
int64_t Times(int64_t a, int64_t b) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return b > 0 && a > kMost / b ? kMost : a * b;
}

bool IsRowWise(const ir::Pipeline& node) { return node.schema().traits.row_wise; }

bool Sinks(const ir::Pipeline& node) { return node.schema().traits.sinks; }

bool LooksAcross(const ir::Pipeline& node) {
  return node.schema().looks_across_lanes(node.arguments());
}

bool HasPerLane(const ir::Pipeline& node) {
  return node.arguments().Find("per_lane") != nullptr;
}

// "take (%2)", as the text form and errors have it.
std::string NameAt(const std::vector<ir::Pipeline>& nodes, int place) {
  const auto number = std::ssize(nodes[place].Nodes()) - 1;
  return base::StrCat(nodes[place].name(), " (%", number, ")");
}

// Why the rows that come from the first of the nodes are not known.
std::string RowsNotKnown(const ir::Pipeline& first, bool counted) {
  if (counted) return " may leave out rows that are wrong";
  if (!first.schema().traits.source) return " does not know how many rows it gives";
  return " does not know its rows before it reads them; count them once with "
         "`millrace data index`";
}

// Why a positional operator does not know its rows' places: because of an earlier one
// that does not say how many rows it gives.
std::string PlacesNotKnown(const std::vector<ir::Pipeline>& nodes, int place,
                           int uncounted, bool counted) {
  const std::string why =
      uncounted == 0 ? RowsNotKnown(nodes[0], counted)
                     : base::StrCat(" in front of it changes how many there are; put ",
                                    nodes[place].name(), " in front of ",
                                    nodes[uncounted].name(), ", where that serves");
  return base::StrCat(NameAt(nodes, place), " goes by a row's place in the pass, and ",
                      NameAt(nodes, uncounted), why);
}

// Why an operator looks at more rows than those of one lane, and what to do about it;
// empty when none does. `counted`: the source knows its rows.
std::string LooksAcrossLanes(const std::vector<ir::Pipeline>& nodes, bool counted,
                             bool ignored_behind, int runs_place) {
  constexpr int kNone = -1;
  // The first place that rows are not known of.
  int uncounted = counted && !MayLeaveOut(nodes, 0, ignored_behind) ? kNone : 0;
  for (int place = 1; place < static_cast<int>(nodes.size()); ++place) {
    const ir::OperatorTraits& traits = nodes[place].schema().traits;
    if (place != runs_place && LooksAcross(nodes[place])) {
      return base::StrCat(NameAt(nodes, place), " looks at the rows of all lanes",
                          HasPerLane(nodes[place])
                              ? "; with per_lane=true it takes each lane by itself, "
                                "where that serves"
                              : "");
    }
    if (traits.positional && uncounted != kNone) {
      return PlacesNotKnown(nodes, place, uncounted, counted);
    }
    const bool keeps_known =
        traits.positional || KeepsCount(nodes, place, ignored_behind);
    if (uncounted == kNone && !keeps_known) uncounted = place;
  }
  return "";
}

// The same for operators behind the last batching one, where lanes are already joined.
// `whole`: what is batched ends with a whole batch in every lane.
std::string MixesBatches(const std::vector<ir::Pipeline>& nodes, bool whole) {
  const int batching = LastBatching(nodes);
  if (batching < 0 || JoinPlace(nodes, batching) == batching) return "";
  const auto mixes =
      std::find_if_not(nodes.begin() + batching + 1, nodes.end(), IsRowWise);
  // What is only written down may be in many lanes, if these have the same batches.
  const bool stacks = nodes[batching].schema().traits.stacks_runs;
  if (whole && stacks && Sinks(*mixes)) return "";
  return base::StrCat(NameAt(nodes, static_cast<int>(mixes - nodes.begin())),
                      " looks at more than one batch of ", NameAt(nodes, batching),
                      "; put it in front of that, where that serves");
}

// Whether what comes out depends on where lanes end. `whole`: as above.
bool ShowsCut(const ir::Pipeline& node, bool whole) {
  const ir::OperatorTraits& traits = node.schema().traits;
  const bool begins = traits.source || traits.branches();
  const bool stacks = whole && traits.stacks_runs;
  return !(begins || traits.row_wise || traits.positional || traits.sinks || stacks);
}

// What lanes that give runs must hold: of each key so many runs.
void AddRuns(const ir::KeyedRuns& runs, int64_t rows_per_row, lanes::CutFacts& facts) {
  constexpr int64_t kRunsPerKey = 16;
  constexpr int64_t kRunsLeast = 4;       // Else much of a lane would be tails.
  constexpr int64_t kBatchesPerKey = 64;  // As lanes::DecideCut has it.
  const int64_t batches = std::max(kBatchesPerKey, Times(kRunsPerKey, runs.group));
  facts.batch_rows = Times(rows_per_row, std::ranges::max(runs.sizes));
  int64_t batch_of_each = 0;
  for (const int64_t size : runs.sizes) batch_of_each += size;
  facts.run_rows = Times(rows_per_row, Times(kRunsLeast * runs.group, batch_of_each));
  facts.buckets =
      Times(std::ssize(runs.sizes), (batches + kBatchesPerKey - 1) / kBatchesPerKey);
}

}  // namespace

bool AreRowWise(const std::vector<ir::Pipeline>& nodes) {
  return std::all_of(nodes.begin() + 1, nodes.end(), IsRowWise);
}

std::vector<ir::Pipeline> ChainTo(const ir::Pipeline& last) {
  std::vector<ir::Pipeline> nodes = {last};
  while (!nodes.back().inputs().empty() && !nodes.back().schema().traits.branches()) {
    nodes.push_back(nodes.back().inputs()[0]);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

int LastBatching(const std::vector<ir::Pipeline>& nodes) {
  for (int i = static_cast<int>(nodes.size()) - 1; i >= 0; --i) {
    if (nodes[i].schema().traits.batching) return i;
  }
  return -1;
}

int RunsPlace(const std::vector<ir::Pipeline>& nodes) {
  for (int place = static_cast<int>(nodes.size()) - 1; place > 0; --place) {
    const ir::Pipeline& node = nodes[place];
    if (node.schema().keyed_runs(node.arguments())) return place;
    if (!IsRowWise(node)) return -1;
  }
  return -1;
}

int JoinPlace(const std::vector<ir::Pipeline>& nodes, int last_batching) {
  const auto end = static_cast<int>(nodes.size());
  if (last_batching < 0) return end;
  const bool ends_row_wise =
      std::all_of(nodes.begin() + last_batching + 1, nodes.end(), IsRowWise);
  return ends_row_wise ? last_batching : end;
}

bool KeepsCount(const std::vector<ir::Pipeline>& nodes, int place,
                bool ignored_behind) {
  const ir::OperatorTraits& traits = nodes[place].schema().traits;
  return !traits.changes_cardinality && !traits.batching &&
         !MayLeaveOut(nodes, place, ignored_behind);
}

int64_t BatchSizeOf(const ir::Pipeline& node) {
  for (const ir::ArgumentSchema& argument : node.schema().arguments) {
    if (argument.is_batch_size) return node.arguments()[argument.name].As<int64_t>();
  }
  return 1;
}

lanes::CutFacts CutFactsOf(const std::vector<ir::Pipeline>& nodes, bool counted,
                           bool ignored_behind, bool divisible, bool runs) {
  lanes::CutFacts facts;
  const int runs_place = runs ? RunsPlace(nodes) : -1;
  int64_t rows_per_row = 1;  // Rows of the source in a row at this place.
  bool by_order = false;     // An operator before this place goes by the rows' order.
  for (int place = 0; place < static_cast<int>(nodes.size()); ++place) {
    const ir::Pipeline& node = nodes[place];
    const ir::OperatorTraits& traits = node.schema().traits;
    facts.sinks = facts.sinks || traits.sinks;
    if (traits.sinks) continue;
    if (traits.batching) {
      rows_per_row = Times(rows_per_row, BatchSizeOf(node));
      facts.batch_rows = rows_per_row;
    } else if (!KeepsCount(nodes, place, ignored_behind)) {
      facts.counts_change = true;
    }
    if (place == runs_place) {
      AddRuns(*node.schema().keyed_runs(node.arguments()), rows_per_row, facts);
    }
    facts.permuted = facts.permuted || traits.permutes_all;
    by_order = by_order || traits.positional || LooksAcross(node);
    if (traits.reorders && !traits.permutes_all) {
      const int64_t window = node.arguments()["window"].As<int64_t>();
      facts.shuffled = facts.shuffled || !by_order;
      facts.shuffle_window =
          std::max(facts.shuffle_window, Times(window, rows_per_row));
    }
  }
  const bool whole = counted && divisible && !facts.counts_change;
  facts.cut_shows = std::ranges::any_of(
      nodes, [&](const ir::Pipeline& node) { return ShowsCut(node, whole); });
  facts.one_lane_reason = LooksAcrossLanes(nodes, counted, ignored_behind, runs_place);
  if (facts.one_lane_reason.empty() && runs_place < 0) {
    facts.one_lane_reason = MixesBatches(nodes, whole);
  }
  return facts;
}

lanes::CutFacts WithBehind(lanes::CutFacts facts,
                           const std::vector<ir::Pipeline>& behind, bool runs) {
  if (behind.empty()) return facts;
  const lanes::CutFacts more = CutFactsOf(behind, false, false, false, runs);
  facts.batch_rows = std::max(facts.batch_rows, more.batch_rows);
  facts.buckets = std::max(facts.buckets, more.buckets);
  facts.run_rows = std::max(facts.run_rows, more.run_rows);
  facts.shuffle_window = std::max(facts.shuffle_window, more.shuffle_window);
  facts.counts_change = facts.counts_change || more.counts_change;
  facts.sinks = facts.sinks || more.sinks;
  facts.cut_shows = facts.cut_shows || more.cut_shows;
  return facts;
}

absl::Status CheckOneLane(const std::string& reason, const lanes::LaneList& lanes) {
  if (reason.empty() || lanes.size() <= 1) return absl::OkStatus();
  return absl::FailedPreconditionError(
      base::StrCat("the state is of a pass in ", lanes.size(),
                   " lanes; go on with a loader of the same kind, since this pass can "
                   "only be one lane: ",
                   reason));
}

}  // namespace millrace::exec
