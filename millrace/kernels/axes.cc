// transpose, expand_dims and squeeze: the same values under other axes.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/all_rows.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/copy_values.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::Shape;
using core::Tensor;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

int64_t AxisOf(const ir::Arguments& arguments) {
  return arguments["axis"].As<int64_t>();
}

// The shape of a row, where rows are stacked along `outer` axes.
Shape RowShape(const Shape& shape, int outer) {
  return Shape(shape.sizes().subspan(outer));
}

// The same values under another shape of a row.
Tensor WithRowShape(const Tensor& x, const Shape& row, int outer) {
  return Reshaped(x, outer == 0 ? row : row.WithLeading(x.shape()[0]));
}

// Gives each row the shape that a rule makes of its shape.
template <typename Rule>
absl::StatusOr<Column> RunReshaped(const KernelCall& call, Rule rule) {
  return ForAllRows(call, [&](const Tensor& x, int outer) -> absl::StatusOr<Tensor> {
    const Shape row = TRY(rule(RowShape(x.shape(), outer), call.arguments));
    return WithRowShape(x, row, outer);
  });
}

template <typename Rule>
absl::StatusOr<ValueType> InferReshaped(const KernelTypes& types, Rule rule) {
  const ValueType& x = types.operands[0];
  if (!x.shape.ranked()) return ValueType{.dtype = x.dtype, .shape = x.shape};
  return ValueType{.dtype = x.dtype, .shape = TRY(rule(x.shape, types.arguments))};
}

// --- expand_dims ---

absl::StatusOr<Shape> Expanded(const Shape& shape, const ir::Arguments& arguments) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  const int64_t rank = shape.rank();
  const int64_t axis = AxisOf(arguments);
  if (axis < -rank - 1 || axis > rank) {
    return absl::InvalidArgumentError(base::StrCat("there is no place for axis ", axis,
                                                   " in shape ", shape.ToString()));
  }
  sizes.insert(sizes.begin() + (axis < 0 ? axis + rank + 1 : axis), 1);
  return Shape(sizes);
}

// --- squeeze ---

absl::StatusOr<Shape> Squeezed(const Shape& shape, const ir::Arguments& arguments) {
  const int axis = TRY(ResolveAxis(AxisOf(arguments), shape));
  if (shape[axis] != 1 && shape[axis] != core::kUnknownSize) {
    return absl::InvalidArgumentError(
        base::StrCat("axis ", axis, " of shape ", shape.ToString(), " has not size 1"));
  }
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

// --- transpose ---

// The axes in their new order.
absl::StatusOr<Sizes> OrderOf(const Shape& shape, const ir::Arguments& arguments) {
  Sizes order;
  if (arguments["axes"].is_none()) {
    for (int axis = shape.rank() - 1; axis >= 0; --axis) order.push_back(axis);
    return order;
  }
  Sizes seen(shape.rank(), 0);
  for (const ir::Value& value : arguments["axes"].As<ir::List>()) {
    const int axis = TRY(ResolveAxis(value.As<int64_t>(), shape));
    if (seen[axis]++ > 0) {
      return absl::InvalidArgumentError(
          base::StrCat("argument axes has axis ", axis, " twice"));
    }
    order.push_back(axis);
  }
  if (std::ssize(order) != shape.rank()) {
    return absl::InvalidArgumentError(base::StrCat("argument axes has ", order.size(),
                                                   " axes, but the value has shape ",
                                                   shape.ToString()));
  }
  return order;
}

absl::StatusOr<ValueType> InferTranspose(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (!x.shape.ranked()) return ValueType{.dtype = x.dtype, .shape = x.shape};
  Sizes sizes;
  for (const int64_t axis : TRY(OrderOf(x.shape, types.arguments))) {
    sizes.push_back(x.shape[static_cast<int>(axis)]);
  }
  return ValueType{.dtype = x.dtype, .shape = Shape(sizes)};
}

absl::StatusOr<Tensor> Transposed(const Tensor& x, int outer, const KernelCall& call) {
  const Shape row = RowShape(x.shape(), outer);
  const Sizes order = TRY(OrderOf(row, call.arguments));
  const Sizes steps = RowMajorSteps(x.shape());
  Walk walk(1);
  Sizes sizes;
  const auto add = [&](int axis) {
    walk.AddAxis(x.shape()[axis], {steps[axis]});
    sizes.push_back(x.shape()[axis]);
  };
  if (outer > 0) add(0);
  for (const int64_t axis : order) add(static_cast<int>(axis) + outer);
  ValueWriter out = TRY(ValueWriter::Open(x.dtype(), x.count(), call.pool));
  const Values first = ValuesOf(x);
  CHECK_EQ(walk.Run({&first, 1}, CopyValues, out), walk.count());
  return std::move(out).ToTensor(Shape(sizes));
}

absl::StatusOr<Column> RunTranspose(const KernelCall& call) {
  return ForAllRows(
      call, [&](const Tensor& x, int outer) { return Transposed(x, outer, call); });
}

ir::ArgumentSchema AxisArgument(std::string doc) {
  return {.name = "axis", .type = ir::ArgumentType::kInt, .doc = std::move(doc)};
}

}  // namespace

KernelSchema ExpandDimsKernel() {
  return {
      .name = "expand_dims",
      .doc = "Adds an axis of size 1.",
      .operands = {{"x", "A value of any type and shape."}},
      .arguments = {AxisArgument("Where the new axis will be; counts from the end "
                                 "when negative, where -1 is the last.")},
      .fails = ir::Fails::kOnUnknownShapes,
      .infer = [](const KernelTypes& types) { return InferReshaped(types, Expanded); },
      .run = [](const KernelCall& call) { return RunReshaped(call, Expanded); }};
}

KernelSchema SqueezeKernel() {
  return {
      .name = "squeeze",
      .doc = "Takes away an axis of size 1.",
      .operands = {{"x", "A value of any type."}},
      .arguments = {AxisArgument("The axis; counts from the end when negative.")},
      .fails = ir::Fails::kOnUnknownShapes,
      .infer = [](const KernelTypes& types) { return InferReshaped(types, Squeezed); },
      .run = [](const KernelCall& call) { return RunReshaped(call, Squeezed); }};
}

KernelSchema TransposeKernel() {
  return {.name = "transpose",
          .doc = "Puts the axes of a value in another order.",
          .operands = {{"x", "A value of any type and shape."}},
          .arguments = {{.name = "axes",
                         .type = ir::ArgumentType::kInts,
                         .doc = "The axes in their new order, each once; none is "
                                "backwards.",
                         .default_value = ir::Value(),
                         .none_allowed = true}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferTranspose,
          .run = RunTranspose};
}

}  // namespace millrace::kernels
