#include "millrace/adapters/python/eager.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/adapters/python/convert.h"
#include "millrace/adapters/python/engine.h"
#include "millrace/adapters/python/hand_over.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/base/status.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/spec.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/expression_builder.h"
#include "millrace/kernels/evaluate.h"

namespace millrace::python {
namespace {

bool IsWeak(const Plain& value) {
  return std::holds_alternative<int64_t>(value) ||
         std::holds_alternative<double>(value);
}

absl::StatusOr<core::Column> Run(const ir::Expression& expression,
                                 const std::optional<Draw>& draw) {
  core::Pool& pool = core::HeapPool();
  core::Block row(1, core::FieldNames{}, {});
  if (draw) {
    const core::RowId id = {draw->row_high, draw->row_low};
    row = row.WithIds(TRY(core::IdColumn({id}, pool)));
  }
  const kernels::DrawScope scope = {.seed = draw ? draw->seed : 0,
                                    .epoch = draw ? draw->epoch : 0};
  return kernels::EvaluateValue(expression, row, scope, pool);
}

}  // namespace

FieldValue Evaluate(const std::string& kernel, const std::vector<Plain>& operands,
                    const NamedArguments& arguments, const std::optional<Draw>& draw) {
  ir::ExpressionBuilder builder(Catalog(), core::Spec(), 0);
  std::vector<ir::TermId> terms;
  terms.reserve(operands.size());
  for (const Plain& operand : operands) {
    terms.push_back(
        Checked(builder.Literal(Checked(ToTensor(operand)), IsWeak(operand))));
  }
  const int64_t number = draw ? draw->call_number : ir::kNoCallNumber;
  const ir::TermId call =
      Checked(builder.Call(kernel, std::move(terms), ToArguments(arguments), number));
  Check(builder.AddResult("", call));
  core::Column value = Checked(Run(Checked(builder.Build()), draw));
  Rows rows = Checked(HandOver(core::Block(1, {"value"}, {std::move(value)})));
  if (auto* array = std::get_if<Array>(rows.columns.data())) {
    array->shape.erase(array->shape.begin());  // The row's axis.
    return std::move(*array);
  }
  return std::move(std::get<std::vector<FieldValue>>(rows.columns[0])[0]);
}

}  // namespace millrace::python
