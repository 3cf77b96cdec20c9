#include "millrace/ir/renumber.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

int64_t Moved(int64_t number, int64_t by) {
  return number == kNoCallNumber ? kNoCallNumber : number + by;
}

// A term comes after its operands, so each gets the place that it had.
absl::StatusOr<Expression> MovedFunction(const Expression& function, int64_t by,
                                         const core::Spec& input,
                                         const Catalog& catalog) {
  ExpressionBuilder builder(catalog, input, 0);
  for (const Term& term : function.terms()) {
    if (term.kind == Term::Kind::kField) {
      TRY(builder.Field(term.name));
    } else if (term.kind == Term::Kind::kLiteral) {
      TRY(builder.Literal(term.literal, term.type.weak));
    } else {
      TRY(builder.Call(term.name, term.operands, term.arguments,
                       Moved(term.call_number, by)));
    }
  }
  for (const Result& result : function.results()) {
    TRY(builder.AddResult(result.name, result.term));
  }
  return builder.Build();
}

absl::StatusOr<Pipeline> MovedNode(const Pipeline& node, std::vector<Pipeline> inputs,
                                   int64_t by, const Catalog& catalog) {
  Arguments arguments = node.arguments();
  for (const Argument& argument : node.arguments().all()) {
    const auto* function = argument.value.If<Function>();
    if (function == nullptr) continue;
    const core::Spec rows = TRY(node.FunctionInput());
    arguments.Set(argument.name, std::make_shared<const Expression>(TRY(
                                     MovedFunction(**function, by, rows, catalog))));
  }
  return Pipeline::Make(catalog, node.name(), arguments, std::move(inputs),
                        Moved(node.call_number(), by));
}

}  // namespace

absl::StatusOr<Pipeline> Renumbered(const Pipeline& pipeline, int64_t by,
                                    const Catalog& catalog) {
  if (by == 0) return pipeline;
  const std::vector<Pipeline> nodes = pipeline.Nodes();  // Inputs before readers.
  std::vector<Pipeline> moved;
  for (const Pipeline& node : nodes) {
    std::vector<Pipeline> inputs;
    for (const Pipeline& input : node.inputs()) {
      inputs.push_back(moved[std::ranges::find(nodes, input) - nodes.begin()]);
    }
    moved.push_back(TRY(MovedNode(node, std::move(inputs), by, catalog)));
  }
  return moved.back();
}

}  // namespace millrace::ir
