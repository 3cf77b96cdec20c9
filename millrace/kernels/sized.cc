// pad_to, fill and range: values of a size that is asked for.

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
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
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/scalars.h"
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

constexpr int64_t kSizeMax = int64_t{1} << 40;

// --- pad_to ---

Shape WithSize(const Shape& shape, int axis, int64_t size) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes[axis] = size;
  return Shape(sizes);
}

absl::Status NoAxis() {
  return absl::InvalidArgumentError("needs at least one axis, not a value of shape []");
}

absl::StatusOr<ValueType> InferPad(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (x.shape.is_scalar()) return Needs("at least one axis", types.operands);
  if (core::IsVariable(x.dtype) && types.arguments["value"].As<double>() != 0) {
    return absl::InvalidArgumentError("texts are padded with empty ones, not a value");
  }
  if (!x.shape.ranked()) return ValueType{.dtype = x.dtype, .shape = x.shape};
  const auto length = types.arguments["length"].As<int64_t>();
  return ValueType{.dtype = x.dtype, .shape = WithSize(x.shape, 0, length)};
}

void WritePadding(const KernelCall& call, int64_t count, ValueWriter& out) {
  if (core::IsVariable(call.type.dtype)) {
    for (int64_t i = 0; i < count; ++i) out.EndText();
    return;
  }
  core::VisitDType(call.type.dtype, [&]<typename T>() {
    const T value = ConvertValue<T>(call.arguments["value"].As<double>());
    T* const place = out.Take<T>(count);
    for (int64_t i = 0; i < count; ++i) place[i] = value;
  });
}

absl::StatusOr<Tensor> Padded(const Tensor& x, int outer, const KernelCall& call) {
  const Shape& shape = x.shape();
  if (shape.rank() == outer) return NoAxis();
  const auto length = call.arguments["length"].As<int64_t>();
  const int64_t size = shape[outer];
  if (size > length && !call.arguments["truncate"].As<bool>()) {
    return absl::InvalidArgumentError(
        base::StrCat("a value of length ", size, " is longer than ", length));
  }
  const Shape result = WithSize(shape, outer, length);
  const int64_t count = TRY(result.CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(x.dtype(), count, call.pool));
  const int64_t rows = outer == 0 ? 1 : shape[0];
  int64_t inner = 1;
  for (int axis = outer + 1; axis < shape.rank(); ++axis) inner *= shape[axis];
  const int64_t kept = (size < length ? size : length) * inner;
  for (int64_t row = 0; row < rows; ++row) {
    const Values values = ValuesOf(x).From(kept == 0 ? 0 : row * size * inner);
    CHECK_EQ(CopyValues({&values, 1}, kept, out), kept);
    WritePadding(call, length * inner - kept, out);
  }
  return std::move(out).ToTensor(result);
}

absl::StatusOr<Column> RunPad(const KernelCall& call) {
  return ForAllRows(call,
                    [&](const Tensor& x, int outer) { return Padded(x, outer, call); });
}

// --- fill ---

Shape ShapeOf(const ir::Arguments& arguments) {
  Sizes sizes;
  for (const ir::Value& size : arguments["shape"].As<ir::List>()) {
    sizes.push_back(size.As<int64_t>());
  }
  return Shape(sizes);
}

absl::StatusOr<ValueType> InferFill(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (x.shape.ranked() && !x.shape.is_scalar()) {
    return Needs("a scalar", types.operands);
  }
  const Shape shape = ShapeOf(types.arguments);
  TRY(shape.CountChecked());
  return ValueType{.dtype = x.dtype, .shape = shape};
}

absl::StatusOr<Tensor> Filled(const Tensor& x, int outer, const KernelCall& call) {
  if (x.shape().rank() != outer) {
    return absl::InvalidArgumentError(base::StrCat("needs a scalar, not a value of ",
                                                   x.shape().rank() - outer, " axes"));
  }
  const Shape row = ShapeOf(call.arguments);
  const Shape result = outer == 0 ? row : row.WithLeading(x.shape()[0]);
  const int64_t count = TRY(result.CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(x.dtype(), count, call.pool));
  for (int64_t i = 0; i < x.count(); ++i) {
    Values value = ValuesOf(x).From(i);
    value.step = 0;
    CHECK_EQ(CopyValues({&value, 1}, row.Count(), out), row.Count());
  }
  return std::move(out).ToTensor(result);
}

absl::StatusOr<Column> RunFill(const KernelCall& call) {
  return ForAllRows(call,
                    [&](const Tensor& x, int outer) { return Filled(x, outer, call); });
}

// --- range ---

absl::StatusOr<ValueType> InferRange(const KernelTypes& types) {
  const ValueType& size = types.operands[0];
  const bool scalar = !size.shape.ranked() || size.shape.is_scalar();
  if (!core::IsInteger(size.dtype) || !scalar) {
    return Needs("an integer scalar", types.operands);
  }
  return ValueType{.dtype = DType::kInt64, .shape = {core::kUnknownSize}};
}

absl::StatusOr<Column> RunRange(const KernelCall& call) {
  const auto sizes = TRY(Scalars<int64_t>::Open(call.operands[0], call.pool));
  core::Buffer offsets = TRY(call.pool.AllocateFor<int64_t>(call.rows + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  for (int64_t row = 0; row < call.rows; ++row) {
    const int64_t size = sizes[row];
    if (size < 0 || size > kSizeMax - ends[row]) {
      return RowError(row, base::StrCat("there is no range of size ", size));
    }
    ends[row + 1] = ends[row] + size;
  }
  core::Buffer values = TRY(call.pool.AllocateFor<int64_t>(ends[call.rows]));
  int64_t* place = values.MutableAs<int64_t>().data();
  for (int64_t row = 0; row < call.rows; ++row) {
    for (int64_t i = 0; i < sizes[row]; ++i) *place++ = i;
  }
  return Column::FromLevels(DType::kInt64, call.rows,
                            {core::Level::Variable(std::move(offsets))},
                            std::move(values));
}

}  // namespace

KernelSchema PadToKernel() {
  return {.name = "pad_to",
          .doc =
              "Makes the first axis as long as asked for, by adding values at its "
              "end. A longer value is an error of the row, or is cut.",
          .operands = {{"x", "Values with at least one axis."}},
          .arguments = {{.name = "length",
                         .type = ir::ArgumentType::kInt,
                         .doc = "The size that the first axis will have.",
                         .least = 0,
                         .most = kSizeMax},
                        {.name = "value",
                         .type = ir::ArgumentType::kFloat,
                         .doc = "What to add; texts are padded with empty ones.",
                         .default_value = 0.0},
                        {.name = "truncate",
                         .type = ir::ArgumentType::kBool,
                         .doc = "Whether what is longer is cut.",
                         .default_value = false}},
          .fails = ir::Fails::kOnData,
          .infer = InferPad,
          .run = RunPad};
}

KernelSchema FillKernel() {
  return {.name = "fill",
          .doc = "Gives a value of some shape that is the same everywhere.",
          .operands = {{"x", "A scalar of any type."}},
          .arguments = {{.name = "shape",
                         .type = ir::ArgumentType::kInts,
                         .doc = "The sizes of the axes.",
                         .least = 0}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferFill,
          .run = RunFill};
}

KernelSchema RangeKernel() {
  return {.name = "range",
          .doc = "Gives the integers from 0 up to, not including, a size.",
          .operands = {{"size",
                        "How many, an integer scalar; less than 0 is an error of the "
                        "row."}},
          .fails = ir::Fails::kOnData,
          .infer = InferRange,
          .run = RunRange};
}

}  // namespace millrace::kernels
