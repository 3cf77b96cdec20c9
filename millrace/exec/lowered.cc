#include "millrace/exec/lowered.h"

#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/pipeline.h"
#include "millrace/ops/define.h"
#include "millrace/ops/library.h"
#include "millrace/rewrite/pass.h"

namespace millrace::exec {

absl::StatusOr<ir::Pipeline> Lowered(const ir::Pipeline& pipeline,
                                     const ops::Library& library) {
  const ir::Catalog& catalog = library.catalog();
  const auto rebuild =
      [&](const ir::Pipeline& node,
          const std::vector<ir::Pipeline>& inputs) -> absl::StatusOr<ir::Pipeline> {
    const std::vector<ops::Step> steps = library.StepsOf(node);
    if (steps.empty()) return rewrite::WithInputs(node, inputs, catalog);
    ir::Pipeline made = inputs[0];
    for (const ops::Step& step : steps) {
      made = TRY(ir::Pipeline::Make(catalog, step.name, step.arguments, {made}));
    }
    return made;
  };
  return rewrite::RebuildAll(pipeline, rebuild);
}

}  // namespace millrace::exec
