// shape, length and reshape: what is known of a value besides its values, and the same
// values under another shape.

#include "millrace/core/shape.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/typing.h"
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

// --- shape ---

absl::StatusOr<ValueType> InferShape(const KernelTypes& types) {
  const Shape& shape = types.operands[0].shape;
  const int64_t rank = shape.ranked() ? shape.rank() : core::kUnknownSize;
  return ValueType{.dtype = DType::kInt64, .shape = {rank}};
}

Tensor SizesOf(const Shape& shape) {
  return Tensor::FromValues<int64_t>(shape.sizes(), {shape.rank()});
}

absl::StatusOr<Column> RunShape(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  if (const std::optional<Shape> shape = x.column.row_shape()) {
    return Column::Repeat(SizesOf(*shape), call.rows, call.pool);
  }
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    return SizesOf(TRY(RowOf(x, row)).shape());
  });
}

// --- length ---

absl::Status NoAxes(const Shape& shape) {
  return absl::InvalidArgumentError(
      base::StrCat("needs at least one axis, not a value of shape ", shape.ToString()));
}

absl::StatusOr<ValueType> InferLength(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (x.shape.is_scalar()) {
    return Needs(
        "at least one axis", {&x, 1},
        core::IsVariable(x.dtype) ? "byte_length counts the bytes of a text" : "");
  }
  return ValueType{.dtype = DType::kInt64, .shape = Shape()};
}

// The outermost level says it, whatever lies below.
absl::StatusOr<Column> LengthByLevel(const KernelCall& call, const core::Level& level) {
  core::Buffer lengths = TRY(call.pool.AllocateFor<int64_t>(call.rows));
  auto* const out = reinterpret_cast<int64_t*>(lengths.mutable_data());
  for (int64_t row = 0; row < call.rows; ++row) {
    const core::Extent extent = level.Below({row, row + 1});
    out[row] = extent.end - extent.begin;
  }
  return Column::Dense(DType::kInt64, call.rows, {}, std::move(lengths));
}

absl::StatusOr<Column> RunLength(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  const absl::Span<const core::Level> levels = x.column.shape_levels();
  if (!levels.empty()) return LengthByLevel(call, levels.front());
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const Shape shape = TRY(RowOf(x, row)).shape();
    if (shape.is_scalar()) return NoAxes(shape);
    return Tensor::Scalar(shape[0]);
  });
}

// --- reshape ---

Shape WantedShape(const ir::Arguments& arguments) {
  Sizes sizes;
  for (const ir::Value& size : arguments["shape"].As<ir::List>()) {
    sizes.push_back(size.As<int64_t>());
  }
  return Shape(sizes);
}

absl::Status DoesNotFit(const Shape& from, const Shape& to) {
  return absl::InvalidArgumentError(base::StrCat("a value of shape ", from.ToString(),
                                                 " cannot have shape ", to.ToString()));
}

// Puts in the one size that was left open. Requires: `from` is known.
absl::StatusOr<Shape> Resolve(const Shape& from, const Shape& wanted) {
  const int64_t count = TRY(from.CountChecked());
  Sizes sizes(wanted.sizes().begin(), wanted.sizes().end());
  int64_t* open = nullptr;
  for (int64_t& size : sizes) {
    if (size == core::kUnknownSize) open = &size;
  }
  if (open != nullptr) *open = 1;
  const int64_t others = TRY(Shape(sizes).CountChecked());
  if (open != nullptr && others > 0) *open = count / others;
  Shape to(sizes);
  if (to.Count() != count || (open != nullptr && others == 0)) {
    return DoesNotFit(from, wanted);
  }
  return to;
}

absl::StatusOr<ValueType> InferReshape(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  const Shape wanted = WantedShape(types.arguments);
  int open = 0;
  for (const int64_t size : wanted.sizes()) open += size == core::kUnknownSize ? 1 : 0;
  if (open > 1) {
    return absl::InvalidArgumentError(base::StrCat(
        "argument shape leaves more than one size open: ", wanted.ToString()));
  }
  if (!x.shape.IsKnown()) return ValueType{.dtype = x.dtype, .shape = wanted};
  return ValueType{.dtype = x.dtype, .shape = TRY(Resolve(x.shape, wanted))};
}

absl::StatusOr<Column> ReshapeRegular(const KernelCall& call, const Shape& from) {
  const absl::StatusOr<Shape> to = Resolve(from, WantedShape(call.arguments));
  if (!to.ok()) return RowErrorOf(0, to.status());
  const Column column = TRY(core::WithoutGaps(call.operands[0].column, call.pool));
  core::Levels levels;
  for (const int64_t size : to->sizes()) levels.push_back(core::Level::Fixed(size));
  if (core::IsVariable(column.dtype())) levels.push_back(column.levels().back());
  return Column::FromLevels(column.dtype(), call.rows, std::move(levels),
                            column.values());
}

absl::StatusOr<Column> RunReshape(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  const std::optional<Shape> shape = x.column.row_shape();
  if (shape && call.rows > 0) return ReshapeRegular(call, *shape);
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const Tensor tensor = TRY(RowOf(x, row));
    return Reshaped(tensor, TRY(Resolve(tensor.shape(), WantedShape(call.arguments))));
  });
}

}  // namespace

KernelSchema ShapeKernel() {
  return {.name = "shape",
          .doc = "Gives the sizes of a value's axes, outermost first.",
          .operands = {{"x", "A value of any type and shape."}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferShape,
          .run = RunShape};
}

KernelSchema LengthKernel() {
  return {.name = "length",
          .doc = "Gives the size of a value's first axis.",
          .operands = {{"x", "A value with at least one axis."}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferLength,
          .run = RunLength};
}

KernelSchema ReshapeKernel() {
  return {.name = "reshape",
          .doc = "Gives the same values, in the same order, another shape.",
          .operands = {{"x", "A value of any type and shape."}},
          .arguments = {{.name = "shape",
                         .type = ir::ArgumentType::kInts,
                         .doc = "The new sizes; one may be -1, which is as many as "
                                "there are values for.",
                         .least = -1}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferReshape,
          .run = RunReshape};
}

}  // namespace millrace::kernels
