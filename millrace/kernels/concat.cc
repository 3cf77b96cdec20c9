// concat and stack: several values as one, along an axis that they have or a new one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
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
using ir::Operand;
using ir::ValueType;

// Joins shapes along an axis that may count from the end; unknown sizes stay unknown.
using JoinShapes = absl::StatusOr<Shape> (*)(absl::Span<const Shape>, int64_t axis);

absl::Status DoNotFit(const Shape& a, const Shape& b) {
  return absl::InvalidArgumentError(
      base::StrCat("shapes do not go together: ", a.ToString(), " and ", b.ToString()));
}

// Takes over a size that only the other knows. False where both know different ones.
bool MeetSizes(int64_t& size, int64_t other) {
  if (size == core::kUnknownSize) size = other;
  return other == core::kUnknownSize || size == other;
}

absl::StatusOr<Shape> Concatenated(absl::Span<const Shape> shapes, int64_t axis) {
  const int at = TRY(ResolveAxis(axis, shapes[0]));
  Sizes sizes(shapes[0].sizes().begin(), shapes[0].sizes().end());
  for (const Shape& shape : shapes.subspan(1)) {
    if (shape.rank() != shapes[0].rank()) return DoNotFit(shapes[0], shape);
    for (int i = 0; i < shape.rank(); ++i) {
      if (i != at && !MeetSizes(sizes[i], shape[i])) return DoNotFit(shapes[0], shape);
    }
    const bool known = sizes[at] != core::kUnknownSize && shape[at] >= 0;
    sizes[at] = known ? sizes[at] + shape[at] : core::kUnknownSize;
  }
  return Shape(sizes);
}

absl::StatusOr<Shape> Stacked(absl::Span<const Shape> shapes, int64_t axis) {
  const int64_t rank = shapes[0].rank();
  if (axis < -rank - 1 || axis > rank) {
    return absl::InvalidArgumentError(base::StrCat("there is no place for axis ", axis,
                                                   " in shape ", shapes[0].ToString()));
  }
  Sizes sizes(shapes[0].sizes().begin(), shapes[0].sizes().end());
  for (const Shape& shape : shapes.subspan(1)) {
    if (shape.rank() != rank) return DoNotFit(shapes[0], shape);
    for (int i = 0; i < rank; ++i) {
      if (!MeetSizes(sizes[i], shape[i])) return DoNotFit(shapes[0], shape);
    }
  }
  sizes.insert(sizes.begin() + (axis < 0 ? axis + rank + 1 : axis), std::ssize(shapes));
  return Shape(sizes);
}

int64_t AxisOf(const ir::Arguments& arguments) {
  return arguments["axis"].As<int64_t>();
}

template <JoinShapes kJoin>
absl::StatusOr<ValueType> InferJoined(const KernelTypes& types) {
  ValueType type = types.operands[0];
  std::vector<Shape> shapes;
  for (const ValueType& operand : types.operands) {
    const std::optional<ir::Promotion> met = ir::Promote(type, operand);
    if (!met) return Needs("values of one type", types.operands);
    type = {.dtype = met->dtype, .shape = {}, .weak = met->weak};
    shapes.push_back(operand.shape);
  }
  const bool ranked = std::ranges::all_of(shapes, &Shape::ranked);
  type.shape = ranked ? TRY(kJoin(shapes, AxisOf(types.arguments))) : Shape::Unranked();
  type.weak = false;
  return type;
}

// Writes pieces that lie side by side to places `apart` values from each other.
template <typename Bits>
void SpreadPieces(const Bits* from, int64_t pieces, int64_t piece, int64_t apart,
                  Bits* out) {
  if (piece == 1) {
    for (int64_t i = 0; i < pieces; ++i) out[i * apart] = from[i];
    return;
  }
  for (int64_t i = 0; i < pieces; ++i) {
    std::copy_n(from + i * piece, piece, out + i * apart);
  }
}

// Writes pieces of each operand in turn, as many as `outer`. Some of these at a time,
// so that what is written in parts stays in the processor's cache.
template <typename Bits>
void WritePieces(absl::Span<const Tensor> tensors, int64_t outer, Bits* out) {
  constexpr int64_t kAtOnce = 64;
  int64_t turn = 0;  // Values of one piece of each.
  for (const Tensor& tensor : tensors) turn += tensor.count() / outer;
  for (int64_t first = 0; first < outer; first += kAtOnce) {
    const int64_t some = std::min(kAtOnce, outer - first);
    Bits* begin = out + first * turn;
    for (const Tensor& tensor : tensors) {
      const int64_t piece = tensor.count() / outer;
      const Bits* from = ValuesOf(tensor).As<Bits>() + first * piece;
      SpreadPieces(from, some, piece, turn, begin);
      begin += piece;
    }
  }
}

void WriteTexts(absl::Span<const Tensor> tensors, int64_t outer, ValueWriter& out) {
  for (int64_t i = 0; i < outer; ++i) {
    for (const Tensor& tensor : tensors) {
      const int64_t piece = tensor.count() / outer;
      const Values values = ValuesOf(tensor).From(piece == 0 ? 0 : i * piece);
      CHECK_EQ(CopyValues({&values, 1}, piece, out), piece);
    }
  }
}

// Writes the values of all along the axis `at` of the result, of which each has the
// part that fits between. `count` of the result's axes are outside of it.
absl::StatusOr<Tensor> JoinTensors(absl::Span<const Tensor> tensors,
                                   const Shape& result, int at, core::Pool& pool) {
  int64_t outer = 1;
  for (int axis = 0; axis < at; ++axis) outer *= result[axis];
  const DType dtype = tensors[0].dtype();
  const int64_t count = TRY(result.CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(dtype, count, pool));
  if (core::IsVariable(dtype)) {
    WriteTexts(tensors, outer, out);
  } else if (count > 0) {
    VisitSize(core::SizeOf(dtype), [&]<typename Bits>() {
      WritePieces(tensors, outer, out.Take<Bits>(count));
    });
  }
  return std::move(out).ToTensor(result);
}

// Joins the values of a row, or of all rows where they are stacked.
template <JoinShapes kJoin>
absl::StatusOr<Tensor> JoinRow(const KernelCall& call, absl::Span<const Tensor> tensors,
                               int stacked) {
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) {
    shapes.emplace_back(tensor.shape().sizes().subspan(stacked));
  }
  const int64_t axis = AxisOf(call.arguments);
  const Shape row = TRY(kJoin(shapes, axis));
  const int at = TRY(ResolveAxis(axis, row)) + stacked;
  const Shape result = stacked > 0 ? row.WithLeading(call.rows) : row;
  return JoinTensors(tensors, result, at, call.pool);
}

// Every operand in the type of the result.
absl::StatusOr<std::vector<Operand>> OfOneType(const KernelCall& call) {
  std::vector<Operand> operands(call.operands.begin(), call.operands.end());
  if (core::IsVariable(call.type.dtype)) return operands;
  for (Operand& operand : operands) {
    operand.column = TRY(Convert(operand.column, call.type.dtype, call.pool));
  }
  return operands;
}

// A text is bytes or a string only by name.
Tensor Named(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return tensor;
  return Tensor::Texts(dtype, tensor.shape(), tensor.offsets(), tensor.values());
}

template <JoinShapes kJoin>
absl::StatusOr<Column> RunJoined(const KernelCall& call) {
  const std::vector<Operand> operands = TRY(OfOneType(call));
  const bool regular = std::ranges::all_of(operands, [&](const Operand& operand) {
    const bool each = !operand.constant || call.rows == 1;
    return each && operand.column.row_shape().has_value() && call.rows > 0;
  });
  std::vector<Tensor> tensors(operands.size());
  if (regular) {
    for (size_t i = 0; i < operands.size(); ++i) {
      tensors[i] =
          Named(TRY(StackedRows(operands[i].column, call.pool)), call.type.dtype);
    }
    const absl::StatusOr<Tensor> joined = JoinRow<kJoin>(call, tensors, 1);
    if (!joined.ok()) return RowErrorOf(0, joined.status());
    return RowsOfStack(*joined);
  }
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    for (size_t i = 0; i < operands.size(); ++i) {
      tensors[i] = Named(TRY(RowOf(operands[i], row)), call.type.dtype);
    }
    return JoinRow<kJoin>(call, tensors, 0);
  });
}

KernelSchema Schema(std::string name, std::string doc, std::string of_axis) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"a", "Values of any type."}, {"b", "More values."}},
          .variadic = true,
          .arguments = {{.name = "axis",
                         .type = ir::ArgumentType::kInt,
                         .doc = std::move(of_axis),
                         .default_value = 0}},
          .promotes = true,
          .fails = ir::Fails::kOnUnknownShapes};
}

}  // namespace

KernelSchema ConcatKernel() {
  KernelSchema schema = Schema(
      "concat",
      "Joins values along an axis; their other axes must agree. Types meet as in add.",
      "The axis; counts from the end when negative.");
  schema.infer = InferJoined<Concatenated>;
  schema.run = RunJoined<Concatenated>;
  return schema;
}

KernelSchema StackKernel() {
  KernelSchema schema = Schema(
      "stack", "Joins values of one shape along a new axis. Types meet as in add.",
      "Where the new axis will be; counts from the end when negative, where -1 is the "
      "last.");
  schema.infer = InferJoined<Stacked>;
  schema.run = RunJoined<Stacked>;
  return schema;
}

}  // namespace millrace::kernels
