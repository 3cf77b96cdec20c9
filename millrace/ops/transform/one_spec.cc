#include "millrace/ops/transform/one_spec.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/ir/operator.h"

namespace millrace::ops {
namespace {

absl::Status Differ(const core::FieldSpec& a, const core::FieldSpec& b, size_t input) {
  return absl::InvalidArgumentError(base::StrCat(
      "inputs must have the same fields: field ", a.name, " is ",
      core::Spec({a}).ToString(), " in input 0 and ", core::Spec({b}).ToString(),
      " in input ", input, "; use map, select or rename before"));
}

// The shape that both have, sizes that differ unknown.
absl::StatusOr<core::FieldSpec> Common(const core::FieldSpec& a,
                                       const core::FieldSpec& b, size_t input) {
  if (a.name != b.name || a.dtype != b.dtype) return Differ(a, b, input);
  core::FieldSpec common = a;
  if (!a.shape.ranked() || !b.shape.ranked()) {
    common.shape = core::Shape::Unranked();
    return common;
  }
  if (a.shape.rank() != b.shape.rank()) return Differ(a, b, input);
  std::vector<int64_t> sizes;
  sizes.reserve(a.shape.rank());
  for (int axis = 0; axis < a.shape.rank(); ++axis) {
    sizes.push_back(a.shape[axis] == b.shape[axis] ? a.shape[axis]
                                                   : core::kUnknownSize);
  }
  common.shape = core::Shape(absl::MakeConstSpan(sizes));
  return common;
}

}  // namespace

absl::StatusOr<core::Spec> OneSpec(absl::Span<const core::Spec> inputs) {
  std::vector<core::FieldSpec> fields = inputs[0].fields();
  for (size_t input = 1; input < inputs.size(); ++input) {
    const std::vector<core::FieldSpec>& others = inputs[input].fields();
    if (others.size() != fields.size()) {
      return absl::InvalidArgumentError(
          base::StrCat("inputs must have the same fields: input 0 has ",
                       inputs[0].Names(), ", input ", input, " has ",
                       inputs[input].Names(), "; use map, select or rename before"));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      fields[i] = TRY(Common(fields[i], others[i], input));
    }
  }
  return core::Spec(std::move(fields));
}

ir::Cardinality CountOfAll(absl::Span<const ir::Cardinality> inputs) {
  int64_t rows = 0;
  for (const ir::Cardinality& input : inputs) {
    if (!input.known()) return input;
    if (__builtin_add_overflow(rows, input.rows(), &rows)) {
      return ir::Cardinality::Unknown();
    }
  }
  return ir::Cardinality::Known(rows);
}

}  // namespace millrace::ops
