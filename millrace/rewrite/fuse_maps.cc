// Joins two maps that follow one another into one, so that rows are walked once and
// what only the first made for the second never leaves the cache. Draws stay the same:
// a random call keeps its number, and a map keeps row identities.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ir/value.h"
#include "millrace/rewrite/failing_results.h"
#include "millrace/rewrite/pass.h"
#include "millrace/rewrite/seed_of_both.h"

namespace millrace::rewrite {
namespace {

// A result that nobody reads would vanish: that is sound only if computing it cannot
// fail, or the rows that fail today would pass tomorrow.
bool DropsFailingResult(const ir::Expression& first, const ir::Expression& second) {
  absl::flat_hash_set<std::string> read;
  for (std::string& name : second.FieldsRead()) read.insert(std::move(name));
  for (const std::string& name : FailingResults(first)) {
    if (!read.contains(name)) return true;
  }
  return false;
}

// A plain number that passes through a field is int64 or float64 there, and must not
// give way to another type when the field is gone.
absl::StatusOr<ir::TermId> AsField(ir::TermId made, ir::ExpressionBuilder& builder) {
  const ir::Term& term = builder.term(made);
  if (!term.type.weak) return made;
  if (term.kind == ir::Term::Kind::kLiteral) return builder.Literal(term.literal);
  const std::string dtype(core::Name(term.type.dtype));
  return builder.Call("cast", {made}, {{"dtype", dtype}});
}

absl::StatusOr<ir::Expression> Compose(const ir::Pipeline& first,
                                       const ir::Pipeline& second,
                                       const ir::Catalog& catalog) {
  const core::Spec& input = first.inputs()[0].spec();
  ir::ExpressionBuilder builder(catalog, input, second.NextCallNumber());
  absl::flat_hash_map<std::string, ir::TermId> fields;
  for (const core::FieldSpec& field : input.fields()) {
    fields.emplace(field.name, TRY(builder.Field(field.name)));
  }
  const std::vector<ir::TermId> made =
      TRY(ir::Inline(MapFunction(first), builder, fields));
  fields.clear();
  for (size_t i = 0; i < made.size(); ++i) {
    const ir::TermId field = TRY(AsField(made[i], builder));
    fields.emplace(MapFunction(first).results()[i].name, field);
  }
  const std::vector<ir::TermId> results =
      TRY(ir::Inline(MapFunction(second), builder, fields));
  for (size_t i = 0; i < results.size(); ++i) {
    TRY(builder.AddResult(MapFunction(second).results()[i].name, results[i]));
  }
  return builder.Build();
}

// Two expressions that keep to the limit on terms can exceed it together.
bool TogetherTooLarge(const ir::Pipeline& first, const ir::Pipeline& second) {
  const size_t fields = first.inputs()[0].spec().fields().size();
  const ir::Expression& made = MapFunction(first);
  const size_t terms = fields + made.terms().size() + made.results().size() +
                       MapFunction(second).terms().size();
  return terms > ir::kTermsMax;
}

// The one map for two; nothing when they must stay apart.
absl::StatusOr<std::optional<ir::Pipeline>> Fuse(const ir::Pipeline& first,
                                                 const ir::Pipeline& second,
                                                 const ir::Catalog& catalog) {
  const std::optional<ir::Value> seed = SeedOfBoth(first, second);
  if (!seed || DropsFailingResult(MapFunction(first), MapFunction(second)) ||
      TogetherTooLarge(first, second)) {
    return std::nullopt;
  }
  ir::Expression function = TRY(Compose(first, second, catalog));
  const ir::Arguments arguments = {
      {"function", std::make_shared<const ir::Expression>(std::move(function))},
      {"seed", *seed}};
  return TRY(ir::Pipeline::Make(catalog, "map", arguments, {first.inputs()[0]}));
}

absl::StatusOr<std::optional<Replacement>> FuseWithInput(const ir::Pipeline& node,
                                                         const ir::Catalog& catalog) {
  if (node.name() != "map" || node.inputs()[0].name() != "map") return std::nullopt;
  const std::optional<ir::Pipeline> fused = TRY(Fuse(node.inputs()[0], node, catalog));
  if (!fused) return std::nullopt;
  return Replacement{*fused,
                     base::StrCat("two maps become one, giving ", node.spec().Names(),
                                  ": rows are walked once instead of twice")};
}

absl::StatusOr<Outcome> FuseMaps(const ir::Pipeline& pipeline,
                                 const ir::Catalog& catalog) {
  return ReplaceNodes(pipeline, catalog, FuseWithInput);
}

}  // namespace

Pass FuseMapsPass() {
  return {"fuse_maps", "Joins maps that follow one another into one.", FuseMaps};
}

}  // namespace millrace::rewrite
