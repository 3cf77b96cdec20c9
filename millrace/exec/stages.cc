#include "millrace/exec/stages.h"

#include <algorithm>
#include <vector>

#include "millrace/exec/left_out.h"
#include "millrace/exec/pass_plan.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

Stage::Kind KindOf(const ir::Pipeline& node) {
  const ir::OperatorTraits& traits = node.schema().traits;
  if (traits.source || traits.branches()) return Stage::Kind::kRead;
  if (traits.sinks) return Stage::Kind::kWrite;
  return traits.row_wise ? Stage::Kind::kRowWise : Stage::Kind::kInOrder;
}

}  // namespace

bool GivesOneRowPerRow(const PassPlan& plan, int place) {
  const ir::OperatorTraits& traits = plan.nodes[place].schema().traits;
  return traits.row_wise && !traits.changes_cardinality &&
         !MayLeaveOut(plan.nodes, place, plan.ignored_behind);
}

std::vector<Stage> CutIntoStages(const std::vector<ir::Pipeline>& nodes,
                                 const std::vector<int>& cuts) {
  std::vector<Stage> stages;
  for (int place = 0; place < static_cast<int>(nodes.size()); ++place) {
    const Stage::Kind kind = KindOf(nodes[place]);
    const bool begins = stages.empty() || stages.back().kind != kind ||
                        std::ranges::find(cuts, place) != cuts.end();
    if (begins) stages.push_back({.kind = kind, .first = place, .last = place});
    stages.back().last = place;
  }
  return stages;
}

int SkipPlace(const PassPlan& plan) {
  int place = plan.join;
  while (place > 1 && GivesOneRowPerRow(plan, place - 1)) --place;
  const bool all_come = !MayLeaveOut(plan.nodes, 0, plan.ignored_behind);
  return place == 1 && all_come ? 0 : place;
}

}  // namespace millrace::exec
