// hash_bucket, bucketize and one_hot: values as one of a number of classes.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/hash.h"
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
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"
#include "millrace/kernels/walk.h"

namespace millrace::kernels {
namespace {

using base::Hash128;
using core::Column;
using core::DType;
using core::Shape;
using core::Tensor;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// --- hash_bucket ---

absl::StatusOr<ValueType> InferHash(const KernelTypes& types) {
  const ValueType& x = types.operands[0];
  if (!core::IsInteger(x.dtype) && !core::IsVariable(x.dtype)) {
    return Needs("integers or texts", types.operands);
  }
  return ValueType{.dtype = DType::kInt64, .shape = x.shape};
}

// Hashes a seed, the size of a text, and its bytes, sixteen at a time, the last filled
// up with zeros.
Hash128 HashText(const Hash128& seed, std::string_view text) {
  Hash128 hash = base::Combine(seed, text.size());
  while (!text.empty()) {
    std::array<uint64_t, 2> words = {};
    const size_t size = std::min(text.size(), sizeof(words));
    std::memcpy(words.data(), text.data(), size);
    hash = base::Combine(hash, Hash128{words[0], words[1]});
    text.remove_prefix(size);
  }
  return hash;
}

// Spreads a hash evenly over the buckets.
int64_t BucketOf(const Hash128& hash, int64_t buckets) {
  __extension__ using Uint128 = unsigned __int128;
  return static_cast<int64_t>(
      (static_cast<Uint128>(hash.lo) * static_cast<uint64_t>(buckets)) >> 64U);
}

absl::StatusOr<Column> RunHash(const KernelCall& call) {
  const auto buckets = call.arguments["buckets"].As<int64_t>();
  const auto seed = static_cast<uint64_t>(call.arguments["seed"].As<int64_t>());
  const Hash128 start = base::Combine(Hash128{}, seed);
  const bool texts = core::IsVariable(call.operands[0].column.dtype());
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    const Values& x = operands[0];
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const Hash128 hash =
          texts ? HashText(start, x.TextAt(i))
                : base::Combine(start,
                                static_cast<uint64_t>(x.As<int64_t>()[i * x.step]));
      result[i] = BucketOf(hash, buckets);
    }
    return count;
  };
  return Elementwise(call, std::array{texts ? DType::kBytes : DType::kInt64}, loop);
}

// --- bucketize ---

std::vector<double> BoundariesOf(const ir::Arguments& arguments) {
  std::vector<double> boundaries;
  for (const ir::Value& boundary : arguments["boundaries"].As<ir::List>()) {
    boundaries.push_back(boundary.As<double>());
  }
  return boundaries;
}

absl::StatusOr<ValueType> InferBucketize(const KernelTypes& types) {
  const ValueType type = TRY(MeetNumbers(types.operands));
  const std::vector<double> boundaries = BoundariesOf(types.arguments);
  for (size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i - 1] < boundaries[i]) continue;
    return absl::InvalidArgumentError("argument boundaries must rise");
  }
  return ValueType{.dtype = DType::kInt64, .shape = type.shape};
}

absl::StatusOr<Column> RunBucketize(const KernelCall& call) {
  const std::vector<double> boundaries = BoundariesOf(call.arguments);
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    const Values& x = operands[0];
    auto* const result = out.Take<int64_t>(count);
    for (int64_t i = 0; i < count; ++i) {
      const double value = x.As<double>()[i * x.step];
      const auto is_reached = [&](const auto& boundary) { return !(value < boundary); };
      result[i] =
          std::ranges::partition_point(boundaries, is_reached) - boundaries.begin();
    }
    return count;
  };
  return Elementwise(call, std::array{DType::kFloat64}, loop);
}

// --- one_hot ---

Shape WithLast(const Shape& shape, int64_t size) {
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  sizes.push_back(size);
  return Shape(sizes);
}

absl::StatusOr<ValueType> InferOneHot(const KernelTypes& types) {
  TRY(CheckAll(types.operands, core::IsInteger, "integers"));
  const Shape& shape = types.operands[0].shape;
  const auto depth = types.arguments["depth"].As<int64_t>();
  return ValueType{
      .dtype = DTypeNamed(types.arguments),
      .shape = shape.ranked() ? WithLast(shape, depth) : Shape::Unranked()};
}

template <typename T>
absl::StatusOr<Tensor> OneHot(const Tensor& classes, const KernelCall& call) {
  const auto depth = call.arguments["depth"].As<int64_t>();
  const T on = ConvertValue<T>(call.arguments["on"].As<double>());
  const T off = ConvertValue<T>(call.arguments["off"].As<double>());
  const Shape shape = WithLast(classes.shape(), depth);
  const int64_t count = TRY(shape.CountChecked());
  core::Buffer values = TRY(call.pool.AllocateFor<T>(count));
  auto* const result = reinterpret_cast<T*>(values.mutable_data());
  std::fill_n(result, count, off);
  const absl::Span<const int64_t> all = classes.As<int64_t>();
  for (int64_t i = 0; i < std::ssize(all); ++i) {
    if (all[i] >= 0 && all[i] < depth) result[i * depth + all[i]] = on;
  }
  return Tensor::Fixed(call.type.dtype, shape, std::move(values));
}

absl::StatusOr<Column> RunOneHot(const KernelCall& call) {
  // What is too large for int64 is no class either, and as int64 less than 0.
  ir::Operand classes = call.operands[0];
  classes.column = TRY(Convert(classes.column, DType::kInt64, call.pool));
  KernelCall converted = call;
  converted.operands = {&classes, 1};
  return core::VisitDType(call.type.dtype, [&]<typename T>() {
    return ForAllRows(converted,
                      [&](const Tensor& x, int) { return OneHot<T>(x, call); });
  });
}

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (const DType dtype : core::kAllDTypes) {
    if (!core::IsVariable(dtype)) names.emplace_back(core::Name(dtype));
  }
  return names;
}

ir::ArgumentSchema FloatArgument(std::string name, std::string doc, double value) {
  return {.name = std::move(name),
          .type = ir::ArgumentType::kFloat,
          .doc = std::move(doc),
          .default_value = value};
}

constexpr int64_t kDepthMax = int64_t{1} << 31;

}  // namespace

KernelSchema HashBucketKernel() {
  return {.name = "hash_bucket",
          .doc =
              "Gives each value a bucket by its hash, which is the same on every "
              "machine and in every version.",
          .operands = {{"x",
                        "Integers or texts of any shape; 1 has the same bucket "
                        "whatever the type."}},
          .arguments = {{.name = "buckets",
                         .type = ir::ArgumentType::kInt,
                         .doc = "How many buckets there are; they are numbered from 0.",
                         .least = 1},
                        {.name = "seed",
                         .type = ir::ArgumentType::kInt,
                         .doc = "Another seed gives an unrelated order.",
                         .default_value = 0}},
          .infer = InferHash,
          .run = RunHash};
}

KernelSchema BucketizeKernel() {
  return {.name = "bucketize",
          .doc =
              "Counts the boundaries that are not above a number: 0 below the "
              "first, and all of them for NaN. Compares as float64.",
          .operands = {{"x", "Numbers of any shape."}},
          .arguments = {{.name = "boundaries",
                         .type = ir::ArgumentType::kFloats,
                         .doc = "Where a bucket ends and the next begins; rising."}},
          .infer = InferBucketize,
          .run = RunBucketize};
}

KernelSchema OneHotKernel() {
  return {.name = "one_hot",
          .doc =
              "Gives each class a vector that is on at its place and off elsewhere; "
              "for a class that is not below depth, off everywhere.",
          .operands = {{"x", "Classes: integers of any shape, counted from 0."}},
          .arguments = {{.name = "depth",
                         .type = ir::ArgumentType::kInt,
                         .doc = "How many classes there are.",
                         .least = 0,
                         .most = kDepthMax},
                        FloatArgument("on", "The value at the class's place.", 1),
                        FloatArgument("off", "The value at the others.", 0),
                        {.name = "dtype",
                         .type = ir::ArgumentType::kText,
                         .doc = "The type of the values.",
                         .default_value = "float32",
                         .choices = TypeNames()}},
          .fails = ir::Fails::kOnUnknownShapes,
          .infer = InferOneHot,
          .run = RunOneHot};
}

}  // namespace millrace::kernels
