#include "millrace/ops/source/packed_rows.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/attachment.h"

namespace millrace::ops {
namespace {

using core::Shape;
using core::Tensor;

const Tensor* FindField(const GivenRow& row, const std::string& name) {
  const auto found =
      std::ranges::find(row, name, &std::pair<std::string, Tensor>::first);
  return found == row.end() ? nullptr : &found->second;
}

// "int64 with 2 axes".
std::string TypeOf(const Tensor& value) {
  return base::StrCat(core::Name(value.dtype()), " with ", value.shape().rank(),
                      value.shape().rank() == 1 ? " axis" : " axes");
}

absl::Status CheckOnce(const GivenRow& row, int64_t number) {
  for (const auto& [name, value] : row) {
    if (FindField(row, name) == &value) continue;
    return absl::InvalidArgumentError(
        base::StrCat("row ", number, " has the field ", name, " twice"));
  }
  return absl::OkStatus();
}

absl::Status CheckLike(const GivenRow& first, const GivenRow& row, int64_t number) {
  for (const auto& [name, value] : first) {
    const Tensor* const other = FindField(row, name);
    if (other == nullptr) {
      return absl::InvalidArgumentError(
          base::StrCat("row ", number, " has no field ", name, ", which row 0 has"));
    }
    if (TypeOf(*other) == TypeOf(value)) continue;
    return absl::InvalidArgumentError(
        base::StrCat("row ", number, ": field ", name, " is ", TypeOf(*other),
                     ", but in row 0 it is ", TypeOf(value)));
  }
  for (const auto& [name, value] : row) {
    if (FindField(first, name) != nullptr) continue;
    return absl::InvalidArgumentError(
        base::StrCat("row ", number, " has a field ", name, ", which row 0 has not"));
  }
  return absl::OkStatus();
}

// All values of a field in one tensor of one axis.
Tensor JoinValues(absl::Span<const Tensor* const> rows) {
  const core::DType dtype = rows[0]->dtype();
  int64_t count = 0;
  std::vector<std::string> texts;
  std::string bytes;
  for (const Tensor* const row : rows) {
    count += row->count();
    if (!core::IsVariable(dtype)) {
      bytes += row->values().text();
      continue;
    }
    for (int64_t i = 0; i < row->count(); ++i) texts.emplace_back(row->TextAt(i));
  }
  if (core::IsVariable(dtype)) return Tensor::FromTexts(texts, {count}, dtype);
  return Tensor::Fixed(
      dtype, {count},
      *core::CopyBytes(bytes.data(), std::ssize(bytes), core::HeapPool()));
}

Tensor JoinShapes(absl::Span<const Tensor* const> rows) {
  std::vector<int64_t> sizes;
  for (const Tensor* const row : rows) {
    const absl::Span<const int64_t> own = row->shape().sizes();
    sizes.insert(sizes.end(), own.begin(), own.end());
  }
  return Tensor::FromValues<int64_t>(sizes,
                                     {std::ssize(rows), rows[0]->shape().rank()});
}

// Part of a tensor of one axis, in another shape.
Tensor PartOf(const Tensor& values, int64_t begin, const Shape& shape) {
  const int64_t count = shape.Count();
  if (!core::IsVariable(values.dtype())) {
    const int64_t bytes = core::SizeOf(values.dtype());
    return Tensor::Fixed(values.dtype(), shape,
                         values.values().Slice(begin * bytes, count * bytes));
  }
  constexpr int64_t kOffsetBytes = sizeof(int64_t);
  return Tensor::Texts(
      values.dtype(), shape,
      values.offsets().Slice(begin * kOffsetBytes, (count + 1) * kOffsetBytes),
      values.values());
}

}  // namespace

absl::StatusOr<PackedRows> PackRows(absl::Span<const GivenRow> rows) {
  if (rows.empty()) {
    return absl::InvalidArgumentError(
        "there must be one row at least: it says what "
        "fields there are");
  }
  for (int64_t number = 0; number < std::ssize(rows); ++number) {
    TRY(CheckOnce(rows[number], number));
    TRY(CheckLike(rows[0], rows[number], number));
  }
  PackedRows packed;
  for (const auto& [name, value] : rows[0]) {
    std::vector<const Tensor*> column;
    for (const GivenRow& row : rows) column.push_back(FindField(row, name));
    packed.names.push_back(name);
    packed.values.push_back(ir::EncodeTensor(JoinValues(column)));
    packed.shapes.push_back(ir::EncodeTensor(JoinShapes(column)));
  }
  return packed;
}

absl::StatusOr<std::vector<Shape>> ReadShapes(const ir::Attachment& shapes) {
  const Tensor sizes = TRY(ir::DecodeTensor(shapes));
  if (sizes.dtype() != core::DType::kInt64 || sizes.shape().rank() != 2) {
    return absl::InvalidArgumentError(base::StrCat(
        "argument shapes must hold int64[rows, axes], not ", sizes.ToString()));
  }
  const int64_t axes = sizes.shape()[1];
  std::vector<Shape> read;
  for (int64_t row = 0; row < sizes.shape()[0]; ++row) {
    read.emplace_back(sizes.As<int64_t>().subspan(row * axes, axes));
    if (read.back().IsKnown() && read.back().CountChecked().ok()) continue;
    return absl::InvalidArgumentError(
        base::StrCat("argument shapes has an impossible shape in row ", row));
  }
  return read;
}

absl::StatusOr<core::Column> ReadColumn(const ir::Attachment& values,
                                        absl::Span<const Shape> shapes) {
  const Tensor all = TRY(ir::DecodeTensor(values));
  core::Tensors rows;
  int64_t begin = 0;
  for (const Shape& shape : shapes) {
    if (all.shape().rank() != 1 || shape.Count() > all.count() - begin) break;
    rows.push_back(PartOf(all, begin, shape));
    begin += shape.Count();
  }
  if (rows.size() != shapes.size() || begin != all.count()) {
    return absl::InvalidArgumentError(base::StrCat("argument values has ",
                                                   all.shape().ToString(),
                                                   " values, not those of the shapes"));
  }
  return core::FromRows(all.dtype(), std::move(rows), core::HeapPool());
}

}  // namespace millrace::ops
