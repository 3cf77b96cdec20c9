#include "millrace/plugin/c_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/row_error.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {
namespace {

static_assert(MILLRACE_RANK_MAX == ir::kRankMax);
static_assert(MILLRACE_UNKNOWN == core::kUnknownSize);
static_assert(kMillraceBool == static_cast<int32_t>(core::DType::kBool));
static_assert(kMillraceInt64 == static_cast<int32_t>(core::DType::kInt64));
static_assert(kMillraceUint64 == static_cast<int32_t>(core::DType::kUint64));
static_assert(kMillraceFloat64 == static_cast<int32_t>(core::DType::kFloat64));
static_assert(kMillraceString == static_cast<int32_t>(core::DType::kString));
static_assert(kMillraceString == core::kAllDTypes.size() - 1);

MillraceValue ViewOf(const core::Tensor& tensor) {
  const bool texts = core::IsVariable(tensor.dtype());
  return {.dtype = static_cast<int32_t>(tensor.dtype()),
          .rank = tensor.shape().rank(),
          .sizes = tensor.shape().sizes().data(),
          .count = tensor.count(),
          .data = tensor.values().data(),
          .offsets = texts ? tensor.offsets().As<int64_t>().data() : nullptr};
}

}  // namespace

absl::Status Breach(std::string_view what) {
  return absl::FailedPreconditionError(base::ToAbsl(what));
}

std::string TextOf(const MillraceError& error) {
  const std::string text(std::begin(error.text), std::ranges::find(error.text, '\0'));
  return text.empty() ? "it fails and does not say why" : text;
}

MillraceType ToC(core::DType dtype, const core::Shape& shape) {
  MillraceType type = {};
  type.dtype = static_cast<int32_t>(dtype);
  type.rank = shape.ranked() ? shape.rank() : MILLRACE_UNKNOWN;
  if (shape.ranked()) {
    CHECK_LE(shape.rank(), MILLRACE_RANK_MAX);
    std::ranges::copy(shape.sizes(), type.sizes);
  }
  return type;
}

absl::StatusOr<core::Shape> ShapeFromC(int32_t rank, const int64_t* sizes) {
  if (rank < 0 || rank > MILLRACE_RANK_MAX || (rank > 0 && sizes == nullptr)) {
    return Breach(base::StrCat("gives a value of ", rank, " axes, or no sizes of it"));
  }
  core::Shape shape(absl::MakeConstSpan(sizes, static_cast<size_t>(rank)));
  const auto is_size = [](int64_t size) { return size >= core::kUnknownSize; };
  if (std::ranges::all_of(shape.sizes(), is_size)) return shape;
  return Breach(base::StrCat("gives a negative size in ", shape.ToString()));
}

absl::StatusOr<ir::ValueType> FromC(const MillraceType& type) {
  if (type.dtype < kMillraceBool || type.dtype > kMillraceString) {
    return Breach(base::StrCat("gives the dtype ", type.dtype, ", which is none"));
  }
  const auto dtype = static_cast<core::DType>(type.dtype);
  if (type.rank == MILLRACE_UNKNOWN) {
    return ir::ValueType{.dtype = dtype, .shape = core::Shape::Unranked()};
  }
  const core::Shape shape = TRY(ShapeFromC(type.rank, type.sizes));
  if (shape.IsKnown()) TRY(shape.CountChecked());
  return ir::ValueType{.dtype = dtype, .shape = shape};
}

std::vector<MillraceField> FieldsOf(const core::Spec& spec) {
  std::vector<MillraceField> fields;
  fields.reserve(spec.fields().size());
  for (const core::FieldSpec& field : spec.fields()) {
    fields.push_back({field.name.c_str(), ToC(field.dtype, field.shape)});
  }
  return fields;
}

std::vector<MillraceArgumentValue> ValuesOf(const ir::Arguments& arguments) {
  std::vector<MillraceArgumentValue> values;
  for (const ir::Argument& argument : arguments.all()) {
    MillraceArgumentValue value = {};
    if (const auto* flag = argument.value.If<bool>()) value.integer = *flag ? 1 : 0;
    if (const auto* integer = argument.value.If<int64_t>()) value.integer = *integer;
    if (const auto* number = argument.value.If<double>()) value.number = *number;
    if (const auto* text = argument.value.If<std::string>()) {
      value.text = text->c_str();
      value.text_size = static_cast<int64_t>(text->size());
    }
    values.push_back(value);
  }
  return values;
}

RowViews RowViews::OfTexts(const core::Column& column, int64_t rows) {
  RowViews views;
  views.ends_.reserve(2 * rows);
  views.values_.reserve(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const std::string_view text = column.TextAt(row);
    views.ends_.push_back(0);
    views.ends_.push_back(static_cast<int64_t>(text.size()));
    views.values_.push_back({.dtype = static_cast<int32_t>(column.dtype()),
                             .rank = 0,
                             .sizes = nullptr,
                             .count = 1,
                             .data = text.data(),
                             .offsets = views.ends_.data() + 2 * row});
  }
  return views;
}

absl::StatusOr<RowViews> RowViews::Of(const core::Column& column, int64_t rows,
                                      bool constant) {
  RowViews views;
  if (rows == 0) return views;
  const bool one = constant || column.IsDense();  // One shape for all rows.
  if (!one && core::IsVariable(column.dtype()) && !column.HoldsTensors() &&
      column.shape_levels().empty()) {
    return OfTexts(column, rows);
  }
  views.tensors_.reserve(one ? 1 : rows);
  views.values_.reserve(rows);
  for (int64_t row = 0; row < rows; ++row) {
    if (row == 0 || !one) {
      absl::StatusOr<core::Tensor> tensor = column.Row(row);
      if (!tensor.ok()) return kernels::RowErrorOf(row, tensor.status());
      views.tensors_.push_back(*std::move(tensor));
    }
    MillraceValue view = ViewOf(views.tensors_.back());
    if (one && !constant) {
      view.data = views.tensors_[0].values().data() +
                  row * view.count * core::SizeOf(column.dtype());
    }
    views.values_.push_back(view);
  }
  return views;
}

}  // namespace millrace::plugin
