#include "millrace/rewrite/pass.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::rewrite {

absl::StatusOr<ir::Pipeline> RebuildAll(const ir::Pipeline& pipeline,
                                        const Rebuild& rebuild) {
  const std::vector<ir::Pipeline> nodes = pipeline.Nodes();
  std::vector<ir::Pipeline> rebuilt;
  for (const ir::Pipeline& node : nodes) {
    std::vector<ir::Pipeline> inputs;
    for (const ir::Pipeline& input : node.inputs()) {
      inputs.push_back(rebuilt[std::ranges::find(nodes, input) - nodes.begin()]);
    }
    rebuilt.push_back(TRY(rebuild(node, inputs)));
  }
  return rebuilt.back();
}

absl::StatusOr<Outcome> ReplaceNodes(const ir::Pipeline& pipeline,
                                     const ir::Catalog& catalog,
                                     const Replace& replace) {
  Outcome outcome = {pipeline, {}};
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    ir::Pipeline rebuilt = TRY(WithInputs(node, inputs, catalog));
    std::optional<Replacement> replaced = TRY(replace(rebuilt, catalog));
    if (!replaced) return rebuilt;
    outcome.reasons.push_back(std::move(replaced->reason));
    return std::move(replaced->node);
  };
  outcome.pipeline = TRY(RebuildAll(pipeline, rebuild));
  return outcome;
}

absl::StatusOr<ir::Pipeline> WithInputs(const ir::Pipeline& node,
                                        const std::vector<ir::Pipeline>& inputs,
                                        const ir::Catalog& catalog) {
  if (std::ranges::equal(node.inputs(), inputs)) return node;
  return ir::Pipeline::Make(catalog, node.name(), node.arguments(), inputs,
                            node.call_number());
}

const ir::Expression& MapFunction(const ir::Pipeline& map) {
  CHECK_EQ(map.name(), "map");
  return *map.arguments()["function"].As<ir::Function>();
}

const ir::Expression& FilterCondition(const ir::Pipeline& filter) {
  CHECK_EQ(filter.name(), "filter");
  return *filter.arguments()["predicate"].As<ir::Function>();
}

std::optional<FunctionArgument> FunctionOf(const ir::Pipeline& node) {
  for (const ir::Argument& argument : node.arguments().all()) {
    const auto* function = argument.value.If<ir::Function>();
    if (function != nullptr) return FunctionArgument{argument.name, *function};
  }
  return std::nullopt;
}

absl::StatusOr<ir::Pipeline> WithFunction(const ir::Pipeline& node,
                                          ir::Expression function,
                                          const ir::Catalog& catalog) {
  const std::optional<FunctionArgument> argument = FunctionOf(node);
  CHECK(argument.has_value()) << node.name();
  ir::Arguments arguments = node.arguments();
  arguments.Set(argument->name,
                std::make_shared<const ir::Expression>(std::move(function)));
  return ir::Pipeline::Make(
      catalog, node.name(), arguments,
      std::vector<ir::Pipeline>(node.inputs().begin(), node.inputs().end()),
      node.call_number());
}

}  // namespace millrace::rewrite
