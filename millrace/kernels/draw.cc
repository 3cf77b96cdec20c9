// More that is drawn: bernoulli, truncated_normal, choice and permutation. As in
// random.cc, a draw depends on the seed, the epoch, the call and the row's identity.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/random.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
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
#include "millrace/kernels/row_by_row.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/scalars.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using base::Generator;
using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

Shape ShapeOf(const ir::Arguments& arguments) {
  Sizes sizes;
  for (const ir::Value& size : arguments["shape"].As<ir::List>()) {
    sizes.push_back(size.As<int64_t>());
  }
  return Shape(sizes);
}

ir::ArgumentSchema ShapeArgument() {
  return {.name = "shape",
          .type = ir::ArgumentType::kInts,
          .doc = "The sizes of what is drawn; none for one.",
          .default_value = ir::List(),
          .least = 0};
}

// Draws of scalars that are numbers, into a shape.
absl::StatusOr<ValueType> InferDraws(const KernelTypes& types, DType dtype) {
  TRY(CheckAll(types.operands, core::IsNumeric, "numbers"));
  for (const ValueType& type : types.operands) {
    if (type.shape.ranked() && !type.shape.is_scalar()) {
      return Needs("scalars", types.operands, "argument shape says how many to draw");
    }
  }
  const Shape shape = ShapeOf(types.arguments);
  TRY(shape.CountChecked());
  return ValueType{.dtype = dtype, .shape = shape};
}

// --- bernoulli ---

absl::StatusOr<Column> RunBernoulli(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const Shape shape = ShapeOf(call.arguments);
  const int64_t count = shape.Count();
  const auto chances = TRY(Scalars<double>::Open(call.operands[0], call.pool));
  const int64_t total = TRY(shape.WithLeading(call.rows).CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(DType::kBool, total, call.pool));
  for (int64_t row = 0; row < call.rows; ++row) {
    const double chance = chances[row];
    if (!(chance >= 0 && chance <= 1)) {
      return RowError(row, base::StrCat("a chance cannot be ", chance));
    }
    Generator generator = call.draws->For(row);
    bool* const values = out.Take<bool>(count);
    for (int64_t i = 0; i < count; ++i) values[i] = generator.Uniform() < chance;
  }
  return std::move(out).ToColumn(call.rows, shape);
}

// --- truncated_normal ---

constexpr double kDeviationsMax = 2;

// Draws again until one is near enough, which 95 of 100 are.
double NearNormal(Generator& generator) {
  while (true) {
    for (const double value : generator.NormalPair()) {
      if (std::abs(value) <= kDeviationsMax) return value;
    }
  }
}

absl::StatusOr<Column> RunTruncatedNormal(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const Shape shape = ShapeOf(call.arguments);
  const int64_t count = shape.Count();
  const auto means = TRY(Scalars<double>::Open(call.operands[0], call.pool));
  const auto deviations = TRY(Scalars<double>::Open(call.operands[1], call.pool));
  const int64_t total = TRY(shape.WithLeading(call.rows).CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(DType::kFloat64, total, call.pool));
  for (int64_t row = 0; row < call.rows; ++row) {
    if (!(deviations[row] >= 0)) {
      return RowError(row, base::StrCat("a deviation cannot be ", deviations[row]));
    }
    Generator generator = call.draws->For(row);
    auto* const values = out.Take<double>(count);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = means[row] + deviations[row] * NearNormal(generator);
    }
  }
  return std::move(out).ToColumn(call.rows, shape);
}

// --- choice ---

absl::StatusOr<ValueType> InferChoice(const KernelTypes& types) {
  TRY(CheckAll(types.operands, core::IsNumeric, "numbers"));
  const Shape& weights = types.operands[0].shape;
  if (weights.ranked() && weights.rank() != 1) {
    return Needs("weights along one axis", types.operands);
  }
  const Shape shape = ShapeOf(types.arguments);
  TRY(shape.CountChecked());
  return ValueType{.dtype = DType::kInt64, .shape = shape};
}

// The sums of the weights up to each.
absl::Status AddUp(const Tensor& weights, std::vector<double>& sums) {
  if (weights.shape().rank() != 1) {
    return absl::InvalidArgumentError(
        base::StrCat("needs weights along one axis, not a value of shape ",
                     weights.shape().ToString()));
  }
  double total = 0;
  sums.clear();
  for (const double weight : weights.As<double>()) {
    if (!(weight >= 0) || std::isinf(weight)) {
      return absl::InvalidArgumentError(base::StrCat("a weight cannot be ", weight));
    }
    sums.push_back(total += weight);
  }
  if (total > 0 && std::isfinite(total)) return absl::OkStatus();
  return absl::InvalidArgumentError("there is nothing to choose from");
}

// The first whose sum is above the draw: never one of weight 0.
int64_t Choose(const std::vector<double>& sums, Generator& generator) {
  const double draw = generator.Uniform() * sums.back();
  const auto found =
      std::ranges::partition_point(sums, [&](double sum) { return sum <= draw; });
  if (found != sums.end()) return found - sums.begin();
  // Rounded up to the end: the last that has a weight.
  return std::ranges::lower_bound(sums, sums.back()) - sums.begin();
}

absl::StatusOr<Column> RunChoice(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const Shape shape = ShapeOf(call.arguments);
  const int64_t count = shape.Count();
  ir::Operand weights = call.operands[0];
  weights.column = TRY(Convert(weights.column, DType::kFloat64, call.pool));
  const int64_t total = TRY(shape.WithLeading(call.rows).CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(DType::kInt64, total, call.pool));
  std::vector<double> sums;
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::StatusOr<Tensor> of_row = RowOf(weights, row);
    if (!of_row.ok()) return RowErrorOf(row, of_row.status());
    const absl::Status added = AddUp(*of_row, sums);
    if (!added.ok()) return RowErrorOf(row, added);
    Generator generator = call.draws->For(row);
    auto* const values = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) values[i] = Choose(sums, generator);
  }
  return std::move(out).ToColumn(call.rows, shape);
}

// --- permutation ---

constexpr int64_t kSizeMax = int64_t{1} << 40;

absl::StatusOr<ValueType> InferPermutation(const KernelTypes& types) {
  const ValueType& size = types.operands[0];
  const bool scalar = !size.shape.ranked() || size.shape.is_scalar();
  if (!core::IsInteger(size.dtype) || !scalar) {
    return Needs("an integer scalar", types.operands);
  }
  return ValueType{.dtype = DType::kInt64, .shape = {core::kUnknownSize}};
}

absl::StatusOr<Column> RunPermutation(const KernelCall& call) {
  CHECK(call.draws != nullptr);
  const auto sizes = TRY(Scalars<int64_t>::Open(call.operands[0], call.pool));
  core::Buffer offsets = TRY(call.pool.AllocateFor<int64_t>(call.rows + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  for (int64_t row = 0; row < call.rows; ++row) {
    if (sizes[row] < 0 || sizes[row] > kSizeMax - ends[row]) {
      return RowError(row, base::StrCat("there is no order of ", sizes[row]));
    }
    ends[row + 1] = ends[row] + sizes[row];
  }
  core::Buffer values = TRY(call.pool.AllocateFor<int64_t>(ends[call.rows]));
  const absl::Span<int64_t> all = values.MutableAs<int64_t>();
  for (int64_t row = 0; row < call.rows; ++row) {
    const std::span<int64_t> order(all.data() + ends[row],
                                   static_cast<size_t>(sizes[row]));
    std::iota(order.begin(), order.end(), int64_t{0});
    call.draws->For(row).Shuffle(order);
  }
  return Column::FromLevels(DType::kInt64, call.rows,
                            {core::Level::Variable(std::move(offsets))},
                            std::move(values));
}

KernelSchema Schema(std::string name, std::string doc,
                    std::vector<ir::OperandSchema> operands) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = std::move(operands),
          .arguments = {ShapeArgument()},
          .random = true,
          .fails = ir::Fails::kOnData};
}

}  // namespace

KernelSchema BernoulliKernel() {
  KernelSchema schema =
      Schema("bernoulli", "Draws bools that are true with a chance.",
             {{"chance",
               "From 0, never, to 1, always; a number. Others are an error "
               "of the row."}});
  schema.infer = [](const KernelTypes& types) {
    return InferDraws(types, DType::kBool);
  };
  schema.run = RunBernoulli;
  return schema;
}

KernelSchema TruncatedNormalKernel() {
  KernelSchema schema = Schema(
      "truncated_normal",
      "Draws floats from a normal distribution, again where one is more than two "
      "deviations from the mean.",
      {{"mean", "Its mean, a number."},
       {"deviation",
        "Its standard deviation, a number; less than 0 is an error of the row."}});
  schema.infer = [](const KernelTypes& types) {
    return InferDraws(types, DType::kFloat64);
  };
  schema.run = RunTruncatedNormal;
  return schema;
}

KernelSchema ChoiceKernel() {
  KernelSchema schema = Schema(
      "choice", "Draws the places of weights, each as likely as its weight is large.",
      {{"weights",
        "Numbers along one axis; less than 0, or none above, is an error of the "
        "row."}});
  schema.infer = InferChoice;
  schema.run = RunChoice;
  return schema;
}

KernelSchema PermutationKernel() {
  return {.name = "permutation",
          .doc = "Draws an order of the integers from 0 up to, not including, a size.",
          .operands = {{"size",
                        "How many, an integer scalar; less than 0 is an error of the "
                        "row."}},
          .random = true,
          .fails = ir::Fails::kOnData,
          .infer = InferPermutation,
          .run = RunPermutation};
}

}  // namespace millrace::kernels
