#include "millrace/exec/wanted_ids.h"

#include <algorithm>
#include <vector>

#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::exec {
namespace {

// Draws need identities, and so do rows without fields: a batch of them would not know
// how many it holds.
bool NeedsIds(const ir::Pipeline& node) {
  const auto draws = [](const ir::Argument& argument) {
    const auto* function = argument.value.If<ir::Function>();
    return function != nullptr && (*function)->IsRandom();
  };
  const ir::OperatorSchema& schema = node.schema();
  const bool draws_itself =
      schema.traits.row_wise && schema.is_random(node.arguments());
  return draws_itself || std::ranges::any_of(node.arguments().all(), draws) ||
         node.spec().fields().empty();
}

bool CanFail(const ir::Pipeline& node) {
  return !node.schema().traits.source && node.schema().can_fail(node.arguments());
}

// How many batches deep rows stand in batches, at most.
int BatchesDeep(const std::vector<ir::Pipeline>& nodes) {
  int deepest = 0;
  std::vector<int> depths;
  for (const ir::Pipeline& node : nodes) {
    int depth = 0;
    for (const ir::Pipeline& input : node.inputs()) {
      const auto found = std::ranges::find(nodes, input);
      depth = std::max(depth, depths[found - nodes.begin()]);
    }
    const ir::OperatorTraits& traits = node.schema().traits;
    if (traits.unstacks) depth = std::max(0, depth - 1);
    if (traits.batching) ++depth;
    deepest = std::max(deepest, depth);
    depths.push_back(depth);
  }
  return deepest;
}

bool Unstacks(const ir::Pipeline& node) { return node.schema().traits.unstacks; }

// Errors name the row by its identity. Not worth it where batches of batches are taken
// apart: a map may have left other batches in them than there are identities.
bool WantsIdsForErrors(const std::vector<ir::Pipeline>& nodes) {
  return MayFail(nodes) &&
         (std::ranges::none_of(nodes, Unstacks) || BatchesDeep(nodes) < 2);
}

}  // namespace

bool WantsIds(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(nodes, NeedsIds) || WantsIdsForErrors(nodes);
}

bool MayFail(const std::vector<ir::Pipeline>& nodes) {
  return std::ranges::any_of(nodes, CanFail);
}

}  // namespace millrace::exec
