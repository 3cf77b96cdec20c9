#include "millrace/exec/copies.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/operator.h"
#include "millrace/ir/pipeline.h"
#include "millrace/rewrite/pass.h"

namespace millrace::exec {
namespace {

absl::StatusOr<ir::Pipeline> Repeated(const ir::Pipeline& pipeline, int64_t copies,
                                      const ir::Catalog& catalog) {
  return ir::Pipeline::Make(catalog, "repeat", {{"count", copies}}, {pipeline});
}

// Whether only row-wise operators stand behind the last batching one.
bool BatchesLast(const ir::Pipeline& pipeline) {
  const ir::OperatorTraits& traits = pipeline.schema().traits;
  if (traits.batching) return true;
  return traits.row_wise && BatchesLast(pipeline.inputs()[0]);
}

absl::StatusOr<ir::Pipeline> RepeatedBeforeBatching(const ir::Pipeline& node,
                                                    int64_t copies,
                                                    const ir::Catalog& catalog) {
  const ir::Pipeline& input = node.inputs()[0];
  const bool here = node.schema().traits.batching;
  const ir::Pipeline rebuilt =
      TRY(here ? Repeated(input, copies, catalog)
               : RepeatedBeforeBatching(input, copies, catalog));
  return rewrite::WithInputs(node, {rebuilt}, catalog);
}

}  // namespace

absl::StatusOr<ir::Pipeline> Copied(const ir::Pipeline& pipeline, int64_t copies,
                                    const ir::Catalog& catalog) {
  if (copies < 1) {
    return absl::InvalidArgumentError(base::StrCat("all rows so many times: ", copies));
  }
  if (copies == 1) return pipeline;
  return BatchesLast(pipeline) ? RepeatedBeforeBatching(pipeline, copies, catalog)
                               : Repeated(pipeline, copies, catalog);
}

}  // namespace millrace::exec
