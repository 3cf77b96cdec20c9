// A rewrite pass: from a pipeline to one that gives the very same rows, bit for bit,
// and costs less. Passes are pure; each is one file and one line in `passes.inc`, and
// can be switched off by name.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::rewrite {

// What a pass made of a pipeline, and why, change by change. No reasons: no change.
struct Outcome {
  ir::Pipeline pipeline;
  std::vector<std::string> reasons;
};

struct Pass {
  std::string name;
  std::string doc;
  std::function<absl::StatusOr<Outcome>(const ir::Pipeline&, const ir::Catalog&)> apply;
};

// Rebuilds a pipeline from its sources on. `rebuild` is given each node and its inputs
// as already rebuilt, and gives what takes the node's place.
using Rebuild = std::function<absl::StatusOr<ir::Pipeline>(
    const ir::Pipeline& node, const std::vector<ir::Pipeline>& inputs)>;
absl::StatusOr<ir::Pipeline> RebuildAll(const ir::Pipeline& pipeline,
                                        const Rebuild& rebuild);

// What takes a node's place, and why.
struct Replacement {
  ir::Pipeline node;
  std::string reason;
};

// Makes a pass of a function that looks at one node, its inputs rewritten already, and
// gives what takes its place; nothing where it stays.
using Replace = std::function<absl::StatusOr<std::optional<Replacement>>(
    const ir::Pipeline& node, const ir::Catalog& catalog)>;
absl::StatusOr<Outcome> ReplaceNodes(const ir::Pipeline& pipeline,
                                     const ir::Catalog& catalog,
                                     const Replace& replace);

// Puts a node after other inputs: itself when they are its own.
absl::StatusOr<ir::Pipeline> WithInputs(const ir::Pipeline& node,
                                        const std::vector<ir::Pipeline>& inputs,
                                        const ir::Catalog& catalog);

// The row function of a map. Requires: the node is one.
const ir::Expression& MapFunction(const ir::Pipeline& map);

// The condition of a filter. Requires: the node is one.
const ir::Expression& FilterCondition(const ir::Pipeline& filter);

// The function that an operator is given, under the argument's name.
struct FunctionArgument {
  std::string name;
  ir::Function function;
};

// Finds an operator's function; nothing where it has none.
std::optional<FunctionArgument> FunctionOf(const ir::Pipeline& node);

// Gives an operator another function. Requires: it has one.
absl::StatusOr<ir::Pipeline> WithFunction(const ir::Pipeline& node,
                                          ir::Expression function,
                                          const ir::Catalog& catalog);

}  // namespace millrace::rewrite
