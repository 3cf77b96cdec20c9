// at and slice: part of a value along one axis. An index may differ from row to row;
// the bounds of a slice are the same for all, and are cut to the size as in Python.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/copy_values.h"
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/scalars.h"
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

// Which places on one axis: `count` of them, `step` apart.
struct Selection {
  int axis = 0;
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 1;
};

Shape WithSize(const Shape& shape, int axis, int64_t size) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes[axis] = size;
  return Shape(sizes);
}

Shape WithoutAxis(const Shape& shape, int axis) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

// Copies what is selected of values that lie in row-major order.
void Select(const Values& first, const Shape& shape, const Selection& selection,
            ValueWriter& out) {
  const Sizes steps = RowMajorSteps(shape);
  Walk walk(1);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis == selection.axis) {
      walk.AddAxis(selection.count, {steps[axis] * selection.step});
    } else {
      walk.AddAxis(shape[axis], {steps[axis]});
    }
  }
  const int64_t begin = selection.start * steps[selection.axis];
  const Values selected = first.From(walk.count() == 0 ? 0 : begin);
  CHECK_EQ(walk.Run({&selected, 1}, CopyValues, out), walk.count());
}

// Neighbours on the first axis are a part of the buffer: no copy.
Tensor Part(const Tensor& tensor, int64_t start, int64_t count) {
  const Shape shape = WithSize(tensor.shape(), 0, count);
  const int64_t values = tensor.shape().WithoutLeading().Count();
  if (core::IsVariable(tensor.dtype())) {
    constexpr int64_t kOffsetSize = sizeof(int64_t);
    return Tensor::Texts(tensor.dtype(), shape,
                         tensor.offsets().Slice(start * values * kOffsetSize,
                                                (count * values + 1) * kOffsetSize),
                         tensor.values());
  }
  const int64_t bytes = values * core::SizeOf(tensor.dtype());
  return Tensor::Fixed(tensor.dtype(), shape,
                       tensor.values().Slice(start * bytes, count * bytes));
}

absl::StatusOr<Tensor> SelectOf(const Tensor& tensor, const Selection& selection,
                                core::Pool& pool) {
  if (selection.axis == 0 && selection.step == 1) {
    return Part(tensor, selection.start, selection.count);
  }
  const Shape shape = WithSize(tensor.shape(), selection.axis, selection.count);
  ValueWriter out = TRY(ValueWriter::Open(tensor.dtype(), shape.Count(), pool));
  Select(ValuesOf(tensor), tensor.shape(), selection, out);
  return std::move(out).ToTensor(shape);
}

int64_t AxisOf(const ir::Arguments& arguments) {
  return arguments["axis"].As<int64_t>();
}

ir::ArgumentSchema AxisArgument() {
  return {.name = "axis",
          .type = ir::ArgumentType::kInt,
          .doc = "The axis; counts from the end when negative.",
          .default_value = 0};
}

// --- at ---

absl::StatusOr<ValueType> InferAt(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  const ValueType& index = types.operands[1];
  if (!core::IsInteger(index.dtype) ||
      (index.shape.ranked() && index.shape.rank() > 0)) {
    return Needs("an integer scalar as index", {&index, 1});
  }
  if (!x.shape.ranked()) return ValueType{.dtype = x.dtype, .shape = x.shape};
  const int axis = TRY(ResolveAxis(AxisOf(types.arguments), x.shape));
  if (x.shape[axis] == 0) {
    return absl::InvalidArgumentError(
        base::StrCat("there is nothing at an axis of size 0 in ", ToString(x)));
  }
  return ValueType{.dtype = x.dtype, .shape = WithoutAxis(x.shape, axis)};
}

// The places that an operand names, row by row.
class Places {
 public:
  static absl::StatusOr<Places> Open(const KernelCall& call) {
    return Places(TRY(Scalars<int64_t>::Open(call.operands[1], call.pool)),
                  call.operand_types[1].dtype == core::DType::kUint64);
  }

  // Gives the place on an axis of a value of this shape.
  absl::StatusOr<int64_t> At(int64_t row, int axis, const Shape& shape) const {
    const int64_t index = indices_[row];
    const bool wrapped = index < 0 && unsigned_;  // Too large for int64, and any axis.
    const int64_t size = shape[axis];
    if (index >= -size && index < size && !wrapped) {
      return index < 0 ? index + size : index;
    }
    const std::string shown =
        wrapped ? base::StrCat(static_cast<uint64_t>(index)) : base::StrCat(index);
    return absl::InvalidArgumentError(base::StrCat(
        "index ", shown, " is out of range for axis ", axis, " of size ", size));
  }

 private:
  Places(Scalars<int64_t> indices, bool from_unsigned)
      : indices_(std::move(indices)), unsigned_(from_unsigned) {}

  Scalars<int64_t> indices_;
  bool unsigned_;
};

// Every row of one shape: written one after the other into one buffer.
absl::StatusOr<Column> AtRegular(const KernelCall& call, const Shape& shape,
                                 const Places& places) {
  const ir::Operand& x = call.operands[0];
  const absl::StatusOr<int> axis = ResolveAxis(AxisOf(call.arguments), shape);
  if (!axis.ok()) return RowErrorOf(0, axis.status());
  const Shape result = WithoutAxis(shape, *axis);
  ValueWriter out =
      TRY(ValueWriter::Open(call.type.dtype, call.rows * result.Count(), call.pool));
  const Values first = ValuesOf(x.column);
  // The same place in every row: the rows are one axis more, and all go in one walk.
  const bool together = call.operands[1].constant && !x.constant;
  const int64_t turns = together ? 1 : call.rows;
  const Shape whole = together ? shape.WithLeading(call.rows) : shape;
  for (int64_t row = 0; row < turns; ++row) {
    const absl::StatusOr<int64_t> place = places.At(row, *axis, shape);
    if (!place.ok()) return RowErrorOf(row, place.status());
    Select(first.From(x.constant ? 0 : row * shape.Count()), whole,
           {.axis = together ? *axis + 1 : *axis, .start = *place}, out);
  }
  return std::move(out).ToColumn(call.rows, result);
}

absl::StatusOr<Column> RunAt(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  const Places places = TRY(Places::Open(call));
  const std::optional<Shape> shape = x.column.row_shape();
  if (shape && call.rows > 0) return AtRegular(call, *shape, places);
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const Tensor tensor = TRY(RowOf(x, row));
    const int axis = TRY(ResolveAxis(AxisOf(call.arguments), tensor.shape()));
    const int64_t place = TRY(places.At(row, axis, tensor.shape()));
    const Tensor part =
        TRY(SelectOf(tensor, {.axis = axis, .start = place}, call.pool));
    return Reshaped(part, WithoutAxis(tensor.shape(), axis));
  });
}

// --- slice ---

struct Bounds {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  int64_t step = 1;
};

std::optional<int64_t> IntIfGiven(const ir::Value& value) {
  if (value.is_none()) return std::nullopt;
  return value.As<int64_t>();
}

Bounds BoundsOf(const ir::Arguments& arguments) {
  return {.start = IntIfGiven(arguments["start"]),
          .stop = IntIfGiven(arguments["stop"]),
          .step = arguments["step"].As<int64_t>()};
}

// Python's rule: bounds count from the end when negative, and are cut to what is there.
Selection SelectionOf(const Bounds& bounds, int axis, int64_t size) {
  const bool forward = bounds.step > 0;
  const int64_t least = forward ? 0 : -1;
  const int64_t most = forward ? size : size - 1;
  const auto cut = [&](std::optional<int64_t> bound, int64_t otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? *bound + size : *bound, least, most);
  };
  const int64_t start = cut(bounds.start, forward ? least : most);
  const int64_t stop = cut(bounds.stop, forward ? most : least);
  const int64_t length = forward ? stop - start : start - stop;
  const int64_t stride = forward ? bounds.step : -bounds.step;
  const int64_t count = length <= 0 ? 0 : (length - 1) / stride + 1;
  return {.axis = axis,
          .start = count == 0 ? 0 : start,
          .step = count > 1 ? bounds.step : 1,  // An absurd one would overflow.
          .count = count};
}

absl::StatusOr<ValueType> InferSlice(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  const Bounds bounds = BoundsOf(types.arguments);
  if (bounds.step == 0)
    return absl::InvalidArgumentError("argument step must not be 0");
  if (!x.shape.ranked()) return ValueType{.dtype = x.dtype, .shape = x.shape};
  const int axis = TRY(ResolveAxis(AxisOf(types.arguments), x.shape));
  const int64_t size = x.shape[axis];
  const int64_t selected = size == core::kUnknownSize
                               ? core::kUnknownSize
                               : SelectionOf(bounds, axis, size).count;
  return ValueType{.dtype = x.dtype, .shape = WithSize(x.shape, axis, selected)};
}

absl::StatusOr<Column> SliceRegular(const KernelCall& call, const Shape& shape) {
  const absl::StatusOr<int> axis = ResolveAxis(AxisOf(call.arguments), shape);
  if (!axis.ok()) return RowErrorOf(0, axis.status());
  Selection selection = SelectionOf(BoundsOf(call.arguments), *axis, shape[*axis]);
  const Shape result = WithSize(shape, *axis, selection.count);
  ValueWriter out =
      TRY(ValueWriter::Open(call.type.dtype, call.rows * result.Count(), call.pool));
  ++selection.axis;
  Select(ValuesOf(call.operands[0].column), shape.WithLeading(call.rows), selection,
         out);
  return std::move(out).ToColumn(call.rows, result);
}

absl::StatusOr<Column> RunSlice(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  const std::optional<Shape> shape = x.column.row_shape();
  if (shape && call.rows > 0) return SliceRegular(call, *shape);
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const Tensor tensor = TRY(RowOf(x, row));
    const int axis = TRY(ResolveAxis(AxisOf(call.arguments), tensor.shape()));
    const int64_t size = tensor.shape()[axis];
    return SelectOf(tensor, SelectionOf(BoundsOf(call.arguments), axis, size),
                    call.pool);
  });
}

// Beyond any size, and far from where arithmetic on bounds would overflow.
constexpr int64_t kBoundMax = int64_t{1} << 62;

ir::ArgumentSchema BoundArgument(std::string name, std::string doc) {
  return {.name = std::move(name),
          .type = ir::ArgumentType::kInt,
          .doc = std::move(doc),
          .default_value = ir::Value(),
          .none_allowed = true,
          .least = -kBoundMax,
          .most = kBoundMax};
}

}  // namespace

KernelSchema AtKernel() {
  return {.name = "at",
          .doc = "Takes what lies at one place on an axis, which goes away.",
          .operands = {{"x", "Values with at least one axis."},
                       {"index",
                        "The place, an integer scalar; counts from the end when "
                        "negative. Out of range is an error of the row."}},
          .arguments = {AxisArgument()},
          .fails = ir::Fails::kOnData,
          .infer = InferAt,
          .run = RunAt};
}

KernelSchema SliceKernel() {
  return {
      .name = "slice",
      .doc =
          "Takes every step-th place from start up to, not including, stop on an "
          "axis, as Python does: bounds beyond the end are cut to it.",
      .operands = {{"x", "Values with at least one axis."}},
      .arguments = {AxisArgument(),
                    BoundArgument("start", "Where to begin; none is the beginning."),
                    BoundArgument("stop", "Where to end; none is the end."),
                    {.name = "step",
                     .type = ir::ArgumentType::kInt,
                     .doc = "The distance; backwards when negative, never 0.",
                     .default_value = 1,
                     .least = -kBoundMax,
                     .most = kBoundMax}},
      .fails = ir::Fails::kOnUnknownShapes,
      .infer = InferSlice,
      .run = RunSlice};
}

}  // namespace millrace::kernels
