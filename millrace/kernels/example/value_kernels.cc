// example_floats, example_ints and example_texts: the values of one feature of a
// tf.train.Example, of which example_features found the place. Numbers of a fixed shape
// go straight into the result; texts stay where they are, if they are most of the
// records.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

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
#include "millrace/kernels/example/feature.h"
#include "millrace/kernels/example/feature_rows.h"
#include "millrace/kernels/result_buffer.h"
#include "millrace/kernels/row_error.h"

namespace millrace::kernels {
namespace {

using core::Column;
using core::DType;
using core::Shape;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;

// --- Types ---

// What stands for a feature that is missing must fill the shape, or be one value.
absl::Status CheckDefault(const ir::Arguments& arguments, const Shape& shape) {
  const ir::Value& values = arguments["default"];
  if (values.is_none()) return absl::OkStatus();
  const auto count = static_cast<int64_t>(values.As<ir::List>().size());
  if (count == 1 || count == TRY(shape.CountChecked())) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "argument default has ", count, " values; it must have one, or as many as shape ",
      shape.ToString(), " has"));
}

absl::StatusOr<ValueType> InferValues(const KernelTypes& types, DType dtype) {
  TRY(CheckReader(types));
  const std::optional<Shape> shape = ShapeArgument(types.arguments);
  if (!shape) return ValueType{.dtype = dtype, .shape = {core::kUnknownSize}};
  TRY(shape->CountChecked());
  TRY(CheckDefault(types.arguments, *shape));
  return ValueType{.dtype = dtype, .shape = *shape};
}

// --- Values ---

template <typename T>
struct Stored {
  using Given = double;  // As arguments have it.
  static constexpr FeatureKind kKind = FeatureKind::kFloats;
};

template <>
struct Stored<int64_t> {
  using Given = int64_t;
  static constexpr FeatureKind kKind = FeatureKind::kInts;
};

template <>
struct Stored<std::string_view> {
  using Given = std::string;
  static constexpr FeatureKind kKind = FeatureKind::kTexts;
};

// What stands for a feature that is missing; nothing when it must be there.
template <typename T>
std::optional<std::vector<T>> DefaultOf(const ir::Arguments& arguments) {
  const ir::Value& given = arguments["default"];
  if (given.is_none()) return std::nullopt;
  std::vector<T> values;
  for (const ir::Value& value : given.As<ir::List>()) {
    values.push_back(static_cast<T>(value.As<typename Stored<T>::Given>()));
  }
  return values;
}

// Reads the values of one feature, row by row.
template <typename T>
class ValueReader {
 public:
  explicit ValueReader(const KernelCall& call)
      : rows_(call), default_(DefaultOf<T>(call.arguments)) {}

  const FeatureRows& rows() const { return rows_; }

  // Adds all values of a row, however many.
  absl::Status Append(int64_t row, std::vector<T>& values) {
    if (TRY(CollectValues(rows_, row, Stored<T>::kKind, values))) {
      return absl::OkStatus();
    }
    if (!default_) return rows_.Missing();
    values.insert(values.end(), default_->begin(), default_->end());
    return absl::OkStatus();
  }

  // Reads the values of a row, which must be exactly those of a shape.
  absl::Status Read(int64_t row, const Shape& shape, absl::Span<T> values) {
    collected_.clear();
    if (!TRY(CollectValues(rows_, row, Stored<T>::kKind, collected_))) {
      return ReadDefault(values);
    }
    if (collected_.size() != values.size()) {
      return rows_.WrongCount(std::ssize(collected_), shape);
    }
    std::ranges::copy(collected_, values.begin());
    return absl::OkStatus();
  }

 private:
  absl::Status ReadDefault(absl::Span<T> values) const {
    if (!default_) return rows_.Missing();
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (*default_)[default_->size() == 1 ? 0 : i];
    }
    return absl::OkStatus();
  }

  const FeatureRows rows_;
  const std::optional<std::vector<T>> default_;
  std::vector<T> collected_;
};

// --- Numbers ---

template <typename T>
absl::Status ReadNumbers(ValueReader<T>& reader, int64_t row, const Shape& shape,
                         absl::Span<T> values) {
  std::string_view packed;
  if (reader.rows().PlainContentAt(row, Stored<T>::kKind, packed) &&
      ReadPacked(packed, std::ssize(values), values.data())) {
    return absl::OkStatus();
  }
  return reader.Read(row, shape, values);
}

template <typename T>
absl::StatusOr<Column> RunFixed(const KernelCall& call, const Shape& shape) {
  core::Buffer result = TRY(ResultBuffer(call));
  auto* values = reinterpret_cast<T*>(result.mutable_data());
  const int64_t count = shape.Count();
  ValueReader<T> reader(call);
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status read =
        ReadNumbers(reader, row, shape, absl::MakeSpan(values, count));
    if (!read.ok()) return RowErrorOf(row, read);
    values += count;
  }
  return Column::Dense(call.type.dtype, call.rows, shape, std::move(result));
}

// Reads the values of all rows, and where each row's begin and end among them.
template <typename T>
absl::StatusOr<core::Level> AppendRows(const KernelCall& call, std::vector<T>& values) {
  core::Buffer offsets = TRY(call.pool.AllocateFor<int64_t>(call.rows + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  ValueReader<T> reader(call);
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status read = reader.Append(row, values);
    if (!read.ok()) return RowErrorOf(row, read);
    ends[row + 1] = std::ssize(values);
  }
  return core::Level::Variable(std::move(offsets));
}

template <typename T>
absl::StatusOr<Column> RunRagged(const KernelCall& call) {
  std::vector<T> values;
  core::Level level = TRY(AppendRows(call, values));
  core::Buffer copy = TRY(core::CopyBytes(
      values.data(), static_cast<int64_t>(values.size() * sizeof(T)), call.pool));
  return Column::FromLevels(call.type.dtype, call.rows, {std::move(level)},
                            std::move(copy));
}

template <typename T>
absl::StatusOr<Column> RunNumbers(const KernelCall& call) {
  const std::optional<Shape> shape = ShapeArgument(call.arguments);
  return shape ? RunFixed<T>(call, *shape) : RunRagged<T>(call);
}

// --- Texts ---

absl::StatusOr<Column> CopyTexts(const KernelCall& call,
                                 absl::Span<const std::string_view> texts,
                                 core::Levels levels) {
  core::Buffer offsets = TRY(call.pool.AllocateFor<int64_t>(std::ssize(texts) + 1));
  const absl::Span<int64_t> ends = offsets.MutableAs<int64_t>();
  ends[0] = 0;
  for (size_t i = 0; i < texts.size(); ++i)
    ends[i + 1] = ends[i] + std::ssize(texts[i]);
  core::Buffer bytes = TRY(call.pool.Allocate(ends.back()));
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    std::memcpy(bytes.mutable_data() + ends[i], texts[i].data(), texts[i].size());
  }
  levels.push_back(core::Level::Variable(std::move(offsets)));
  return Column::FromLevels(call.type.dtype, call.rows, std::move(levels),
                            std::move(bytes));
}

// Tells whether the texts are all inside of these bytes, and most of them.
bool AreMostOf(absl::Span<const std::string_view> texts, const core::Buffer& bytes) {
  const std::string_view all = bytes.text();
  int64_t size = 0;
  for (const std::string_view text : texts) {
    const bool inside = text.data() >= all.data() &&
                        text.data() + text.size() <= all.data() + all.size();
    if (!inside) return false;  // What stood for a missing one.
    size += std::ssize(text);
  }
  return size >= bytes.size() / 2;
}

// Leaves one text per row where it is.
absl::StatusOr<Column> ShareTexts(const KernelCall& call,
                                  absl::Span<const std::string_view> texts,
                                  const core::Buffer& bytes) {
  core::Buffer places = TRY(call.pool.AllocateFor<int64_t>(2 * std::ssize(texts)));
  int64_t* place = places.MutableAs<int64_t>().data();
  for (const std::string_view text : texts) {
    *place++ = text.data() - bytes.text().data();
    *place++ = text.data() + text.size() - bytes.text().data();
  }
  return Column::TextsWithGaps(call.type.dtype, call.rows, std::move(places), bytes);
}

absl::Status ReadText(ValueReader<std::string_view>& reader, int64_t row,
                      std::string_view& text) {
  if (reader.rows().PlainContentAt(row, FeatureKind::kTexts, text)) {
    return absl::OkStatus();
  }
  return reader.Read(row, Shape(), absl::MakeSpan(&text, 1));
}

absl::StatusOr<Column> RunOneText(const KernelCall& call) {
  std::vector<std::string_view> texts(call.rows);
  ValueReader<std::string_view> reader(call);
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status read = ReadText(reader, row, texts[row]);
    if (!read.ok()) return RowErrorOf(row, read);
  }
  const core::Buffer* bytes = reader.rows().records().shared_bytes();
  if (bytes != nullptr && AreMostOf(texts, *bytes)) {
    return ShareTexts(call, texts, *bytes);
  }
  return CopyTexts(call, texts, {});
}

absl::StatusOr<Column> RunTexts(const KernelCall& call) {
  const std::optional<Shape> shape = ShapeArgument(call.arguments);
  if (shape && shape->is_scalar()) return RunOneText(call);
  std::vector<std::string_view> texts;
  if (!shape) {
    core::Level level = TRY(AppendRows(call, texts));
    return CopyTexts(call, texts, {std::move(level)});
  }
  const int64_t count = shape->Count();
  ValueReader<std::string_view> reader(call);
  texts.resize(TRY(shape->WithLeading(call.rows).CountChecked()));
  for (int64_t row = 0; row < call.rows; ++row) {
    const absl::Status read =
        reader.Read(row, *shape, absl::MakeSpan(texts).subspan(row * count, count));
    if (!read.ok()) return RowErrorOf(row, read);
  }
  core::Levels levels;
  for (const int64_t size : shape->sizes()) levels.push_back(core::Level::Fixed(size));
  return CopyTexts(call, texts, std::move(levels));
}

// --- Schemas ---

KernelSchema Schema(std::string name, std::string_view what,
                    ir::ArgumentType default_type) {
  std::vector<ir::ArgumentSchema> arguments = ReaderArguments();
  arguments.push_back({.name = "shape",
                       .type = ir::ArgumentType::kInts,
                       .doc = "The shape that a row's values have, else the row is "
                              "wrong; none is one axis of any length.",
                       .default_value = ir::Value(),
                       .none_allowed = true,
                       .least = 0});
  arguments.push_back({.name = "default",
                       .type = default_type,
                       .doc = "The values where the feature is missing: one for all, "
                              "or as many as the shape has; none is that the row is "
                              "wrong.",
                       .default_value = ir::Value(),
                       .none_allowed = true});
  return {
      .name = std::move(name),
      .doc = base::StrCat("Reads a feature of a tf.train.Example that has ", what, "."),
      .operands = ReaderOperands(),
      .arguments = std::move(arguments),
      .fails = ir::Fails::kOnData};
}

}  // namespace

KernelSchema ExampleFloatsKernel() {
  KernelSchema schema =
      Schema("example_floats", "floats, as float32", ir::ArgumentType::kFloats);
  schema.infer = [](const KernelTypes& types) {
    return InferValues(types, DType::kFloat32);
  };
  schema.run = RunNumbers<float>;
  return schema;
}

KernelSchema ExampleIntsKernel() {
  KernelSchema schema =
      Schema("example_ints", "integers, as int64", ir::ArgumentType::kInts);
  schema.infer = [](const KernelTypes& types) {
    return InferValues(types, DType::kInt64);
  };
  schema.run = RunNumbers<int64_t>;
  return schema;
}

KernelSchema ExampleTextsKernel() {
  KernelSchema schema =
      Schema("example_texts", "texts, as bytes", ir::ArgumentType::kTexts);
  schema.infer = [](const KernelTypes& types) {
    return InferValues(types, DType::kBytes);
  };
  schema.run = RunTexts;
  return schema;
}

}  // namespace millrace::kernels
