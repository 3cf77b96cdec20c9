// take: the parts of a value at several places of its first axis.

#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/all_rows.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/copy_values.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// The axes of the places, then those of a part.
Shape TakenShape(const Shape& x, const Shape& places) {
  Sizes sizes(places.sizes().begin(), places.sizes().end());
  sizes.insert(sizes.end(), x.sizes().begin() + 1, x.sizes().end());
  return Shape(sizes);
}

absl::StatusOr<ValueType> InferTake(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  const ValueType& places = types.operands[1];
  if (!core::IsInteger(places.dtype) || places.dtype == DType::kUint64) {
    return Needs("integers that int64 holds as places", {&places, 1});
  }
  if (x.shape.is_scalar()) return Needs("at least one axis", {&x, 1});
  const bool ranked = x.shape.ranked() && places.shape.ranked();
  return ValueType{
      .dtype = x.dtype,
      .shape = ranked ? TakenShape(x.shape, places.shape) : Shape::Unranked()};
}

// Writes the parts at some places. Stops, and tells how many it wrote, where one is out
// of range.
int64_t TakeParts(const Tensor& x, absl::Span<const int64_t> places, ValueWriter& out) {
  const int64_t size = x.shape()[0];
  const int64_t part = size == 0 ? 0 : x.count() / size;
  const Values first = ValuesOf(x);
  for (int64_t i = 0; i < std::ssize(places); ++i) {
    if (places[i] < -size || places[i] >= size) return i;
    const int64_t place = places[i] < 0 ? places[i] + size : places[i];
    const Values values = first.From(part == 0 ? 0 : place * part);
    CHECK_EQ(CopyValues({&values, 1}, part, out), part);
  }
  return std::ssize(places);
}

absl::Status OutOfRange(int64_t place, int64_t size) {
  return absl::InvalidArgumentError(
      base::StrCat("index ", place, " is out of range for axis 0 of size ", size));
}

absl::StatusOr<Tensor> TakeRow(const Tensor& x, const Tensor& places,
                               core::Pool& pool) {
  if (x.shape().is_scalar()) {
    return absl::InvalidArgumentError(
        "needs at least one axis, not a value of shape []");
  }
  const Shape shape = TakenShape(x.shape(), places.shape());
  const int64_t count = TRY(shape.CountChecked());
  const absl::Span<const int64_t> all = places.As<int64_t>();
  ValueWriter out = TRY(ValueWriter::Open(x.dtype(), count, pool));
  const int64_t taken = TakeParts(x, all, out);
  if (taken < std::ssize(all)) return OutOfRange(all[taken], x.shape()[0]);
  return std::move(out).ToTensor(shape);
}

// A table for all rows, and places of one shape: all of them are one row's.
absl::StatusOr<Column> TakeFromTable(const KernelCall& call, const Tensor& table,
                                     const Column& places) {
  const Tensor all = TRY(StackedRows(places, call.pool));
  const Shape shape = TakenShape(table.shape(), all.shape());
  const int64_t count = TRY(shape.CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(table.dtype(), count, call.pool));
  const int64_t taken = TakeParts(table, all.As<int64_t>(), out);
  if (taken < all.count()) {
    return RowErrorOf(taken / (all.count() / call.rows),
                      OutOfRange(all.As<int64_t>()[taken], table.shape()[0]));
  }
  return RowsOfStack(TRY(std::move(out).ToTensor(shape)));
}

absl::StatusOr<Column> RunTake(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  ir::Operand places = call.operands[1];
  places.column = TRY(Convert(places.column, DType::kInt64, call.pool));
  const bool regular = places.column.row_shape().has_value() && !places.constant;
  if (x.constant && regular && call.rows > 0) {
    const absl::StatusOr<Tensor> table = RowOf(x, 0);
    if (table.ok() && !table->shape().is_scalar()) {
      return TakeFromTable(call, *table, places.column);
    }
  }
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    return TakeRow(TRY(RowOf(x, row)), TRY(RowOf(places, row)), call.pool);
  });
}

}  // namespace

KernelSchema TakeKernel() {
  return {.name = "take",
          .doc =
              "Takes what lies at several places of the first axis: a table looked "
              "up, or values in another order. at takes one place.",
          .operands = {{"x", "Values with at least one axis."},
                       {"indices",
                        "The places, integers of any shape; they count from the end "
                        "when negative. Out of range is an error of the row."}},
          .fails = ir::Fails::kOnData,
          .infer = InferTake,
          .run = RunTake};
}

}  // namespace millrace::kernels
