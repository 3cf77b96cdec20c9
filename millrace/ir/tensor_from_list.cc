#include "millrace/ir/tensor_from_list.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/value.h"

namespace millrace::ir {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;

Shape ShapeOf(const Value& list) {
  absl::InlinedVector<int64_t, 4> sizes;
  const Value* value = &list;
  while (const List* items = value->If<List>()) {
    sizes.push_back(static_cast<int64_t>(items->size()));
    if (items->empty()) break;
    value = &items->front();
  }
  return Shape(sizes);
}

// Collects the items in order; every list must be as long as the first at its depth.
absl::Status Flatten(const Value& value, const Shape& shape, int depth,
                     std::vector<const Value*>& items) {
  const List* list = value.If<List>();
  const bool deeper = depth < shape.rank();
  if (deeper != (list != nullptr) ||
      (deeper && static_cast<int64_t>(list->size()) != shape[depth])) {
    return absl::InvalidArgumentError("the lists of an array differ in length");
  }
  if (!deeper) {
    items.push_back(&value);
    return absl::OkStatus();
  }
  for (const Value& item : *list) TRY(Flatten(item, shape, depth + 1, items));
  return absl::OkStatus();
}

// The item as it was written, where that is short.
std::string Written(const Value& item) {
  if (const auto* integer = item.If<int64_t>(); integer != nullptr) {
    return base::StrCat(*integer);
  }
  if (const auto* number = item.If<double>(); number != nullptr) {
    return base::ShortestText(*number);
  }
  return std::string(item.KindName());
}

absl::Status WrongItem(const Value& item, DType dtype) {
  return absl::InvalidArgumentError(
      base::StrCat("an array of ", core::Name(dtype), " cannot hold ", Written(item)));
}

template <typename T>
absl::StatusOr<T> ConvertFloat(const Value& item, double number) {
  if constexpr (std::is_same_v<T, double>) {
    return number;
  } else {
    const T value(static_cast<float>(number));
    const bool finite = std::isfinite(static_cast<float>(value));
    if (finite || !std::isfinite(number)) return value;
    return WrongItem(item, core::kDTypeOf<T>);
  }
}

template <typename T>
absl::StatusOr<T> Convert(const Value& item) {
  const bool* flag = item.If<bool>();
  const auto* integer = item.If<int64_t>();
  const auto* number = item.If<double>();
  if constexpr (std::is_same_v<T, bool>) {
    if (flag != nullptr) return *flag;
  } else if constexpr (std::is_integral_v<T>) {
    if (integer != nullptr && std::in_range<T>(*integer)) {
      return static_cast<T>(*integer);
    }
  } else {
    if (number != nullptr) return ConvertFloat<T>(item, *number);
    if (integer != nullptr) return ConvertFloat<T>(item, static_cast<double>(*integer));
  }
  return WrongItem(item, core::kDTypeOf<T>);
}

absl::StatusOr<Tensor> FromTextItems(const std::vector<const Value*>& items,
                                     const Shape& shape, DType dtype) {
  std::vector<std::string> texts;
  for (const Value* item : items) {
    if (item->If<std::string>() == nullptr) return WrongItem(*item, dtype);
    texts.push_back(item->As<std::string>());
  }
  return Tensor::FromTexts(texts, shape, dtype);
}

}  // namespace

absl::StatusOr<Tensor> TensorFromList(const Value& list, DType dtype) {
  const Shape shape = ShapeOf(list);
  std::vector<const Value*> items;
  TRY(Flatten(list, shape, 0, items));
  if (core::IsVariable(dtype)) return FromTextItems(items, shape, dtype);
  return core::VisitDType(dtype, [&]<typename T>() -> absl::StatusOr<Tensor> {
    // Not std::vector<T>: that of bool has no contiguous values.
    const auto values = std::make_unique<T[]>(items.size());
    for (size_t i = 0; i < items.size(); ++i) values[i] = TRY(Convert<T>(*items[i]));
    return Tensor::FromValues<T>(absl::MakeConstSpan(values.get(), items.size()),
                                 shape);
  });
}

}  // namespace millrace::ir
