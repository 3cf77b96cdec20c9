#include "millrace/ops/transform/padding.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/block.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/spec.h"
#include "millrace/core/tensor.h"

namespace millrace::ops {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;
using Sizes = absl::InlinedVector<int64_t, 4>;

// The pad value as a type stores it; nothing where the type cannot.
template <typename T>
std::optional<T> PadAs(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (value != 0 && value != 1) return std::nullopt;
    return value == 1;
  } else if constexpr (std::is_integral_v<T>) {
    // Both bounds are powers of two, or zero: exact as doubles.
    const auto least = static_cast<double>(std::numeric_limits<T>::min());
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!(value >= least && value < beyond)) return std::nullopt;
    const T stored = static_cast<T>(value);
    return static_cast<double>(stored) == value ? std::optional<T>(stored)
                                                : std::nullopt;
  } else if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return static_cast<T>(static_cast<float>(value));
  }
}

// Whether rows may differ in shape.
bool MayDiffer(const core::FieldSpec& field) {
  return !field.shape.ranked() || !field.shape.IsKnown();
}

absl::Status CheckRank(const Tensor& first, const Tensor& row) {
  if (first.shape().rank() == row.shape().rank()) return absl::OkStatus();
  return absl::InvalidArgumentError(base::StrCat(
      "padding needs rows with the same number of axes, not ", first.shape().ToString(),
      " and ", row.shape().ToString(), "; reshape them in a map before"));
}

// Copies values to the front corner of larger ones, and fills what is behind them on
// each axis. Gives where it ended. Requires: at least one axis.
template <typename T>
T* CopyPadded(const T*& from, absl::Span<const int64_t> own,
              absl::Span<const int64_t> sizes, T pad, T* to) {
  int64_t padded = sizes[0] - own[0];
  if (own.size() == 1) {
    to = std::copy_n(from, own[0], to);
    from += own[0];
  } else {
    const auto own_below = own.subspan(1);
    const auto below = sizes.subspan(1);
    for (int64_t i = 0; i < own[0]; ++i) {
      to = CopyPadded(from, own_below, below, pad, to);
    }
    for (const int64_t size : below) padded *= size;
  }
  return std::fill_n(to, padded, pad);
}

// A shape as far as padding goes: axes that are not padded are part of the one before.
struct PaddedShape {
  Sizes own;
  Sizes sizes;
};

PaddedShape Flattened(const Shape& own, const Shape& padded) {
  PaddedShape flat{{1}, {1}};
  for (size_t axis = own.sizes().size(); axis-- > 0;) {
    const int64_t size = own.sizes()[axis];
    flat.own[0] *= size;
    flat.sizes[0] *= padded.sizes()[axis];
    if (axis == 0 || size == padded.sizes()[axis]) continue;
    flat.own.insert(flat.own.begin(), 1);
    flat.sizes.insert(flat.sizes.begin(), 1);
  }
  return flat;
}

// The largest size on every axis.
absl::StatusOr<Shape> LargestShape(const core::Tensors& rows) {
  Sizes sizes(rows[0].shape().sizes().begin(), rows[0].shape().sizes().end());
  for (const Tensor& row : rows) {
    TRY(CheckRank(rows[0], row));
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      sizes[axis] = std::max(sizes[axis], row.shape().sizes()[axis]);
    }
  }
  return Shape(sizes);
}

// The rows of one field, as tensors.
absl::StatusOr<core::Tensors> RowsOf(const core::Column& column) {
  core::Tensors rows;
  for (int64_t row = 0; row < column.rows(); ++row) {
    absl::StatusOr<Tensor> value = column.Row(row);
    if (!value.ok()) {
      return base::Annotate(value.status(),
                            "what pads rows does not pad what is ragged within one");
    }
    rows.push_back(*std::move(value));
  }
  return rows;
}

// The size that an axis is padded to.
Shape Rounded(const Shape& shape, const Shape& known, const PadRule& rule) {
  CHECK(!known.ranked() || known.rank() == shape.rank());
  const int64_t multiple = rule.to_multiple_of.value_or(1);
  Sizes sizes(shape.sizes().begin(), shape.sizes().end());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    const bool is_known = known.ranked() && known.sizes()[axis] != core::kUnknownSize;
    if (is_known) continue;
    if (axis == 0) sizes[0] = std::max(sizes[0], rule.leading_at_least.value_or(0));
    sizes[axis] = (sizes[axis] + multiple - 1) / multiple * multiple;
  }
  return Shape(sizes);
}

// Rows side by side, each padded to one shape.
absl::StatusOr<core::Buffer> PaddedValues(DType dtype, const core::Tensors& rows,
                                          const Shape& padded, double value,
                                          core::Pool& pool) {
  const int64_t count = TRY(padded.WithLeading(std::ssize(rows)).CountChecked());
  return core::VisitDType(dtype, [&]<typename T>() -> absl::StatusOr<core::Buffer> {
    core::Buffer values = TRY(pool.AllocateFor<T>(count));
    T* to = values.MutableAs<T>().data();
    for (const Tensor& row : rows) {
      const PaddedShape flat = Flattened(row.shape(), padded);
      const T* from = row.values().As<T>().data();
      to = CopyPadded<T>(from, flat.own, flat.sizes, *PadAs<T>(value), to);
    }
    return values;
  });
}

// Texts must have one shape, as in a plain batch.
absl::StatusOr<core::Column> PaddedColumn(const core::Column& column,
                                          const PadRule& rule, const Shape& known,
                                          core::Pool& pool) {
  if (core::IsVariable(column.dtype())) return core::ToUniform(column, pool);
  const std::optional<Shape> same = column.row_shape();
  if (same && Rounded(*same, known, rule) == *same) return column;
  const core::Tensors rows = TRY(RowsOf(column));
  const Shape padded = Rounded(TRY(LargestShape(rows)), known, rule);
  core::Buffer values =
      TRY(PaddedValues(column.dtype(), rows, padded, rule.value, pool));
  return core::Column::Dense(column.dtype(), column.rows(), padded, std::move(values));
}

}  // namespace

bool CanHold(DType dtype, double value) {
  return core::VisitDType(dtype,
                          [&]<typename T>() { return PadAs<T>(value).has_value(); });
}

absl::StatusOr<core::Buffer> Filled(DType dtype, const Shape& shape, double value,
                                    core::Pool& pool) {
  const int64_t count = TRY(shape.CountChecked());
  return core::VisitDType(dtype, [&]<typename T>() -> absl::StatusOr<core::Buffer> {
    core::Buffer values = TRY(pool.AllocateFor<T>(count));
    std::ranges::fill(values.MutableAs<T>(), *PadAs<T>(value));
    return values;
  });
}

absl::Status CheckPadValue(double value, const core::Spec& rows) {
  for (const core::FieldSpec& field : rows.fields()) {
    const bool pads = MayDiffer(field) && !core::IsVariable(field.dtype);
    if (!pads || CanHold(field.dtype, value)) continue;
    return absl::InvalidArgumentError(
        base::StrCat("argument pad_value is ", value, ", which field ", field.name,
                     " of ", core::Name(field.dtype), " cannot hold"));
  }
  return absl::OkStatus();
}

absl::StatusOr<core::Block> Padded(const core::Block& rows, const PadRule& rule,
                                   const core::Spec& spec, core::Pool& pool) {
  std::vector<core::Column> columns;
  for (size_t i = 0; i < rows.columns().size(); ++i) {
    const core::FieldSpec* const field = spec.Find(rows.names()[i]);
    absl::StatusOr<core::Column> padded =
        PaddedColumn(rows.columns()[i], rule, field->shape, pool);
    if (!padded.ok()) {
      return base::Annotate(padded.status(), base::StrCat("field ", rows.names()[i]));
    }
    columns.push_back(*std::move(padded));
  }
  const core::Block padded(rows.rows(), rows.shared_names(), std::move(columns));
  return rows.has_ids() ? padded.WithIds(*rows.ids()) : padded;
}

}  // namespace millrace::ops
