// Leaves out what nobody reads further down, results of maps and fields of sources:
// what is not read or computed need not be shuffled, batched or sent either.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/rewrite/failing_results.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

using Names = std::set<std::string>;

Names AllOf(const core::Spec& spec) {
  Names names;
  for (const core::FieldSpec& field : spec.fields()) names.insert(field.name);
  return names;
}

// The map's results that must stay: those that are read, and those that can fail.
Names ResultsToKeep(const ir::Pipeline& map, const Names& read) {
  Names keep = read;
  for (std::string& name : FailingResults(MapFunction(map)))
    keep.insert(std::move(name));
  return keep;
}

absl::StatusOr<ir::Expression> Only(const Names& keep, const ir::Pipeline& map,
                                    const ir::Catalog& catalog) {
  const ir::Expression& function = MapFunction(map);
  const core::Spec& input = map.inputs()[0].spec();
  ir::ExpressionBuilder builder(catalog, input, map.NextCallNumber());
  absl::flat_hash_map<std::string, ir::TermId> fields;
  for (const std::string& name : function.FieldsRead()) {
    fields.emplace(name, TRY(builder.Field(name)));
  }
  const std::vector<ir::TermId> terms = TRY(ir::Inline(function, builder, fields));
  for (size_t i = 0; i < terms.size(); ++i) {
    const std::string& name = function.results()[i].name;
    if (keep.contains(name)) TRY(builder.AddResult(name, terms[i]));
  }
  return builder.Build();
}

// What a node reads of its input, when `read` of its own fields are read.
absl::StatusOr<Names> ReadOfInput(const ir::Pipeline& node, const Names& read,
                                  const ir::Pipeline& input,
                                  const ir::Catalog& catalog) {
  Names names;
  if (node.name() == "map") {
    const ir::Expression kept = TRY(Only(ResultsToKeep(node, read), node, catalog));
    for (std::string& name : kept.FieldsRead()) names.insert(std::move(name));
    return names;
  }
  if (!node.schema().traits.keeps_fields) return AllOf(input.spec());
  names = read;
  for (const ir::Argument& argument : node.arguments().all()) {
    const auto* function = argument.value.If<ir::Function>();
    if (function == nullptr) continue;
    for (std::string& name : (*function)->FieldsRead()) names.insert(std::move(name));
  }
  return names;
}

// For each node, the fields of it that somebody reads.
absl::StatusOr<std::vector<Names>> FieldsRead(const std::vector<ir::Pipeline>& nodes,
                                              const ir::Catalog& catalog) {
  std::vector<Names> read(nodes.size());
  read.back() = AllOf(nodes.back().spec());
  for (size_t i = nodes.size(); i-- > 0;) {  // Readers before what they read.
    for (const ir::Pipeline& input : nodes[i].inputs()) {
      const size_t place = std::ranges::find(nodes, input) - nodes.begin();
      read[place].merge(TRY(ReadOfInput(nodes[i], read[i], input, catalog)));
    }
  }
  return read;
}

// A node after its rewritten inputs, and what of its fields is read.
struct Pruning {
  const ir::Pipeline& node;
  const std::vector<ir::Pipeline>& inputs;
  const Names& read;
  const ir::Catalog& catalog;
};

std::string Because(const std::string& does, const std::vector<std::string>& names) {
  return base::StrCat(does, " ", absl::StrJoin(names, ", "), ": nobody reads it");
}

absl::StatusOr<std::optional<Replacement>> PruneMap(const Pruning& pruning) {
  const Names keep = ResultsToKeep(pruning.node, pruning.read);
  std::vector<std::string> dropped;
  for (const ir::Result& result : MapFunction(pruning.node).results()) {
    if (!keep.contains(result.name)) dropped.push_back(result.name);
  }
  if (dropped.empty()) return std::nullopt;
  ir::Arguments arguments = pruning.node.arguments();
  arguments.Set("function", std::make_shared<const ir::Expression>(
                                TRY(Only(keep, pruning.node, pruning.catalog))));
  return Replacement{
      TRY(ir::Pipeline::Make(pruning.catalog, "map", arguments, pruning.inputs)),
      Because("map no longer makes", dropped)};
}

// A source that has the argument `unread` still looks for what makes a row wrong.
absl::StatusOr<std::optional<Replacement>> PruneSource(const Pruning& pruning) {
  const ir::Pipeline& node = pruning.node;
  if (node.arguments().Find("unread") == nullptr) return std::nullopt;
  ir::Arguments arguments = node.arguments();
  ir::List unread = arguments["unread"].As<ir::List>();
  std::vector<std::string> dropped;
  for (const core::FieldSpec& field : node.spec().fields()) {
    if (pruning.read.contains(field.name)) continue;
    dropped.push_back(field.name);
    unread.emplace_back(field.name);
  }
  if (dropped.empty()) return std::nullopt;
  arguments.Set("unread", std::move(unread));
  return Replacement{TRY(ir::Pipeline::Make(pruning.catalog, node.name(), arguments, {},
                                            node.call_number())),
                     Because(base::StrCat(node.name(), " no longer gives"), dropped)};
}

absl::StatusOr<std::optional<Replacement>> Prune(const Pruning& pruning) {
  if (pruning.node.name() == "map") return PruneMap(pruning);
  if (pruning.node.schema().traits.source) return PruneSource(pruning);
  return std::nullopt;
}

absl::StatusOr<Outcome> PruneColumns(const ir::Pipeline& pipeline,
                                     const ir::Catalog& catalog) {
  const std::vector<ir::Pipeline> nodes = pipeline.Nodes();
  const std::vector<Names> read = TRY(FieldsRead(nodes, catalog));
  Outcome outcome = {pipeline, {}};
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    const size_t place = std::ranges::find(nodes, node) - nodes.begin();
    std::optional<Replacement> pruned =
        TRY(Prune({node, inputs, read[place], catalog}));
    if (!pruned) return WithInputs(node, inputs, catalog);
    outcome.reasons.push_back(std::move(pruned->reason));
    return std::move(pruned->node);
  };
  outcome.pipeline = TRY(RebuildAll(pipeline, rebuild));
  return outcome;
}

}  // namespace

Pass PruneColumnsPass() {
  return {"prune_columns", "Leaves out fields that nobody reads.", PruneColumns};
}

}  // namespace millrace::rewrite
