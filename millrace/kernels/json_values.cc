// json_int, json_float, json_bool, json_text, json_ints, json_floats, json_texts and
// json_has: values inside JSON texts, by the path that leads to them. Each kernel goes
// over its text by itself.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/codec/json.h"
#include "millrace/codec/json_path.h"
#include "millrace/codec/json_text.h"
#include "millrace/codec/number_text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/shown.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"
#include "millrace/kernels/elementwise.h"
#include "millrace/kernels/split_rows.h"
#include "millrace/kernels/typing.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/kernels/values.h"

namespace millrace::kernels {
namespace {

using codec::JsonFound;
using codec::JsonPath;
using codec::JsonValue;
using codec::NumberRead;
using core::Column;
using core::DType;
using ir::KernelCall;
using ir::KernelSchema;
using ir::KernelTypes;
using ir::ValueType;
using Kind = JsonValue::Kind;

// --- Types ---

absl::StatusOr<JsonPath> PathOf(const ir::Arguments& arguments) {
  absl::StatusOr<JsonPath> path = JsonPath::Parse(arguments["path"].As<std::string>());
  if (path.ok()) return path;
  return absl::InvalidArgumentError(
      base::StrCat("argument path ", base::ToStd(path.status().message())));
}

absl::StatusOr<ValueType> InferOne(const KernelTypes& types, DType dtype) {
  ValueType type = TRY(MeetTexts(types.operands));
  TRY(PathOf(types.arguments));
  type.dtype = dtype;
  return type;
}

absl::StatusOr<ValueType> InferItems(const KernelTypes& types, DType dtype) {
  ValueType type = TRY(InferParts(types));
  TRY(PathOf(types.arguments));
  type.dtype = dtype;
  return type;
}

// --- Values ---

template <typename T>
constexpr DType kDTypeRead = core::kDTypeOf<T>;

template <>
constexpr DType kDTypeRead<std::string> = DType::kString;

std::string Described(const JsonValue& value) {
  if (value.kind == Kind::kNull) return "null";
  return base::StrCat(
      codec::Name(value.kind), ", ",
      value.kind == Kind::kString ? ir::Quoted(value.text) : ir::Shown(value.text));
}

absl::Status WrongType(const JsonValue& value, std::string_view wanted) {
  return absl::DataLossError(
      base::StrCat("found ", Described(value), ", not ", wanted));
}

template <typename T>
absl::Status CheckRead(NumberRead read, const JsonValue& value) {
  if (read == NumberRead::kDone) return absl::OkStatus();
  const std::string_view type = core::Name(kDTypeRead<T>);
  if (read == NumberRead::kNoNumber) return WrongType(value, type);
  return absl::DataLossError(
      base::StrCat(ir::Shown(value.text), " is out of the range of ", type));
}

bool IsNumber(const JsonValue& value) {
  return value.kind == Kind::kNumber && codec::IsJsonNumber(value.text);
}

absl::Status ReadValue(const JsonValue& value, int64_t& read) {
  const NumberRead done =
      IsNumber(value) ? codec::ReadInteger(value.text, &read) : NumberRead::kNoNumber;
  return CheckRead<int64_t>(done, value);
}

absl::Status ReadValue(const JsonValue& value, double& read) {
  const NumberRead done =
      IsNumber(value) ? codec::ReadFloat(value.text, &read) : NumberRead::kNoNumber;
  return CheckRead<double>(done, value);
}

absl::Status ReadValue(const JsonValue& value, bool& read) {
  if (value.kind != Kind::kBool) return WrongType(value, "a bool");
  read = value.text == "true";
  return absl::OkStatus();
}

// What is no string is given as it stands, as where rows are read as JSON.
absl::Status ReadValue(const JsonValue& value, std::string& read) {
  if (value.kind == Kind::kNull) return WrongType(value, "a text");
  read.assign(value.text);
  if (value.kind != Kind::kString) return absl::OkStatus();
  const std::optional<size_t> size = codec::UnescapeJson(read, read.data());
  if (!size) return absl::DataLossError("found a string with a wrong escape");
  read.resize(*size);
  return absl::OkStatus();
}

// --- Paths ---

// Finds the value of one path, in one text after another.
class PathReader {
 public:
  explicit PathReader(JsonPath path, const ir::Arguments& arguments)
      : finder_(std::move(path)),
        name_(base::StrCat("path ", ir::Quoted(arguments["path"].As<std::string>()))) {}

  absl::StatusOr<JsonFound> Find(std::string_view text) {
    text = codec::WithoutMark(text);
    padded_.assign(text);
    padded_.append(codec::kJsonSlack, '\0');
    return finder_.Find(std::string_view(padded_).substr(0, text.size()));
  }

  // Tells whether something other than null is where the path leads.
  bool Has(const JsonFound& found) const {
    return !IsMissing(found) && found.steps == finder_.path().steps().size();
  }

  static bool IsMissing(const JsonFound& found) {
    return found.value.kind == Kind::kMissing || found.value.kind == Kind::kNull;
  }

  // Says why the path does not lead to its end. Requires: it does not.
  absl::Status Missing(const JsonFound& found) const {
    const std::string from = finder_.path().Beginning(found.steps);
    constexpr std::string_view kRemedy = "; argument missing can stand for it";
    if (found.value.kind == Kind::kNull) {
      return absl::DataLossError(base::StrCat(from, " is null", kRemedy));
    }
    const codec::JsonPathStep& step = finder_.path().steps()[found.steps];
    if (found.value.kind != Kind::kMissing) {
      return absl::DataLossError(base::StrCat(from, " is ", Described(found.value),
                                              ", no ",
                                              step.is_item() ? "array" : "object"));
    }
    return absl::DataLossError(
        base::StrCat(from, " has no ",
                     step.is_item() ? base::StrCat("item ", step.index)
                                    : base::StrCat("member ", ir::Quoted(step.key)),
                     kRemedy));
  }

  const std::string& name() const { return name_; }

 private:
  codec::JsonFinder finder_;
  const std::string name_;
  std::string padded_;
};

// --- One value ---

// Reads a text's value, or takes what stands for it.
template <typename T>
absl::Status ReadOne(PathReader& reader, std::string_view text,
                     const std::optional<T>& missing, T& read) {
  const JsonFound found = TRY(reader.Find(text));
  if (reader.Has(found)) return ReadValue(found.value, read);
  if (!PathReader::IsMissing(found) || !missing) return reader.Missing(found);
  read = *missing;
  return absl::OkStatus();
}

template <typename T>
void Put(const T& value, ValueWriter& out) {
  *out.Take<T>(1) = value;
}

void Put(const std::string& value, ValueWriter& out) { out.AddText(value); }

template <typename T>
absl::StatusOr<Column> RunOne(const KernelCall& call) {
  PathReader reader(TRY(PathOf(call.arguments)), call.arguments);
  const ir::Value& given = call.arguments["missing"];
  const std::optional<T> missing =
      given.is_none() ? std::nullopt : std::optional<T>(given.As<T>());
  std::string wrong;
  T value = {};
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const absl::Status read = ReadOne(reader, operands[0].TextAt(i), missing, value);
      if (!read.ok()) {
        wrong = base::StrCat(reader.name(), ": ", base::ToStd(read.message()));
        return i;
      }
      Put(value, out);
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, wrong);
}

absl::StatusOr<Column> RunHas(const KernelCall& call) {
  PathReader reader(TRY(PathOf(call.arguments)), call.arguments);
  std::string wrong;
  const auto loop = [&](absl::Span<const Values> operands, int64_t count,
                        ValueWriter& out) {
    for (int64_t i = 0; i < count; ++i) {
      const absl::StatusOr<JsonFound> found = reader.Find(operands[0].TextAt(i));
      if (!found.ok()) {
        wrong =
            base::StrCat(reader.name(), ": ", base::ToStd(found.status().message()));
        return i;
      }
      Put(reader.Has(*found), out);
    }
    return count;
  };
  return ElementwiseChecked(call, std::array{DType::kBytes}, loop, wrong);
}

// --- Lists ---

template <typename T>
std::optional<std::vector<T>> MissingItems(const ir::Arguments& arguments) {
  const ir::Value& given = arguments["missing"];
  if (given.is_none()) return std::nullopt;
  std::vector<T> items;
  for (const ir::Value& value : given.As<ir::List>()) items.push_back(value.As<T>());
  return items;
}

template <typename T>
using PutItem = absl::FunctionRef<void(const T& item)>;

// Gives each item of an array; says how many there are.
template <typename T>
absl::StatusOr<int64_t> ReadArray(const JsonValue& array, PutItem<T> put) {
  if (array.kind != Kind::kArray) return WrongType(array, "an array");
  codec::JsonItems items(array.text);
  JsonValue item;
  T value = {};
  int64_t count = 0;
  for (; items.Next(item); ++count) {
    const absl::Status read = ReadValue(item, value);
    if (!read.ok()) return base::Annotate(read, base::StrCat("item ", count));
    put(value);
  }
  if (!items.ok()) return absl::DataLossError("found an array that is no valid JSON");
  return count;
}

template <typename T>
absl::StatusOr<int64_t> ReadItems(PathReader& reader, std::string_view text,
                                  const std::optional<std::vector<T>>& missing,
                                  PutItem<T> put) {
  const JsonFound found = TRY(reader.Find(text));
  if (reader.Has(found)) return ReadArray(found.value, put);
  if (!PathReader::IsMissing(found) || !missing) return reader.Missing(found);
  for (const T& item : *missing) put(item);
  return std::ssize(*missing);
}

// Gives the items of all rows, and which are a row's.
template <typename T>
absl::StatusOr<core::Level> ReadRows(const KernelCall& call, PutItem<T> put) {
  PathReader reader(TRY(PathOf(call.arguments)), call.arguments);
  const std::optional<std::vector<T>> missing = MissingItems<T>(call.arguments);
  return ReadRowTexts(call, [&](std::string_view text) -> absl::StatusOr<int64_t> {
    absl::StatusOr<int64_t> count = ReadItems(reader, text, missing, put);
    if (count.ok()) return count;
    return absl::InvalidArgumentError(
        base::StrCat(reader.name(), ": ", base::ToStd(count.status().message())));
  });
}

template <typename T>
absl::StatusOr<Column> RunNumbers(const KernelCall& call) {
  std::vector<T> values;
  core::Level level =
      TRY(ReadRows<T>(call, [&](const T& value) { values.push_back(value); }));
  core::Buffer copy = TRY(core::CopyBytes(
      values.data(), static_cast<int64_t>(values.size() * sizeof(T)), call.pool));
  return Column::FromLevels(call.type.dtype, call.rows, {std::move(level)},
                            std::move(copy));
}

absl::StatusOr<Column> RunTexts(const KernelCall& call) {
  ValueWriter out = TRY(ValueWriter::Open(call.type.dtype, call.rows, call.pool));
  core::Level level = TRY(
      ReadRows<std::string>(call, [&](const std::string& text) { out.AddText(text); }));
  return std::move(out).ToColumn(call.rows, {std::move(level)});
}

// --- Schemas ---

constexpr std::string_view kBadJson =
    " A text that is no JSON, or has something else there, is an error of the row.";

KernelSchema Schema(std::string name, std::string doc, std::string operand) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .operands = {{"x", std::move(operand)}},
          .arguments = {{.name = "path",
                         .type = ir::ArgumentType::kText,
                         .doc = "The way to the value: a.b[0] is the first item of the "
                                "member b of the member a; a[\"b.c\"] is for keys with "
                                "dots. The empty path is the whole text.",
                         .default_value = ""}},
          .fails = ir::Fails::kOnData};
}

ir::ArgumentSchema MissingArgument(ir::ArgumentType type) {
  return {.name = "missing",
          .type = type,
          .doc =
              "What to give where nothing or null is there; none is that the row is "
              "wrong.",
          .default_value = ir::Value(),
          .none_allowed = true};
}

template <typename T>
KernelSchema OneSchema(std::string name, std::string_view doc, ir::ArgumentType type) {
  KernelSchema schema =
      Schema(std::move(name), base::StrCat(doc, kBadJson), "JSON texts of any shape.");
  schema.arguments.push_back(MissingArgument(type));
  schema.infer = [](const KernelTypes& types) {
    return InferOne(types, kDTypeRead<T>);
  };
  schema.run = RunOne<T>;
  return schema;
}

template <typename T>
KernelSchema ItemsSchema(std::string name, std::string_view doc,
                         ir::ArgumentType type) {
  KernelSchema schema =
      Schema(std::move(name), base::StrCat(doc, kBadJson), "One JSON text per row.");
  schema.arguments.push_back(MissingArgument(type));
  schema.infer = [](const KernelTypes& types) {
    return InferItems(types, kDTypeRead<T>);
  };
  return schema;
}

}  // namespace

KernelSchema JsonIntKernel() {
  return OneSchema<int64_t>("json_int", "Reads a whole number in a JSON text.",
                            ir::ArgumentType::kInt);
}

KernelSchema JsonFloatKernel() {
  return OneSchema<double>("json_float", "Reads a number in a JSON text, as float64.",
                           ir::ArgumentType::kFloat);
}

KernelSchema JsonBoolKernel() {
  return OneSchema<bool>("json_bool", "Reads true or false in a JSON text.",
                         ir::ArgumentType::kBool);
}

KernelSchema JsonTextKernel() {
  return OneSchema<std::string>(
      "json_text",
      "Reads a string in a JSON text; of any other value, gives its JSON as it stands.",
      ir::ArgumentType::kText);
}

KernelSchema JsonIntsKernel() {
  KernelSchema schema = ItemsSchema<int64_t>(
      "json_ints", "Reads an array of whole numbers in a JSON text.",
      ir::ArgumentType::kInts);
  schema.run = RunNumbers<int64_t>;
  return schema;
}

KernelSchema JsonFloatsKernel() {
  KernelSchema schema = ItemsSchema<double>(
      "json_floats", "Reads an array of numbers in a JSON text, as float64.",
      ir::ArgumentType::kFloats);
  schema.run = RunNumbers<double>;
  return schema;
}

KernelSchema JsonTextsKernel() {
  KernelSchema schema = ItemsSchema<std::string>(
      "json_texts",
      "Reads an array of strings in a JSON text; of items that are none, gives their "
      "JSON as it stands.",
      ir::ArgumentType::kTexts);
  schema.run = RunTexts;
  return schema;
}

KernelSchema JsonHasKernel() {
  KernelSchema schema =
      Schema("json_has",
             "Tells whether a JSON text has a value other than null at a path. A text "
             "that is no JSON is an error of the row.",
             "JSON texts of any shape.");
  schema.infer = [](const KernelTypes& types) { return InferOne(types, DType::kBool); };
  schema.run = RunHas;
  return schema;
}

}  // namespace millrace::kernels
