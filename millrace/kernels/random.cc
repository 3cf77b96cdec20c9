// Random numbers. Each row draws from a generator of its own, keyed by (seed, epoch,
// number of the call, identity of the row), so that a draw depends on nothing else. The
// values of one row are drawn in row-major order.

#include "millrace/base/random.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/scalars.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using base::Generator;
using core::DType;
using core::Shape;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// What a row draws: its bounds or moments checked, then as many values as it needs.
struct Uniforms {
  using Value = double;

  static absl::Status Check(double low, double high) {
    if (low <= high && std::isfinite(high - low)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        base::StrCat("cannot draw from ", low, " up to ", high));
  }

  static void Draw(Generator generator, double low, double high,
                   absl::Span<double> values) {
    for (double& value : values) value = generator.Uniform(low, high);
  }
};

struct WholeNumbers {
  using Value = int64_t;

  static absl::Status Check(int64_t low, int64_t high) {
    if (low < high) return absl::OkStatus();
    return absl::InvalidArgumentError(base::StrCat("there is no integer from ", low,
                                                   " up to, not including, ", high));
  }

  static void Draw(Generator generator, int64_t low, int64_t high,
                   absl::Span<int64_t> values) {
    for (int64_t& value : values) value = generator.Integer(low, high);
  }
};

struct Normals {
  using Value = double;

  static absl::Status Check(double, double deviation) {
    if (deviation >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        base::StrCat("a deviation cannot be ", deviation));
  }

  // They come in pairs; of an odd number the last goes unused.
  static void Draw(Generator generator, double mean, double deviation,
                   absl::Span<double> values) {
    for (size_t i = 0; i < values.size(); i += 2) {
      const std::array<double, 2> pair = generator.NormalPair();
      values[i] = mean + deviation * pair[0];
      if (i + 1 < values.size()) values[i + 1] = mean + deviation * pair[1];
    }
  }
};

Shape ShapeOf(const ir::Arguments& arguments) {
  Sizes sizes;
  for (const ir::Value& size : arguments["shape"].As<ir::List>()) {
    sizes.push_back(size.As<int64_t>());
  }
  return Shape(sizes);
}

template <typename Distribution>
absl::StatusOr<core::Column> RunDraws(const KernelCall& call) {
  using Value = typename Distribution::Value;
  CHECK(call.draws != nullptr);
  const Shape shape = ShapeOf(call.arguments);
  const int64_t count = shape.Count();
  const Scalars<Value> a = TRY(Scalars<Value>::Open(call.operands[0], call.pool));
  const Scalars<Value> b = TRY(Scalars<Value>::Open(call.operands[1], call.pool));
  const int64_t total = TRY(shape.WithLeading(call.rows).CountChecked());
  ValueWriter out = TRY(ValueWriter::Open(call.type.dtype, total, call.pool));
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status right = Distribution::Check(a[row], b[row]);
    if (!right.ok()) return RowErrorOf(row, right);
    const absl::Span<Value> values(out.Take<Value>(count), count);
    Distribution::Draw(call.draws->For(row), a[row], b[row], values);
  }
  return std::move(out).ToColumn(call.rows, shape);
}

absl::StatusOr<ValueType> InferDraws(const KernelTypes& types, DType dtype) {
  for (const ValueType& type : types.operands) {
    if (type.shape.ranked() && !type.shape.is_scalar()) {
      return Needs("scalars", types.operands, "argument shape says how many to draw");
    }
  }
  const Shape shape = ShapeOf(types.arguments);
  TRY(shape.CountChecked());
  return ValueType{.dtype = dtype, .shape = shape};
}

absl::StatusOr<ValueType> InferFloats(const KernelTypes& types) {
  TRY(CheckAll(types.operands, core::IsNumeric, "numbers"));
  return InferDraws(types, DType::kFloat64);
}

absl::StatusOr<ValueType> InferIntegers(const KernelTypes& types) {
  const auto fits = [](DType dtype) {
    return core::IsInteger(dtype) && dtype != DType::kUint64;
  };
  TRY(CheckAll(types.operands, fits, "integers that int64 holds",
               "cast first, as in cast(x, dtype=\"int64\")"));
  return InferDraws(types, DType::kInt64);
}

KernelSchema Schema(std::string name, std::string doc, ir::OperandSchema a,
                    ir::OperandSchema b) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {std::move(a), std::move(b)},
          .arguments = {{.name = "shape",
                         .type = ir::ArgumentType::kInts,
                         .doc = "The sizes of what is drawn; none for one number.",
                         .default_value = ir::List(),
                         .least = 0}},
          .random = true,
          .fails = ir::Fails::kOnData};
}

}  // namespace

KernelSchema UniformKernel() {
  KernelSchema schema =
      Schema("uniform", "Draws floats between low and high, each equally likely.",
             {"low", "The least, a number; more than high is an error of the row."},
             {"high", "The end, a number; drawn only where it equals low."});
  schema.infer = InferFloats;
  schema.run = RunDraws<Uniforms>;
  return schema;
}

KernelSchema IntegersKernel() {
  KernelSchema schema = Schema(
      "integers", "Draws integers from low up to, not including, high.",
      {"low",
       "The least, an integer; must be less than high, else an error of the row."},
      {"high", "The end, an integer; never drawn."});
  schema.infer = InferIntegers;
  schema.run = RunDraws<WholeNumbers>;
  return schema;
}

KernelSchema NormalKernel() {
  KernelSchema schema =
      Schema("normal", "Draws floats from a normal distribution.",
             {"mean", "Its mean, a number."},
             {"deviation",
              "Its standard deviation, a number; less than 0 is an error of the row."});
  schema.infer = InferFloats;
  schema.run = RunDraws<Normals>;
  return schema;
}

}  // namespace millrace::kernels
