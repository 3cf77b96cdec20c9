// sequence_floats, sequence_ints and sequence_texts: the values of one feature list of
// a tf.train.SequenceExample, of which sequence_features found the place: one value per
// step, of one shape, or of lengths that differ from step to step.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
#include "millrace/kernels/example/feature.h"
#include "millrace/kernels/example/feature_rows.h"
#include "millrace/kernels/row_error.h"
#include "millrace/kernels/value_writer.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

absl::StatusOr<ValueType> InferSteps(const KernelTypes& types, DType dtype) {
  TRY(CheckReader(types));
  const std::optional<Shape> shape = ShapeArgument(types.arguments);
  const Shape of_step = shape.value_or(Shape({core::kUnknownSize}));
  if (shape) TRY(shape->CountChecked());
  return ValueType{.dtype = dtype, .shape = of_step.WithLeading(core::kUnknownSize)};
}

// All values of all steps of all rows, and where steps and rows end among them.
template <typename T>
struct Steps {
  std::vector<T> values;
  std::vector<int64_t> step_ends = {0};
  std::vector<int64_t> row_ends = {0};
};

template <typename T>
class StepReader {
 public:
  StepReader(const KernelCall& call, FeatureKind kind)
      : rows_(call),
        kind_(kind),
        shape_(ShapeArgument(call.arguments)),
        optional_(call.arguments["optional"].As<bool>()) {}

  // Adds the steps of a row.
  absl::Status Append(int64_t row, Steps<T>& steps) const {
    const std::string_view entry = TRY(rows_.EntryAt(row));
    if (entry.data() != nullptr) {
      const std::string_view record = TRY(rows_.records().At(row));
      TRY(rows_.CheckName(entry, record));
      TRY(AppendSteps(entry, record, steps));
    } else if (!optional_) {
      return rows_.Missing();
    }
    steps.row_ends.push_back(std::ssize(steps.step_ends) - 1);
    return absl::OkStatus();
  }

  const std::optional<Shape>& shape() const { return shape_; }

 private:
  absl::Status AppendSteps(std::string_view entry, std::string_view record,
                           Steps<T>& steps) const {
    const absl::StatusOr<std::vector<Feature>> features =
        ReadFeatureList(entry, record);
    if (!features.ok()) return rows_.Annotated(features.status());
    for (const Feature& feature : *features) {
      if (!feature.lists.empty() && feature.kind != kind_) {
        return rows_.WrongKind(feature.kind, kind_);
      }
      const int64_t before = std::ssize(steps.values);
      for (const std::string_view list : feature.lists) {
        TRY(rows_.Annotated(AppendValues(list, record, steps.values)));
      }
      const int64_t count = std::ssize(steps.values) - before;
      if (shape_ && count != shape_->Count()) return rows_.WrongCount(count, *shape_);
      steps.step_ends.push_back(std::ssize(steps.values));
    }
    return absl::OkStatus();
  }

  const FeatureRows rows_;
  const FeatureKind kind_;
  const std::optional<Shape> shape_;
  const bool optional_;
};

absl::StatusOr<core::Level> LevelOf(const std::vector<int64_t>& ends,
                                    core::Pool& pool) {
  return core::Level::Variable(TRY(core::CopyBytes(
      ends.data(), static_cast<int64_t>(ends.size() * sizeof(int64_t)), pool)));
}

template <typename T>
absl::StatusOr<ValueWriter> Written(const KernelCall& call,
                                    const std::vector<T>& values) {
  ValueWriter out =
      TRY(ValueWriter::Open(call.type.dtype, std::ssize(values), call.pool));
  if constexpr (std::is_same_v<T, std::string_view>) {
    for (const std::string_view text : values) out.AddText(text);
  } else if (!values.empty()) {
    std::memcpy(out.Take<T>(std::ssize(values)), values.data(),
                values.size() * sizeof(T));
  }
  return out;
}

template <typename T, FeatureKind kKind>
absl::StatusOr<Column> RunSteps(const KernelCall& call) {
  const StepReader<T> reader(call, kKind);
  Steps<T> steps;
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status read = reader.Append(row, steps);
    if (!read.ok()) return RowErrorOf(row, read);
  }
  core::Levels levels = {TRY(LevelOf(steps.row_ends, call.pool))};
  if (!reader.shape()) {
    levels.push_back(TRY(LevelOf(steps.step_ends, call.pool)));
  } else {
    for (const int64_t size : reader.shape()->sizes()) {
      levels.push_back(core::Level::Fixed(size));
    }
  }
  return TRY(Written(call, steps.values)).ToColumn(call.rows, std::move(levels));
}

KernelSchema Schema(std::string name, std::string_view what) {
  std::vector<ir::ArgumentSchema> arguments = ReaderArguments();
  arguments.push_back({.name = "shape",
                       .type = ir::ArgumentType::kInts,
                       .doc = "The shape that the values of each step have, else the "
                              "row is wrong; none is one axis of any length.",
                       .default_value = ir::Value(),
                       .none_allowed = true,
                       .least = 0});
  arguments.push_back({.name = "optional",
                       .type = ir::ArgumentType::kBool,
                       .doc = "Whether a row without the list has no steps; else it "
                              "is wrong.",
                       .default_value = false});
  return {.name = std::move(name),
          .doc = base::StrCat("Reads a feature list of a tf.train.SequenceExample that "
                              "has ",
                              what, ": steps along the first axis."),
          .operands = ReaderOperands(),
          .arguments = std::move(arguments),
          .fails = ir::Fails::kOnData};
}

}  // namespace

KernelSchema SequenceFloatsKernel() {
  KernelSchema schema = Schema("sequence_floats", "floats, as float32");
  schema.infer = [](const KernelTypes& types) {
    return InferSteps(types, DType::kFloat32);
  };
  schema.run = RunSteps<float, FeatureKind::kFloats>;
  return schema;
}

KernelSchema SequenceIntsKernel() {
  KernelSchema schema = Schema("sequence_ints", "integers, as int64");
  schema.infer = [](const KernelTypes& types) {
    return InferSteps(types, DType::kInt64);
  };
  schema.run = RunSteps<int64_t, FeatureKind::kInts>;
  return schema;
}

KernelSchema SequenceTextsKernel() {
  KernelSchema schema = Schema("sequence_texts", "texts, as bytes");
  schema.infer = [](const KernelTypes& types) {
    return InferSteps(types, DType::kBytes);
  };
  schema.run = RunSteps<std::string_view, FeatureKind::kTexts>;
  return schema;
}

}  // namespace millrace::kernels
