#include "millrace/core/copy_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/base/bytes.h"
#include "millrace/base/check.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/core/allocator.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/run_copier.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::core {
namespace {

absl::Status TypesDiffer(DType a, DType b) {
  return absl::InvalidArgumentError(base::StrCat(
      "rows of different types cannot be joined: ", Name(a), " and ", Name(b)));
}

// Where the values of each source begin.
using Places = std::vector<const std::byte*>;

// Rows of a small size that the compiler knows: a run is mostly one row, and copying it
// takes an instruction or two.
template <int64_t kRowBytes>
void CopySmall(const Places& places, absl::Span<const RowRef> rows, std::byte* out) {
  for (const RowRef& ref : rows) {
    std::memcpy(out, places[ref.source] + ref.row * kRowBytes, kRowBytes);
    out += kRowBytes;
  }
}

void CopyLarge(const Places& places, absl::Span<const RowRef> rows, size_t row_bytes,
               std::byte* out) {
  const auto at = [&](const RowRef& ref) {
    return places[ref.source] + ref.row * row_bytes;
  };
  while (!rows.empty()) {
    const size_t run = RunLength(rows);
    const size_t bytes = run * row_bytes;
    if (run < rows.size()) PrefetchStart({at(rows[run]), row_bytes});
    if (bytes > 0) std::memcpy(out, at(rows[0]), bytes);
    out += bytes;
    rows.remove_prefix(run);
  }
}

// Dense rows of one shape.
absl::StatusOr<Column> GatherDense(absl::Span<const Column> columns,
                                   absl::Span<const RowRef> rows, Pool& pool) {
  const DType dtype = columns[0].dtype();
  const Shape shape = *columns[0].row_shape();
  const int64_t row_bytes = shape.Count() * SizeOf(dtype);
  const auto count = static_cast<int64_t>(rows.size());
  Buffer buffer = TRY(pool.Allocate((base::Bytes(row_bytes) * count).count()));
  Places places;
  for (const Column& column : columns) places.push_back(column.values().data());
  std::byte* const out = buffer.mutable_data();
  switch (row_bytes) {
    case 1:
      CopySmall<1>(places, rows, out);
      break;
    case 2:
      CopySmall<2>(places, rows, out);
      break;
    case 4:
      CopySmall<4>(places, rows, out);
      break;
    case 8:
      CopySmall<8>(places, rows, out);
      break;
    case 16:  // Row identities.
      CopySmall<16>(places, rows, out);
      break;
    default:
      CopyLarge(places, rows, row_bytes, out);
  }
  return Column::Dense(dtype, count, shape, std::move(buffer));
}

template <size_t kBytes>
void CopyPicked(const std::byte* values, absl::Span<const int64_t> rows,
                std::byte* out) {
  for (const int64_t row : rows) {
    std::memcpy(out, values + row * static_cast<int64_t>(kBytes), kBytes);
    out += kBytes;
  }
}

// The way for small rows of one dense column, which is what filters leave: no row needs
// to say where it comes from. False where rows are not that small.
bool PickSmall(int64_t row_bytes, const std::byte* values,
               absl::Span<const int64_t> rows, std::byte* out) {
  switch (row_bytes) {
    case 1:
      CopyPicked<1>(values, rows, out);
      return true;
    case 2:
      CopyPicked<2>(values, rows, out);
      return true;
    case 4:
      CopyPicked<4>(values, rows, out);
      return true;
    case 8:
      CopyPicked<8>(values, rows, out);
      return true;
    case 16:
      CopyPicked<16>(values, rows, out);
      return true;
    default:
      return false;
  }
}

bool AllDenseAlike(absl::Span<const Column> columns) {
  return std::ranges::all_of(columns, [&](const Column& column) {
    return column.IsDense() && column.row_shape() == columns[0].row_shape();
  });
}

// Same number of levels over plain values, so that runs can be moved level by level.
bool AllOfOneDepth(absl::Span<const Column> columns) {
  return std::ranges::all_of(columns, [&](const Column& column) {
    return !column.HoldsTensors() &&
           column.levels().size() == columns[0].levels().size();
  });
}

// How many levels all columns have above the tensors that some of them hold.
size_t DepthOfTensors(absl::Span<const Column> columns) {
  if (std::ranges::none_of(columns, &Column::HoldsTensors)) return 0;
  size_t depth = columns[0].shape_levels().size();
  for (const Column& column : columns) {
    depth = std::min(depth, column.shape_levels().size());
  }
  return depth;
}

absl::Status CheckSameType(absl::Span<const Column> columns) {
  CHECK(!columns.empty());
  for (const Column& column : columns) {
    if (column.dtype() != columns[0].dtype()) {
      return TypesDiffer(columns[0].dtype(), column.dtype());
    }
  }
  return absl::OkStatus();
}

// Apart from the copying, which is faster for it: the branches here are foreseen.
void CheckRows(absl::Span<const Column> columns, absl::Span<const RowRef> rows) {
  for (const RowRef& ref : rows) {
    CHECK_GE(ref.source, 0);
    CHECK_LT(ref.source, columns.size());
    CHECK_GE(ref.row, 0);
    CHECK_LT(ref.row, columns[ref.source].rows());
  }
}

// The same rows with one level more, where tensors have their leading axis.
absl::StatusOr<Column> SplitTensors(const Column& column, Pool& pool) {
  Tensors parts;
  std::vector<int64_t> offsets = {0};
  for (const Tensor& tensor : column.tensors()) {
    for (int64_t i = 0; i < tensor.shape()[0]; ++i) parts.push_back(tensor.Part(i));
    offsets.push_back(static_cast<int64_t>(parts.size()));
  }
  Levels levels = column.levels();
  const auto bytes = static_cast<int64_t>(offsets.size() * sizeof(int64_t));
  levels.push_back(Level::Variable(TRY(CopyBytes(offsets.data(), bytes, pool))));
  return Column::OfTensors(column.dtype(), std::move(parts))
      .Nest(column.rows(), std::move(levels));
}

bool CanHaveLevels(const Column& column, size_t depth) {
  if (column.shape_levels().size() >= depth) return true;
  return column.HoldsTensors() &&
         std::ranges::all_of(column.tensors(), [](const Tensor& tensor) {
           return tensor.shape().rank() > 0;
         });
}

// The way for columns of different layouts: tensors below as few levels as will do.
absl::StatusOr<Column> CopyAnyLayout(std::vector<Column> columns, const Runs& runs,
                                     Pool& pool) {
  for (size_t depth = DepthOfTensors(columns);;) {
    absl::StatusOr<Column> copied = RunCopier(columns, runs, pool).CopyByRow(depth);
    ++depth;
    const bool deeper = std::ranges::all_of(
        columns, [&](const Column& column) { return CanHaveLevels(column, depth); });
    if (!absl::IsInvalidArgument(copied.status()) || !deeper) return copied;
    for (Column& column : columns) {
      if (column.shape_levels().size() < depth)
        column = TRY(SplitTensors(column, pool));
    }
  }
}

absl::StatusOr<Column> CopyRuns(absl::Span<const Column> columns, Runs runs,
                                Pool& pool) {
  if (AllOfOneDepth(columns)) {
    return RunCopier(columns, std::move(runs), pool).CopyAll();
  }
  return CopyAnyLayout({columns.begin(), columns.end()}, runs, pool);
}

std::vector<Column> WithRows(absl::Span<const Column> columns) {
  std::vector<Column> with_rows;
  for (const Column& column : columns) {
    if (column.rows() > 0) with_rows.push_back(column);
  }
  return with_rows;
}

// Whether tensors have one rank, and the same sizes from axis `from` on.
bool AgreeFrom(const Tensors& rows, int from) {
  const Shape& first = rows[0].shape();
  return std::ranges::all_of(rows, [&](const Tensor& row) {
    const Shape& shape = row.shape();
    return shape.rank() == first.rank() && first.rank() >= from &&
           std::ranges::equal(shape.sizes().subspan(from), first.sizes().subspan(from));
  });
}

// A column of the one row that a tensor is.
absl::StatusOr<Column> OneRow(const Tensor& row) {
  Levels levels;
  for (const int64_t size : row.shape().sizes()) levels.push_back(Level::Fixed(size));
  if (IsVariable(row.dtype())) levels.push_back(Level::Variable(row.offsets()));
  return Column::FromLevels(row.dtype(), 1, std::move(levels), row.values());
}

// The values of rows or columns that lie side by side in one piece of memory, as one
// alone does, and as parts of a batch do that were written there.
template <typename Parts>
std::optional<Buffer> JoinInPlace(const Parts& parts) {
  Buffer values = parts[0].values();
  for (size_t i = 1; i < parts.size(); ++i) {
    if (!values.Precedes(parts[i].values())) return std::nullopt;
    values = values.JoinedWith(parts[i].values());
  }
  return values;
}

// Numbers, all of one shape; without a copy where they are joined already.
absl::StatusOr<Column> DenseFromRows(DType dtype, const Tensors& rows, Pool& pool) {
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t bytes = rows[0].values().size();
  if (std::optional<Buffer> joined = JoinInPlace(rows)) {
    return Column::Dense(dtype, count, rows[0].shape(), *std::move(joined));
  }
  Buffer values = TRY(pool.Allocate((base::Bytes(bytes) * count).count()));
  std::byte* out = values.mutable_data();
  for (const Tensor& row : rows) {
    if (bytes > 0) std::memcpy(out, row.values().data(), bytes);
    out += bytes;
  }
  return Column::Dense(dtype, count, rows[0].shape(), std::move(values));
}

// Columns that are joined already, as one.
std::optional<Column> AsOne(absl::Span<const Column> columns) {
  if (!AllDenseAlike(columns)) return std::nullopt;
  std::optional<Buffer> values = JoinInPlace(columns);
  if (!values) return std::nullopt;
  int64_t rows = 0;
  for (const Column& column : columns) rows += column.rows();
  return Column::Dense(columns[0].dtype(), rows, *columns[0].row_shape(),
                       *std::move(values));
}

}  // namespace

absl::StatusOr<Column> Concatenate(absl::Span<const Column> columns, Pool& pool) {
  TRY(CheckSameType(columns));
  const std::vector<Column> sources = WithRows(columns);
  if (sources.empty()) return columns[0];
  if (sources.size() == 1) return sources[0];
  if (std::optional<Column> joined = AsOne(sources)) return *std::move(joined);
  Runs runs;
  for (size_t i = 0; i < sources.size(); ++i) {
    runs.push_back({static_cast<int32_t>(i), {0, sources[i].rows()}});
  }
  return CopyRuns(sources, std::move(runs), pool);
}

absl::StatusOr<Column> Gather(absl::Span<const Column> columns,
                              absl::Span<const RowRef> rows, Pool& pool) {
  TRY(CheckSameType(columns));
  CheckRows(columns, rows);
  if (AllDenseAlike(columns)) return GatherDense(columns, rows, pool);
  return CopyRuns(columns, RunsOf(rows), pool);
}

absl::StatusOr<Column> Gather(const Column& column, absl::Span<const int64_t> rows,
                              Pool& pool) {
  for (const int64_t row : rows) CHECK(row >= 0 && row < column.rows()) << row;
  const auto count = static_cast<int64_t>(rows.size());
  if (column.IsDense()) {
    const Shape shape = *column.row_shape();
    const int64_t row_bytes = shape.Count() * SizeOf(column.dtype());
    Buffer values = TRY(pool.Allocate((base::Bytes(row_bytes) * count).count()));
    if (PickSmall(row_bytes, column.values().data(), rows, values.mutable_data())) {
      return Column::Dense(column.dtype(), count, shape, std::move(values));
    }
  }
  std::vector<RowRef> refs;
  refs.reserve(rows.size());
  for (const int64_t row : rows) refs.push_back({.source = 0, .row = row});
  return Gather(absl::MakeConstSpan(&column, 1), refs, pool);
}

absl::StatusOr<Column> FromRows(DType dtype, Tensors rows, Pool& pool) {
  for (const Tensor& row : rows) {
    if (row.dtype() != dtype) return TypesDiffer(dtype, row.dtype());
  }
  const bool dense = !rows.empty() && AgreeFrom(rows, 0);
  if (dense && !IsVariable(dtype)) return DenseFromRows(dtype, rows, pool);
  const bool ragged = !rows.empty() && AgreeFrom(rows, 1);
  if (!dense && !ragged) return Column::OfTensors(dtype, std::move(rows));
  std::vector<Column> columns;
  columns.reserve(rows.size());
  for (const Tensor& row : rows) columns.push_back(TRY(OneRow(row)));
  return Concatenate(columns, pool);
}

absl::StatusOr<Column> ToUniform(const Column& column, Pool& pool) {
  if (column.HasGaps()) return WithoutGaps(column, pool);
  if (column.row_shape().has_value() || column.rows() == 0) return column;
  Tensors rows;
  for (int64_t row = 0; row < column.rows(); ++row) {
    rows.push_back(TRY(RowOf(column, row, pool)));
    if (rows.back().shape() == rows.front().shape()) continue;
    return absl::InvalidArgumentError(
        base::StrCat("rows have different shapes: ", rows.front().shape().ToString(),
                     " and ", rows.back().shape().ToString()));
  }
  return FromRows(column.dtype(), std::move(rows), pool);
}

absl::StatusOr<Column> WithoutGaps(const Column& column, Pool& pool) {
  if (!column.HasGaps()) return column;
  return CopyRuns(absl::MakeConstSpan(&column, 1), {{0, {0, column.rows()}}}, pool);
}

absl::StatusOr<Column> Aligned(const Column& column, Pool& pool) {
  if (!column.IsDense() || column.rows() == 0) return column;
  const Buffer& values = column.values();
  if (reinterpret_cast<uintptr_t>(values.data()) % kAlignment == 0) return column;
  return Column::Dense(column.dtype(), column.rows(), *column.row_shape(),
                       TRY(CopyBytes(values.data(), values.size(), pool)));
}

}  // namespace millrace::core
