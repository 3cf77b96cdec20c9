// argmax, sort, argsort and cumsum: values along an axis, in their order.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/status.h"
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
#include "millrace/kernels/loops.h"
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

bool IsNumber(DType dtype) { return !core::IsVariable(dtype); }  // Or bool.

int64_t AxisOf(const ir::Arguments& arguments) {
  return arguments["axis"].As<int64_t>();
}

// The lines along one axis of a tensor: `count` values, `step` apart.
struct Lines {
  int axis = 0;
  int64_t outer = 1;
  int64_t count = 0;
  int64_t step = 1;

  // Calls `visit(first value's place)` for each.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t j = 0; j < step; ++j) visit(i * count * step + j);
    }
  }
};

absl::StatusOr<Lines> LinesOf(const Shape& shape, int outer,
                              const ir::Arguments& arguments) {
  const Shape row(shape.sizes().subspan(outer));
  Lines lines = {.axis = TRY(ResolveAxis(AxisOf(arguments), row)) + outer};
  lines.count = shape[lines.axis];
  for (int i = 0; i < lines.axis; ++i) lines.outer *= shape[i];
  for (int i = lines.axis + 1; i < shape.rank(); ++i) lines.step *= shape[i];
  return lines;
}

absl::StatusOr<ValueType> InferAlong(const KernelTypes& types, DType dtype) {
  TRY(CheckAll(types.operands, IsNumber, "numbers or bools"));
  const Shape& shape = types.operands[0].shape;
  if (shape.ranked()) TRY(ResolveAxis(AxisOf(types.arguments), shape));
  return ValueType{.dtype = dtype, .shape = shape};
}

// Computes a tensor of the same shape, line by line: `compute(x, line, result)`.
template <typename T, typename R, typename Compute>
absl::StatusOr<Column> RunAlong(const KernelCall& call, Compute compute) {
  return ForAllRows(call, [&](const Tensor& x, int outer) -> absl::StatusOr<Tensor> {
    const Lines lines = TRY(LinesOf(x.shape(), outer, call.arguments));
    core::Buffer values = TRY(call.pool.AllocateFor<R>(x.count()));
    const T* const from = ValuesOf(x).As<T>();
    R* const to = reinterpret_cast<R*>(values.mutable_data());
    if (x.count() > 0) {
      lines.ForEach([&](int64_t at) { compute(from + at, lines, to + at); });
    }
    return Tensor::Fixed(call.type.dtype, x.shape(), std::move(values));
  });
}

// --- sort and argsort ---

// The places of a line's values in their order: equal ones as they stand, NaN last.
template <typename T>
class Sorter {
 public:
  explicit Sorter(const ir::Arguments& arguments)
      : descending_(arguments["descending"].As<bool>()) {}

  const std::vector<int64_t>& Order(const T* values, const Lines& lines) {
    order_.resize(lines.count);
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::ranges::sort(order_, [&](int64_t a, int64_t b) {
      const auto left = static_cast<Computed<T>>(values[a * lines.step]);
      const auto right = static_cast<Computed<T>>(values[b * lines.step]);
      if (IsNan(left) != IsNan(right)) return IsNan(right);
      const bool before = descending_ ? left > right : left < right;
      const bool after = descending_ ? left < right : left > right;
      return before || (!after && a < b);
    });
    return order_;
  }

 private:
  const bool descending_;
  std::vector<int64_t> order_;
};

absl::StatusOr<Column> RunSort(const KernelCall& call) {
  return core::VisitDType(call.type.dtype, [&]<typename T>() {
    Sorter<T> sorter(call.arguments);
    return RunAlong<T, T>(call, [&](const T* values, const Lines& lines, T* result) {
      for (const int64_t place : sorter.Order(values, lines)) {
        *result = values[place * lines.step];
        result += lines.step;
      }
    });
  });
}

absl::StatusOr<Column> RunArgsort(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(), [&]<typename T>() {
    Sorter<T> sorter(call.arguments);
    return RunAlong<T, int64_t>(
        call, [&](const T* values, const Lines& lines, int64_t* result) {
          for (const int64_t place : sorter.Order(values, lines)) {
            *result = place;
            result += lines.step;
          }
        });
  });
}

// --- cumsum ---

DType SumType(DType dtype) {
  if (core::IsFloat(dtype)) return dtype;
  return core::IsInteger(dtype) && !core::IsSigned(dtype) ? DType::kUint64
                                                          : DType::kInt64;
}

// Whole numbers wrap around; floats are not rounded on the way.
template <typename T>
struct Summed {
  static constexpr bool kWhole = std::is_integral_v<T>;
  using Result = std::conditional_t<kWhole, uint64_t, T>;
  using Total = std::conditional_t<kWhole, uint64_t, double>;

  static void AddUp(const T* values, const Lines& lines, Result* result) {
    Total total = 0;
    for (int64_t i = 0; i < lines.count; ++i) {
      total += ConvertValue<Total>(values[i * lines.step]);
      result[i * lines.step] = ConvertValue<Result>(total);
    }
  }
};

absl::StatusOr<Column> RunCumsum(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(), [&]<typename T>() {
    return RunAlong<T, typename Summed<T>::Result>(call, Summed<T>::AddUp);
  });
}

// --- argmax ---

Shape WithoutAxis(const Shape& shape, int axis) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.erase(sizes.begin() + axis);
  return Shape(sizes);
}

absl::Status NothingToChoose() {
  return absl::InvalidArgumentError("there are no values to choose from");
}

absl::StatusOr<ValueType> InferArgmax(const KernelTypes& types) {
  ValueType type = TRY(InferAlong(types, DType::kInt64));
  if (!type.shape.ranked()) return type;
  const int axis = TRY(ResolveAxis(AxisOf(types.arguments), type.shape));
  const bool empty = type.shape.IsKnown() && type.shape[axis] == 0;
  type.shape = WithoutAxis(type.shape, axis);
  if (empty && type.shape.Count() > 0) return NothingToChoose();
  return type;
}

// The first of the largest; the first NaN, if there is one.
template <typename T>
int64_t PlaceOfLargest(const T* values, const Lines& lines) {
  int64_t best = 0;
  for (int64_t i = 1; i < lines.count; ++i) {
    const auto largest = static_cast<Computed<T>>(values[best * lines.step]);
    const auto next = static_cast<Computed<T>>(values[i * lines.step]);
    if (IsNan(largest)) break;
    if (next > largest || IsNan(next)) best = i;
  }
  return best;
}

template <typename T>
absl::StatusOr<Tensor> Argmax(const Tensor& x, int outer, const KernelCall& call) {
  const Lines lines = TRY(LinesOf(x.shape(), outer, call.arguments));
  const Shape shape = WithoutAxis(x.shape(), lines.axis);
  if (lines.count == 0 && shape.Count() > 0) return NothingToChoose();
  core::Buffer values = TRY(call.pool.AllocateFor<int64_t>(shape.Count()));
  int64_t* result = values.MutableAs<int64_t>().data();
  const T* const from = ValuesOf(x).As<T>();
  if (shape.Count() > 0) {
    lines.ForEach([&](int64_t at) { *result++ = PlaceOfLargest(from + at, lines); });
  }
  return Tensor::Fixed(DType::kInt64, shape, std::move(values));
}

absl::StatusOr<Column> RunArgmax(const KernelCall& call) {
  return core::VisitDType(call.operands[0].column.dtype(), [&]<typename T>() {
    return ForAllRows(
        call, [&](const Tensor& x, int outer) { return Argmax<T>(x, outer, call); });
  });
}

KernelSchema Schema(std::string name, std::string doc, bool sorts) {
  std::vector<ir::ArgumentSchema> arguments = {
      {.name = "axis",
       .type = ir::ArgumentType::kInt,
       .doc = "The axis along which; counts from the end when negative.",
       .default_value = -1}};
  if (sorts) {
    arguments.push_back({.name = "descending",
                         .type = ir::ArgumentType::kBool,
                         .doc = "Whether the largest comes first.",
                         .default_value = false});
  }
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", "Numbers or bools with at least one axis."}},
          .arguments = std::move(arguments),
          .fails = ir::Fails::kOnUnknownShapes};
}

}  // namespace

KernelSchema SortKernel() {
  KernelSchema schema =
      Schema("sort", "Sorts values along an axis; NaN comes last.", true);
  schema.infer = [](const KernelTypes& types) {
    return InferAlong(types, types.operands[0].dtype);
  };
  schema.run = RunSort;
  return schema;
}

KernelSchema ArgsortKernel() {
  KernelSchema schema = Schema("argsort",
                               "Gives the places of values along an axis in their "
                               "order: equal ones as they stand, NaN last.",
                               true);
  schema.infer = [](const KernelTypes& types) {
    return InferAlong(types, DType::kInt64);
  };
  schema.run = RunArgsort;
  return schema;
}

KernelSchema CumsumKernel() {
  KernelSchema schema = Schema("cumsum",
                               "Gives the sum of the values up to each along an axis, "
                               "of the types that sum gives; floats are added up in "
                               "double.",
                               false);
  schema.infer = [](const KernelTypes& types) {
    return InferAlong(types, SumType(types.operands[0].dtype));
  };
  schema.run = RunCumsum;
  return schema;
}

KernelSchema ArgmaxKernel() {
  KernelSchema schema = Schema("argmax",
                               "Gives the place of the largest value along an axis, "
                               "which goes away: the first of several, the first NaN "
                               "if there is one; of no values, an error.",
                               false);
  schema.infer = InferArgmax;
  schema.run = RunArgmax;
  return schema;
}

}  // namespace millrace::kernels
