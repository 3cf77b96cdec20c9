// Joins two filters that follow one another into one, so that the rows that stay are
// gathered once instead of twice. Only where the second condition cannot fail: it comes
// to see rows that the first leaves out, which must not become errors. That also keeps
// what is dear, such as decoding, behind the filter in front of it: it can fail. Draws
// stay the same: a random call keeps its number, and a filter keeps row identities.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
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

absl::StatusOr<ir::TermId> Condition(const ir::Pipeline& filter,
                                     ir::ExpressionBuilder& builder) {
  const ir::Expression& condition = FilterCondition(filter);
  absl::flat_hash_map<std::string, ir::TermId> fields;
  for (const std::string& name : condition.FieldsRead()) {
    fields.emplace(name, TRY(builder.Field(name)));
  }
  return TRY(ir::Inline(condition, builder, fields))[0];
}

// `a and b`; of a condition that stands twice, once.
absl::StatusOr<ir::Expression> Both(const ir::Pipeline& first,
                                    const ir::Pipeline& second,
                                    const ir::Catalog& catalog) {
  ir::ExpressionBuilder builder(catalog, first.spec(), second.NextCallNumber());
  const ir::TermId a = TRY(Condition(first, builder));
  const ir::TermId b = TRY(Condition(second, builder));
  TRY(builder.AddResult("", a == b ? a : TRY(builder.Call("and", {a, b}))));
  return builder.Build();
}

// The one filter for two; nothing when they must stay apart.
absl::StatusOr<std::optional<ir::Pipeline>> Fuse(const ir::Pipeline& first,
                                                 const ir::Pipeline& second,
                                                 const ir::Catalog& catalog) {
  const std::optional<ir::Value> seed = SeedOfBoth(first, second);
  const size_t terms =
      FilterCondition(first).terms().size() + FilterCondition(second).terms().size();
  if (!seed || CanFail(FilterCondition(second)) || terms + 1 > ir::kTermsMax) {
    return std::nullopt;
  }
  ir::Expression both = TRY(Both(first, second, catalog));
  const ir::Arguments arguments = {
      {"predicate", std::make_shared<const ir::Expression>(std::move(both))},
      {"seed", *seed}};
  return TRY(ir::Pipeline::Make(catalog, "filter", arguments, {first.inputs()[0]}));
}

absl::StatusOr<std::optional<Replacement>> FuseWithInput(const ir::Pipeline& node,
                                                         const ir::Catalog& catalog) {
  if (node.name() != "filter" || node.inputs()[0].name() != "filter") {
    return std::nullopt;
  }
  const std::optional<ir::Pipeline> fused = TRY(Fuse(node.inputs()[0], node, catalog));
  if (!fused) return std::nullopt;
  return Replacement{
      *fused,
      "two filters become one: rows that stay are gathered once instead of twice"};
}

absl::StatusOr<Outcome> FuseFilters(const ir::Pipeline& pipeline,
                                    const ir::Catalog& catalog) {
  return ReplaceNodes(pipeline, catalog, FuseWithInput);
}

}  // namespace

Pass FuseFiltersPass() {
  return {"fuse_filters", "Joins filters that follow one another into one.",
          FuseFilters};
}

}  // namespace millrace::rewrite
