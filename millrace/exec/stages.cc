#include "millrace/exec/stages.h"

#include <algorithm>
#include <vector>

#include "millrace/exec/left_out.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"

namespace millrace::exec {
namespace {

Stage::Kind KindOf(const ir::Pipeline& node) {
  const ir::OperatorTraits& traits = node.schema().traits;
  if (traits.source || traits.branches()) return Stage::Kind::kRead;
  return traits.row_wise ? Stage::Kind::kRowWise : Stage::Kind::kInOrder;
}

}  // namespace

bool GivesOneRowPerRow(const std::vector<ir::Pipeline>& nodes, int place) {
  const ir::OperatorTraits& traits = nodes[place].schema().traits;
  return traits.row_wise && !traits.changes_cardinality && !MayLeaveOut(nodes, place);
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

int SkipPlace(const std::vector<ir::Pipeline>& nodes, int place) {
  while (place > 1 && GivesOneRowPerRow(nodes, place - 1)) --place;
  return place == 1 && !MayLeaveOut(nodes, 0) ? 0 : place;
}

}  // namespace millrace::exec
