#include "millrace/ir/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/sha256.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/content_hash.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

absl::Status CheckInputs(const OperatorSchema& schema, size_t given) {
  const auto wanted = static_cast<size_t>(schema.inputs);
  if (given == wanted || (given > wanted && schema.more_inputs)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      base::StrCat("takes ", schema.more_inputs ? "at least " : "", schema.inputs,
                   schema.inputs == 1 ? " input" : " inputs", ", not ", given));
}

absl::Status CheckSpec(const core::Spec& spec) {
  if (spec.fields().size() > kFieldsMax) {
    return absl::InvalidArgumentError(base::StrCat("rows have ", spec.fields().size(),
                                                   " fields, more than ", kFieldsMax));
  }
  for (const core::FieldSpec& field : spec.fields()) {
    if (!field.shape.ranked() || field.shape.rank() <= kRankMax) continue;
    return absl::InvalidArgumentError(base::StrCat("the field ", Shown(field.name),
                                                   " has ", field.shape.rank(),
                                                   " axes, more than ", kRankMax));
  }
  return absl::OkStatus();
}

// The number that a node gets: the one asked for, the next, or none.
absl::StatusOr<int64_t> NumberFor(const OperatorSchema& schema, int64_t wanted,
                                  int64_t next) {
  if (!schema.numbered() && wanted == kNoCallNumber) return kNoCallNumber;
  if (!schema.numbered()) {
    return absl::InvalidArgumentError("only sources and random operators are numbered");
  }
  const int64_t number = wanted == kNoCallNumber ? next : wanted;
  TRY(CheckCallNumber(number));
  return number;
}

int64_t NextCallNumberIn(const Arguments& arguments) {
  int64_t next = 0;
  for (const Argument& argument : arguments.all()) {
    const auto* function = argument.value.If<Function>();
    if (function != nullptr) next = std::max(next, (*function)->NextCallNumber());
  }
  return next;
}

// A function was typed against rows of its own; here it meets these.
absl::Status CheckFunctionFits(const Expression& function, const core::Spec& input) {
  for (const Term& term : function.terms()) {
    if (term.kind != Term::Kind::kField) continue;
    const core::FieldSpec* field = input.Find(term.name);
    if (field != nullptr && field->dtype == term.type.dtype &&
        term.type.shape.Admits(field->shape)) {
      continue;
    }
    return absl::InvalidArgumentError(
        base::StrCat("the function reads the field ", term.name, " as ",
                     ToString(term.type), "; the input is ", input.ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckFunctions(const OperatorSchema& schema, const Arguments& arguments,
                            absl::Span<const Pipeline> inputs) {
  for (const Argument& argument : arguments.all()) {
    const auto* function = argument.value.If<Function>();
    if (function == nullptr) continue;
    CHECK(!inputs.empty()) << "a source has no rows to call " << argument.name << " on";
    TRY(CheckFunctionFits(**function,
                          TRY(schema.function_input(arguments, inputs[0].spec()))));
  }
  return absl::OkStatus();
}

// Made node by node, so that no fingerprint walks the whole graph.
base::Sha256 SourceNumbersOf(const OperatorSchema& schema, int64_t call_number,
                             absl::Span<const Pipeline> inputs) {
  if (inputs.size() == 1) return inputs[0].source_numbers();
  base::Sha256Hasher hasher;
  hasher.UpdateNumber(inputs.size());
  if (schema.traits.source) hasher.UpdateNumber(static_cast<uint64_t>(call_number));
  for (const Pipeline& input : inputs) {
    HashText(base::ToHex(input.source_numbers()), hasher);
  }
  return hasher.Finish();
}

// What of a node's own decides its results. Call numbers and seeds count only where
// something is drawn.
struct OwnContent {
  const OperatorSchema& schema;
  const Arguments& arguments;
  int64_t call_number;
  bool with_batch_size;
};

void HashOwn(const OwnContent& own, base::Sha256Hasher& hasher) {
  const bool random = own.schema.is_random(own.arguments);
  HashText(own.schema.name, hasher);
  hasher.UpdateNumber(static_cast<uint64_t>(own.schema.version));
  Arguments counted;
  for (const ArgumentSchema& argument : own.schema.arguments) {
    if (argument.is_place || (argument.is_seed && !random)) continue;
    if (argument.is_batch_size && !own.with_batch_size) continue;
    counted.Set(argument.name, own.arguments[argument.name]);
  }
  HashArguments(counted, hasher);
  hasher.UpdateNumber(random ? 1 : 0);
  if (random) hasher.UpdateNumber(static_cast<uint64_t>(own.call_number));
}

base::Sha256 FingerprintOf(const OwnContent& own, absl::Span<const Pipeline> inputs,
                           absl::Span<const base::Sha256> input_fingerprints) {
  base::Sha256Hasher hasher;
  HashOwn(own, hasher);
  hasher.UpdateNumber(inputs.size());
  for (const base::Sha256& input : input_fingerprints) {
    HashText(base::ToHex(input), hasher);
  }
  if (own.schema.is_random(own.arguments)) {
    for (const Pipeline& input : inputs) {
      HashText(base::ToHex(input.source_numbers()), hasher);
    }
  }
  return hasher.Finish();
}

base::Sha256 FingerprintOf(const OwnContent& own, absl::Span<const Pipeline> inputs) {
  std::vector<base::Sha256> fingerprints;
  for (const Pipeline& input : inputs) fingerprints.push_back(input.fingerprint());
  return FingerprintOf(own, inputs, fingerprints);
}

}  // namespace

absl::StatusOr<Pipeline> Pipeline::Make(const Catalog& catalog, std::string_view name,
                                        const Arguments& arguments,
                                        std::vector<Pipeline> inputs,
                                        int64_t call_number) {
  const OperatorSchema* schema = TRY(catalog.FindOperator(name));
  absl::StatusOr<Pipeline> made =
      Put(*schema, arguments, std::move(inputs), call_number);
  if (!made.ok()) return base::Annotate(made.status(), schema->name);
  return made;
}

absl::StatusOr<Pipeline> Pipeline::Put(const OperatorSchema& schema,
                                       const Arguments& arguments,
                                       std::vector<Pipeline> inputs,
                                       int64_t call_number) {
  TRY(CheckInputs(schema, inputs.size()));
  Arguments checked = TRY(CheckArguments(schema.arguments, arguments));
  checked = TRY(schema.complete(checked));
  TRY(CheckFunctions(schema, checked, inputs));
  const int64_t nodes = TRY(CountWith(inputs));

  std::vector<core::Spec> specs;
  std::vector<Cardinality> counts;
  int64_t next_call = NextCallNumberIn(checked);
  bool random = schema.is_random(checked);
  for (const Pipeline& input : inputs) {
    specs.push_back(input.spec());
    counts.push_back(input.cardinality());
    next_call = std::max(next_call, input.NextCallNumber());
    random = random || input.IsRandom();
  }
  core::Spec spec = TRY(schema.infer({.arguments = checked, .inputs = specs}));
  TRY(CheckSpec(spec));
  call_number = TRY(NumberFor(schema, call_number, next_call));
  next_call = std::max(next_call, call_number + 1);
  const base::Sha256 fingerprint =
      FingerprintOf({schema, checked, call_number, true}, inputs);
  const base::Sha256 source_numbers = SourceNumbersOf(schema, call_number, inputs);
  const Cardinality cardinality = schema.cardinality(checked, counts);
  return Pipeline(std::make_shared<const Node>(
      Node{&schema, std::move(checked), std::move(inputs), call_number, std::move(spec),
           cardinality, random, next_call, nodes, fingerprint, source_numbers}));
}

absl::StatusOr<core::Spec> Pipeline::FunctionInput() const {
  return schema().function_input(arguments(), inputs()[0].spec());
}

// Inputs that share nodes are counted one by one only when the quick sum is too high.
absl::StatusOr<int64_t> Pipeline::CountWith(absl::Span<const Pipeline> inputs) {
  int64_t nodes = 1;
  for (const Pipeline& input : inputs) nodes += input.node_->nodes;
  if (nodes > kNodesMax) nodes = std::ssize(NodesOf(inputs)) + 1;
  if (nodes <= kNodesMax) return nodes;
  return absl::InvalidArgumentError(
      base::StrCat("pipeline has more than ", kNodesMax, " operators"));
}

std::vector<Pipeline> Pipeline::Nodes() const {
  return NodesOf(absl::MakeConstSpan(this, 1));
}

// Walks without recursion: pipelines may be long.
std::vector<Pipeline> Pipeline::NodesOf(absl::Span<const Pipeline> roots) {
  std::vector<Pipeline> ordered;
  absl::flat_hash_set<const Node*> placed;
  std::vector<std::pair<Pipeline, size_t>> path;
  for (const auto& root : std::ranges::reverse_view(roots)) {
    path.emplace_back(root, 0);
  }
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (placed.contains(node.node_.get())) {
      path.pop_back();
    } else if (next < node.inputs().size()) {
      const Pipeline input = node.inputs()[next++];
      path.emplace_back(input, 0);
    } else {
      placed.insert(node.node_.get());
      ordered.push_back(node);
      path.pop_back();
    }
  }
  return ordered;
}

base::Sha256 RowFingerprint(const Pipeline& pipeline) {
  const OwnContent own = {pipeline.schema(), pipeline.arguments(),
                          pipeline.call_number(), false};
  if (pipeline.schema().traits.batching || pipeline.inputs().size() != 1) {
    return FingerprintOf(own, pipeline.inputs());
  }
  const base::Sha256 input = RowFingerprint(pipeline.inputs()[0]);
  return FingerprintOf(own, pipeline.inputs(), {input});
}

}  // namespace millrace::ir
