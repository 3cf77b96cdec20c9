// Calls one kernel at a time, as an expression would, and makes the columns to call it
// with: for tests. Every call also checks that the inferred type admits the result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/argument_schema.h"
#include "millrace/ir/catalog.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/type.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/catalog.h"

namespace millrace::kernels {

// The catalog of all kernels.
inline const ir::Catalog& AllKernels() {
  static const ir::Catalog catalog = [] {
    ir::Catalog made;
    AddKernels(made);
    return made;
  }();
  return catalog;
}

// An operand with the type an expression would know of it.
struct Input {
  ir::Operand operand;
  ir::ValueType type;
};

// The closest type that admits every row.
inline ir::ValueType TypeOf(const core::Column& column) {
  ir::ValueType type = {.dtype = column.dtype(), .shape = core::Shape::Unranked()};
  for (int64_t row = 0; row < column.rows(); ++row) {
    const absl::StatusOr<core::Tensor> tensor = column.Row(row);
    if (!tensor.ok())
      return {.dtype = column.dtype(), .shape = core::Shape::Unranked()};
    type.shape = row == 0 ? tensor->shape() : core::Join(type.shape, tensor->shape());
  }
  return type;
}

inline Input Rows(const core::Column& column) {
  return {.operand = {.column = column}, .type = TypeOf(column)};
}

inline Input Constant(const core::Tensor& value, bool weak = false) {
  return {
      .operand = {.column = *core::FromRows(value.dtype(), {value}, core::HeapPool()),
                  .constant = true},
      .type = {.dtype = value.dtype(), .shape = value.shape(), .weak = weak}};
}

// A literal without a suffix.
template <typename T>
Input Weak(T value) {
  return Constant(core::Tensor::Scalar(value), true);
}

inline absl::StatusOr<ir::ValueType> InferKernel(
    std::string_view name, const std::vector<ir::ValueType>& types,
    const ir::Arguments& arguments = {}) {
  const ir::KernelSchema* kernel = TRY(AllKernels().FindKernel(name));
  const ir::Arguments checked = TRY(ir::CheckArguments(kernel->arguments, arguments));
  return kernel->infer({.operands = types, .arguments = checked});
}

inline absl::StatusOr<core::Column> CallKernel(std::string_view name,
                                               const std::vector<Input>& inputs,
                                               const ir::Arguments& arguments = {},
                                               const ir::Draws* draws = nullptr) {
  const ir::KernelSchema* kernel = TRY(AllKernels().FindKernel(name));
  const ir::Arguments checked = TRY(ir::CheckArguments(kernel->arguments, arguments));
  std::vector<ir::Operand> operands;
  std::vector<ir::ValueType> types;
  int64_t rows = draws == nullptr ? 1 : draws->rows->rows();
  for (const Input& input : inputs) {
    operands.push_back(input.operand);
    types.push_back(input.type);
    if (!input.operand.constant) rows = input.operand.column.rows();
  }
  const ir::ValueType type = TRY(InferKernel(name, types, arguments));
  core::Column result = TRY(kernel->run({.rows = rows,
                                         .operands = operands,
                                         .operand_types = types,
                                         .type = type,
                                         .arguments = checked,
                                         .draws = draws,
                                         .pool = core::HeapPool()}));
  CHECK_EQ(result.rows(), rows);
  const absl::Status admitted =
      core::CheckAdmits({std::string(name), type.dtype, type.shape}, result);
  if (!admitted.ok()) return absl::InternalError(admitted.message());
  return result;
}

// --- Making columns ---

template <typename T>
core::Tensor Tensor1(std::initializer_list<T> values) {
  return core::Tensor::FromValues<T>(values, {static_cast<int64_t>(values.size())});
}

// One scalar per row.
template <typename T>
core::Column ScalarRows(std::initializer_list<T> values) {
  core::Tensors rows;
  for (const T value : values) rows.push_back(core::Tensor::Scalar(value));
  return *core::FromRows(core::kDTypeOf<T>, std::move(rows), core::HeapPool());
}

inline core::Column TextRows(const std::vector<std::string>& texts,
                             core::DType dtype = core::DType::kString) {
  core::Tensors rows;
  for (const std::string& text : texts) {
    rows.push_back(core::Tensor::Text(text, dtype));
  }
  return *core::FromRows(dtype, std::move(rows), core::HeapPool());
}

// The same texts, one per row, with something else between them.
inline core::Column WithGaps(const core::Tensors& rows) {
  std::string bytes = "?";
  std::vector<int64_t> places;
  for (const core::Tensor& row : rows) {
    places.push_back(static_cast<int64_t>(bytes.size()));
    bytes += row.TextAt(0);
    places.push_back(static_cast<int64_t>(bytes.size()));
    bytes += "?";
  }
  const auto copy = [](const void* from, size_t size) {
    return *core::CopyBytes(from, static_cast<int64_t>(size), core::HeapPool());
  };
  return core::Column::TextsWithGaps(
      rows[0].dtype(), static_cast<int64_t>(rows.size()),
      copy(places.data(), places.size() * sizeof(int64_t)),
      copy(bytes.data(), bytes.size()));
}

// The same rows in every layout that can hold them: by levels, a tensor per row, as a
// part of a longer column, so that nothing starts at 0, and with gaps.
inline std::vector<core::Column> Layouts(const core::Tensors& rows) {
  CHECK(!rows.empty());
  const core::DType dtype = rows[0].dtype();
  core::Tensors longer = {rows.back()};
  longer.insert(longer.end(), rows.begin(), rows.end());
  longer.push_back(rows.front());
  const auto size = static_cast<int64_t>(rows.size());
  std::vector<core::Column> layouts = {
      *core::FromRows(dtype, rows, core::HeapPool()),
      core::Column::OfTensors(dtype, rows),
      core::FromRows(dtype, longer, core::HeapPool())->Slice(1, size),
      core::Column::OfTensors(dtype, longer).Slice(1, size)};
  const bool texts =
      core::IsVariable(dtype) && std::ranges::all_of(rows, [](const core::Tensor& row) {
        return row.shape().is_scalar();
      });
  if (texts) layouts.push_back(WithGaps(longer).Slice(1, size));
  return layouts;
}

// --- Looking into columns ---

// The rows as text, for messages and comparisons: "int64 1; int64[2] [3, 4]".
inline std::string Shown(const core::Column& column) {
  std::string text;
  for (int64_t row = 0; row < column.rows(); ++row) {
    const absl::StatusOr<core::Tensor> tensor = column.Row(row);
    text += row == 0 ? "" : "; ";
    text += tensor.ok() ? tensor->ToString() : std::string("(not rectangular)");
  }
  return text;
}

inline std::string Shown(const absl::StatusOr<core::Column>& column) {
  return column.ok() ? Shown(*column) : column.status().ToString();
}

}  // namespace millrace::kernels
