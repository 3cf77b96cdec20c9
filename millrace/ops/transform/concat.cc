// Concat: the rows of one input, then those of the next.

#include "absl/types/span.h"

#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"
#include "millrace/ops/define.h"
#include "millrace/ops/transform/one_spec.h"

namespace millrace::ops {
namespace {

struct ConcatArgs {};

}  // namespace

OperatorDef ConcatDef() {
  return Define<ByLanes, ConcatArgs>("concat")
      .Doc(
          "Gives the rows of the first input, then those of the next. All must have "
          "the "
          "same fields, of the same types.")
      .Traits(
          {.order_sensitive = true, .changes_cardinality = true, .concatenates = true})
      .InferAll(2, [](const ConcatArgs&,
                      absl::Span<const core::Spec> inputs) { return OneSpec(inputs); })
      .CountAll([](const ConcatArgs&, absl::Span<const ir::Cardinality> inputs) {
        return CountOfAll(inputs);
      });
}

}  // namespace millrace::ops
