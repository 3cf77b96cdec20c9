// Writes select, drop and rename as the maps they are. A map of fields touches no value
// either, and the other rewrites know maps: they are fused, pruned, and filters move
// past them.

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/ir/pipeline.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

// The rows whose names say where an operator's fields come from, in their order;
// nothing for an operator that is not about fields.
std::optional<core::Spec> OriginOf(const ir::Pipeline& node) {
  if (node.name() == "select" || node.name() == "drop") return node.spec();
  if (node.name() == "rename") return node.inputs()[0].spec();  // Fields stay in place.
  return std::nullopt;
}

absl::StatusOr<ir::Pipeline> AsMap(const ir::Pipeline& node, const core::Spec& origin,
                                   const ir::Catalog& catalog) {
  const ir::Pipeline& input = node.inputs()[0];
  ir::ExpressionBuilder builder(catalog, input.spec(), input.NextCallNumber());
  for (size_t i = 0; i < origin.fields().size(); ++i) {
    const ir::TermId field = TRY(builder.Field(origin.fields()[i].name));
    TRY(builder.AddResult(node.spec().fields()[i].name, field));
  }
  const auto function = std::make_shared<const ir::Expression>(TRY(builder.Build()));
  return ir::Pipeline::Make(catalog, "map", {{"function", function}}, {input});
}

absl::StatusOr<std::optional<Replacement>> WriteAsMap(const ir::Pipeline& node,
                                                      const ir::Catalog& catalog) {
  const std::optional<core::Spec> origin = OriginOf(node);
  if (!origin) return std::nullopt;
  return Replacement{
      TRY(AsMap(node, *origin, catalog)),
      base::StrCat(node.name(), " is written as a map: other rewrites see through it")};
}

absl::StatusOr<Outcome> FieldsAsMaps(const ir::Pipeline& pipeline,
                                     const ir::Catalog& catalog) {
  return ReplaceNodes(pipeline, catalog, WriteAsMap);
}

}  // namespace

Pass FieldsAsMapsPass() {
  return {"fields_as_maps", "Writes select, drop and rename as the maps they are.",
          FieldsAsMaps};
}

}  // namespace millrace::rewrite
