// Removes operators that change nothing. Each operator's definition says itself when
// that is so.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/spec.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/rewrite/pass.h"

namespace millrace::rewrite {
namespace {

std::string NoOpReason(const ir::Pipeline& node,
                       const std::vector<ir::Pipeline>& inputs) {
  if (inputs.size() != 1) return "";
  const core::Spec& input = inputs[0].spec();
  return node.schema().noop_reason(
      {.arguments = node.arguments(), .inputs = absl::MakeConstSpan(&input, 1)});
}

absl::StatusOr<Outcome> DropNoOps(const ir::Pipeline& pipeline,
                                  const ir::Catalog& catalog) {
  Outcome outcome = {pipeline, {}};
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    const std::string reason = NoOpReason(node, inputs);
    if (reason.empty()) return WithInputs(node, inputs, catalog);
    outcome.reasons.push_back(base::StrCat(node.name(), " is left out: ", reason));
    return inputs[0];
  };
  outcome.pipeline = TRY(RebuildAll(pipeline, rebuild));
  return outcome;
}

}  // namespace

Pass DropNoOpsPass() {
  return {"drop_no_ops", "Removes operators that change nothing.", DropNoOps};
}

}  // namespace millrace::rewrite
