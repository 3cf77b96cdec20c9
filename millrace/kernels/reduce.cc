// Reductions: sum, mean, min, max, any and all, over all values of a row or along one
// axis. Floats are summed in double in a fixed order (pairwise_sum.h) and rounded once,
// so that a result depends on the row alone.

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/convert.h"
#include "millrace/kernels/loops.h"
#include "millrace/kernels/pairwise_sum.h"
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

// Values seen as [outer, count, inner], of which the middle is reduced.
struct Grid {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
};

// What reducing a value of some shape gives, and how.
struct Reduction {
  Shape result;
  Grid grid;
};

// Requires: shape is known.
Grid GridOf(const Shape& shape, std::optional<int> axis) {
  if (!axis) return {.count = shape.Count()};
  Grid grid = {.count = shape[*axis]};
  for (int i = 0; i < *axis; ++i) grid.outer *= shape[i];
  for (int i = *axis + 1; i < shape.rank(); ++i) grid.inner *= shape[i];
  return grid;
}

// The shape of the result; of a value of unknown rank, what can be said of it.
Shape ReducedShape(const Shape& shape, std::optional<int> axis, bool keep_axis) {
  if (!axis && !keep_axis) return Shape();
  if (!shape.ranked()) return Shape::Unranked();
  Sizes sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool reduced = !axis || *axis == i;
    if (!reduced || keep_axis) sizes.push_back(reduced ? 1 : shape[i]);
  }
  return Shape(sizes);
}

absl::StatusOr<std::optional<int>> AxisOf(const ir::Arguments& arguments,
                                          const Shape& shape) {
  const ir::Value& axis = arguments["axis"];
  if (axis.is_none()) return std::optional<int>();
  if (!shape.ranked()) return std::optional<int>(0);  // Only that there is one counts.
  return std::optional<int>(TRY(ResolveAxis(axis.As<int64_t>(), shape)));
}

absl::StatusOr<Reduction> ReductionOf(const ir::Arguments& arguments,
                                      const Shape& shape) {
  const std::optional<int> axis = TRY(AxisOf(arguments, shape));
  return Reduction{
      .result = ReducedShape(shape, axis, arguments["keep_axis"].As<bool>()),
      .grid = GridOf(shape, axis)};
}

// Reduces `count` values of T, `step` apart, to one of R.
struct SumOf {
  static constexpr bool kNeedsValues = false;

  template <typename T, typename R>
  static R Reduce(const T* values, int64_t count, int64_t step) {
    if constexpr (std::is_integral_v<T>) {
      uint64_t sum = 0;
      for (int64_t i = 0; i < count; ++i)
        sum += static_cast<uint64_t>(values[i * step]);
      return static_cast<R>(sum);
    } else {
      return ConvertValue<R>(Total(values, count, step));
    }
  }

  template <typename T>
  static double Total(const T* values, int64_t count, int64_t step) {
    return PairwiseSum(
        0, count, [=](int64_t i) { return ConvertValue<double>(values[i * step]); });
  }
};

struct MeanOf {
  static constexpr bool kNeedsValues = false;  // The mean of none is NaN.

  template <typename T, typename R>
  static R Reduce(const T* values, int64_t count, int64_t step) {
    if (count == 0) return ConvertValue<R>(std::numeric_limits<double>::quiet_NaN());
    return ConvertValue<R>(SumOf::Total(values, count, step) /
                           static_cast<double>(count));
  }
};

// The least by some order; the first NaN wins, and of equal ones the first.
template <typename Before>
struct FirstBy {
  static constexpr bool kNeedsValues = true;

  template <typename T, typename R>
  static R Reduce(const T* values, int64_t count, int64_t step) {
    static_assert(std::is_same_v<T, R>);
    T first = values[0];
    for (int64_t i = 1; i < count; ++i) {
      const auto best = static_cast<Computed<T>>(first);
      const auto next = static_cast<Computed<T>>(values[i * step]);
      const bool better = Before()(next, best) || IsNan(next);
      if (better && !IsNan(best)) first = values[i * step];
    }
    return first;
  }
};

// Whether one of the values is `kWanted`, or none.
template <bool kWanted>
struct Finds {
  static constexpr bool kNeedsValues = false;

  template <typename T, typename R>
  static R Reduce(const T* values, int64_t count, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      if (values[i * step] == kWanted) return kWanted;
    }
    return !kWanted;
  }
};

template <typename Reducer, typename T, typename R>
void ReduceGrid(const Values& first, const Grid& grid, ValueWriter& out) {
  R* result = out.Take<R>(grid.outer * grid.inner);
  for (int64_t outer = 0; outer < grid.outer; ++outer) {
    for (int64_t inner = 0; inner < grid.inner; ++inner) {
      const int64_t place = outer * grid.count * grid.inner + inner;
      const T* values = grid.count == 0 ? nullptr : first.As<T>() + place;
      *result++ = Reducer::template Reduce<T, R>(values, grid.count, grid.inner);
    }
  }
}

template <typename Reducer>
absl::Status CheckHasValues(const Grid& grid) {
  if (!Reducer::kNeedsValues || grid.count > 0 || grid.outer * grid.inner == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("there are no values to choose from");
}

// All rows of one shape are one grid.
template <typename Reducer, typename T, typename R>
absl::StatusOr<Column> ReduceRegular(const KernelCall& call, const Shape& shape) {
  const absl::StatusOr<Reduction> of_row = ReductionOf(call.arguments, shape);
  if (!of_row.ok()) return RowErrorOf(0, of_row.status());
  Grid grid = of_row->grid;
  const absl::Status has_values = CheckHasValues<Reducer>(grid);
  if (!has_values.ok()) return RowErrorOf(0, has_values);
  grid.outer *= call.rows;
  ValueWriter out =
      TRY(ValueWriter::Open(call.type.dtype, grid.outer * grid.inner, call.pool));
  ReduceGrid<Reducer, T, R>(ValuesOf(call.operands[0].column), grid, out);
  return std::move(out).ToColumn(call.rows, of_row->result);
}

template <typename Reducer, typename T, typename R>
absl::StatusOr<Column> ReduceAs(const KernelCall& call) {
  const ir::Operand& x = call.operands[0];
  const std::optional<Shape> shape = x.column.row_shape();
  if (shape && call.rows > 0) return ReduceRegular<Reducer, T, R>(call, *shape);
  return RowByRow(call, [&](int64_t row) -> absl::StatusOr<Tensor> {
    const Tensor tensor = TRY(RowOf(x, row));
    const Reduction reduction = TRY(ReductionOf(call.arguments, tensor.shape()));
    const Grid& grid = reduction.grid;
    TRY(CheckHasValues<Reducer>(grid));
    ValueWriter out =
        TRY(ValueWriter::Open(call.type.dtype, grid.outer * grid.inner, call.pool));
    ReduceGrid<Reducer, T, R>(ValuesOf(tensor), grid, out);
    return std::move(out).ToTensor(reduction.result);
  });
}

// --- Types ---

// Gives the type of a reduction whose values have type `dtype`.
template <typename Reducer>
absl::StatusOr<ValueType> InferReduced(const KernelTypes& types, DType dtype) {
  const Shape& shape = types.operands[0].shape;
  const std::optional<int> axis = TRY(AxisOf(types.arguments, shape));
  if (shape.IsKnown()) TRY(CheckHasValues<Reducer>(GridOf(shape, axis)));
  const bool keep_axis = types.arguments["keep_axis"].As<bool>();
  return ValueType{.dtype = dtype, .shape = ReducedShape(shape, axis, keep_axis)};
}

bool IsNumber(DType dtype) { return !core::IsVariable(dtype); }  // Or bool.

bool IsBool(DType dtype) { return dtype == DType::kBool; }

DType SumType(DType dtype) {
  if (core::IsFloat(dtype)) return dtype;
  return core::IsInteger(dtype) && !core::IsSigned(dtype) ? DType::kUint64
                                                          : DType::kInt64;
}

DType MeanType(DType dtype) { return core::IsFloat(dtype) ? dtype : DType::kFloat64; }

absl::StatusOr<ValueType> InferSum(const KernelTypes& types) {
  TRY(CheckAll(types.operands, IsNumber, "numbers or bools"));
  return InferReduced<SumOf>(types, SumType(types.operands[0].dtype));
}

absl::StatusOr<ValueType> InferMean(const KernelTypes& types) {
  TRY(CheckAll(types.operands, IsNumber, "numbers or bools"));
  return InferReduced<MeanOf>(types, MeanType(types.operands[0].dtype));
}

template <typename Reducer>
absl::StatusOr<ValueType> InferSame(const KernelTypes& types) {
  TRY(CheckAll(types.operands, IsNumber, "numbers or bools"));
  return InferReduced<Reducer>(types, types.operands[0].dtype);
}

template <typename Reducer>
absl::StatusOr<ValueType> InferFinds(const KernelTypes& types) {
  TRY(CheckAll(types.operands, IsBool, "bools",
               "compare first, as in x != 0, or cast(x, dtype=\"bool\")"));
  return InferReduced<Reducer>(types, DType::kBool);
}

// --- Running ---

absl::StatusOr<Column> RunSum(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(), [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      return ReduceAs<SumOf, T, T>(call);
    } else {
      // The sums of signed and unsigned integers have the same bits.
      return ReduceAs<SumOf, T, int64_t>(call);
    }
  });
}

absl::StatusOr<Column> RunMean(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(), [&]<typename T>() {
    using R = std::conditional_t<std::is_integral_v<T>, double, T>;
    return ReduceAs<MeanOf, T, R>(call);
  });
}

template <typename Reducer>
absl::StatusOr<Column> RunSame(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(),
                          [&]<typename T>() { return ReduceAs<Reducer, T, T>(call); });
}

template <typename Reducer>
absl::StatusOr<Column> RunFinds(const KernelCall& call) {
  CHECK_EQ(call.operands[0].column.dtype(), DType::kBool);
  return ReduceAs<Reducer, bool, bool>(call);
}

KernelSchema Schema(std::string name, std::string doc, std::string of_x,
                    decltype(KernelSchema::infer) infer,
                    decltype(KernelSchema::run) run) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", std::move(of_x)}},
          .arguments = {{.name = "axis",
                         .type = ir::ArgumentType::kInt,
                         .doc = "The axis along which to reduce, counted from the end "
                                "when negative; none is over all values.",
                         .default_value = ir::Value(),
                         .none_allowed = true},
                        {.name = "keep_axis",
                         .type = ir::ArgumentType::kBool,
                         .doc = "Whether a reduced axis stays, with size 1.",
                         .default_value = false}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = std::move(infer),
          .run = std::move(run)};
}

using LeastOf = FirstBy<std::less<>>;
using LargestOf = FirstBy<std::greater<>>;

}  // namespace

KernelSchema SumKernel() {
  return Schema(
      "sum",
      "Adds up values: integers and bools as int64 or uint64, which wrap around, "
      "floats in double, rounded once to their own type.",
      "Numbers or bools.", InferSum, RunSum);
}

KernelSchema MeanKernel() {
  return Schema(
      "mean",
      "Gives the mean: of integers and bools as float64, of floats in their own type; "
      "computed in double. The mean of no values is NaN.",
      "Numbers or bools.", InferMean, RunMean);
}

KernelSchema MinKernel() {
  return Schema(
      "min", "Gives the least value, or NaN if there is one; of no values, an error.",
      "Numbers or bools.", InferSame<LeastOf>, RunSame<LeastOf>);
}

KernelSchema MaxKernel() {
  return Schema(
      "max", "Gives the largest value, or NaN if there is one; of no values, an error.",
      "Numbers or bools.", InferSame<LargestOf>, RunSame<LargestOf>);
}

KernelSchema AnyKernel() {
  return Schema("any", "Tells whether at least one value is true.", "Bools.",
                InferFinds<Finds<true>>, RunFinds<Finds<true>>);
}

KernelSchema AllKernel() {
  return Schema("all", "Tells whether no value is false.", "Bools.",
                InferFinds<Finds<false>>, RunFinds<Finds<false>>);
}

}  // namespace millrace::kernels
