#include "millrace/adapters/python/convert.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

#include "millrace/adapters/arrow/operators.h"
#include "millrace/adapters/python/from_generator.h"
#include "millrace/adapters/python/map_python.h"
#include "millrace/adapters/python/pipeline.h"
#include "millrace/adapters/python/plain.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/ops/library.h"

namespace millrace::python {
namespace {

constexpr absl::string_view kOfFunction = "millrace/function";

absl::StatusOr<core::Tensor> TensorOf(const Array& array) {
  const std::optional<core::DType> dtype = core::ParseDType(array.dtype);
  if (!dtype || core::IsVariable(*dtype)) {
    return absl::InvalidArgumentError(base::StrCat(
        "arrays of ", array.dtype, " are not known: use a type of numbers"));
  }
  const core::Shape shape(array.shape);
  const int64_t bytes = shape.Count() * core::SizeOf(*dtype);
  return core::Tensor::Fixed(*dtype, shape,
                             TRY(core::CopyBytes(array.data, bytes, core::HeapPool())));
}

core::Tensor TensorOf(const TextList& list) {
  const core::DType dtype = list.is_string ? core::DType::kString : core::DType::kBytes;
  return core::Tensor::FromTexts(list.texts, core::Shape(list.shape), dtype);
}

}  // namespace

void Check(const absl::Status& status) {
  if (status.ok()) return;
  const bool of_function = status.GetPayload(kOfFunction).has_value();
  throw Error(of_function ? "FUNCTION" : absl::StatusCodeToString(status.code()),
              std::string(base::ToStd(status.message())));
}

absl::Status OfFunction(absl::Status error) {
  error.SetPayload(kOfFunction, absl::Cord());
  return error;
}

void AddPythonOperators() {
  static const bool extended = [] {  // Once, before anybody uses it.
    ops::ExtendDefaultLibrary(arrow::AddOperators);
    ops::ExtendDefaultLibrary([](ops::Library& library) {
      library.Add(FromGeneratorDef());
      library.Add(MapPythonDef());
    });
    return true;
  }();
  CHECK(extended);
}

const ops::Library& Library() {
  AddPythonOperators();
  return ops::DefaultLibrary();
}

const ir::Catalog& Catalog() { return Library().catalog(); }

ir::Value ToValue(const Argument& argument) {
  return std::visit(
      []<typename T>(const T& value) -> ir::Value {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, std::vector<Argument>>) {
          ir::List list;
          for (const Argument& item : value) list.push_back(ToValue(item));
          return list;
        } else if constexpr (std::is_same_v<T, std::shared_ptr<const Attachment>> ||
                             std::is_same_v<T, std::shared_ptr<const Function>>) {
          return value->inner();
        } else {
          return value;
        }
      },
      argument.value);
}

ir::Arguments ToArguments(const NamedArguments& arguments) {
  ir::Arguments converted;
  for (const auto& [name, argument] : arguments) converted.Set(name, ToValue(argument));
  return converted;
}

absl::StatusOr<core::Tensor> ToTensor(const Plain& value) {
  return std::visit(
      []<typename T>(const T& plain) -> absl::StatusOr<core::Tensor> {
        if constexpr (std::is_same_v<T, Array> || std::is_same_v<T, TextList>) {
          return TensorOf(plain);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return core::Tensor::Text(plain);
        } else if constexpr (std::is_same_v<T, ByteString>) {
          return core::Tensor::Text(plain.bytes, core::DType::kBytes);
        } else {
          return core::Tensor::Scalar(plain);
        }
      },
      value);
}

Axes ToAxes(const core::Shape& shape) {
  if (!shape.ranked()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const int64_t size : shape.sizes()) {
    sizes.push_back(size == core::kUnknownSize ? -1 : size);
  }
  return sizes;
}

std::vector<FieldType> ToFields(const core::Spec& spec) {
  std::vector<FieldType> fields;
  for (const core::FieldSpec& field : spec.fields()) {
    fields.push_back({.name = field.name,
                      .dtype = std::string(core::Name(field.dtype)),
                      .shape = ToAxes(field.shape)});
  }
  return fields;
}

FieldType ToFieldType(const ir::ValueType& type) {
  return {.name = "",
          .dtype = std::string(core::Name(type.dtype)),
          .shape = ToAxes(type.shape),
          .weak = type.weak};
}

}  // namespace millrace::python
