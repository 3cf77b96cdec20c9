#include "millrace/kernels/tiles.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/expression.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {
namespace {

using core::Column;
using ir::Term;

// What a tile's values of one term take: several such are in a core's cache.
constexpr int64_t kTileBytes = int64_t{256} << 10;

// Fields that something is computed from.
std::vector<const Term*> FieldsUsed(const ir::Expression& expression) {
  std::vector<const Term*> fields;
  for (const Term& term : expression.terms()) {
    for (const ir::TermId id : term.operands) {
      const Term& operand = expression[id];
      if (operand.kind == Term::Kind::kField) fields.push_back(&operand);
    }
  }
  return fields;
}

// Whether each value of what the term gives comes of one value of each operand.
bool WorksOnValues(const ir::Expression& expression, const Term& call) {
  bool has_rows = false;
  for (const ir::TermId id : call.operands) {
    const Term& operand = expression[id];
    const bool literal = operand.kind == Term::Kind::kLiteral;
    if (literal && !operand.literal.shape().is_scalar()) return false;
    if (core::IsVariable(operand.type.dtype)) return false;
    has_rows = has_rows || !literal;
  }
  return has_rows && call.kernel->elementwise && !core::IsVariable(call.type.dtype);
}

// One step alone has nothing to hand on.
bool IsWorthIt(const ir::Expression& expression) {
  for (const ir::Result& result : expression.results()) {
    if (expression[result.term].kind == Term::Kind::kLiteral) return false;
  }
  int64_t steps = 0;
  for (const Term& term : expression.terms()) {
    if (term.kind != Term::Kind::kCall) continue;
    if (!WorksOnValues(expression, term)) return false;
    ++steps;
  }
  return steps >= 2;
}

// A field's values side by side; nothing where they are not.
std::optional<Column> DenseOf(const Column& column) {
  if (column.IsDense()) return column;
  const bool one = column.HoldsTensors() && column.levels().empty();
  if (!one || column.rows() != 1) return std::nullopt;
  const core::Tensor& row = column.tensors().front();
  return Column::Dense(column.dtype(), 1, row.shape(), row.values());
}

int64_t TileRows(const ir::Expression& expression) {
  int64_t largest = 1;
  for (const Term& term : expression.terms()) {
    if (core::IsVariable(term.type.dtype)) continue;
    largest = std::max(largest, core::SizeOf(term.type.dtype));
  }
  return kTileBytes / largest;
}

}  // namespace

std::optional<FlatRows> Flatten(const ir::Expression& expression,
                                const core::Block& rows) {
  if (!IsWorthIt(expression)) return std::nullopt;
  FlatRows flat;
  core::FieldNames names;
  std::vector<Column> columns;
  for (const Term* field : FieldsUsed(expression)) {
    if (std::ranges::find(names, field->name) != names.end()) continue;
    const std::optional<Column> values = DenseOf(*rows.Find(field->name));
    if (!values) return std::nullopt;
    if (columns.empty()) flat.row_shape = *values->row_shape();
    if (*values->row_shape() != flat.row_shape) return std::nullopt;
    const int64_t count = flat.row_shape.Count() * rows.rows();
    names.push_back(field->name);
    columns.push_back(Column::Dense(values->dtype(), count, {}, values->values()));
  }
  flat.tile_rows = TileRows(expression);
  if (columns.front().rows() < 2 * flat.tile_rows) return std::nullopt;
  flat.values = core::Block(columns.front().rows(), std::move(names), columns);
  return flat;
}

}  // namespace millrace::kernels
