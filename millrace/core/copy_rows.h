// Makes new columns from rows of others: the only functions of this layer that move
// bytes. Rows are moved run by run (one copy per run of neighbouring rows), so that
// large rows cost what memcpy costs. Layouts may differ between the sources: the result
// takes the least general layout that holds them all. Rows that no layout holds
// together (a ragged one beside a number) are an error.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"

namespace millrace::core {

// A row of one of several sources.
struct RowRef {
  int32_t source = 0;
  int64_t row = 0;
};

// Joins columns of one type, in order. Requires: at least one. What it gives may have
// gaps only if one column alone has rows.
absl::StatusOr<Column> Concatenate(absl::Span<const Column> columns, Pool& pool);

// Takes rows from several columns of one type, in the order given.
// Requires: at least one column, and each row is there; so too below.
absl::StatusOr<Column> Gather(absl::Span<const Column> columns,
                              absl::Span<const RowRef> rows, Pool& pool);

// Takes rows of one column.
absl::StatusOr<Column> Gather(const Column& column, absl::Span<const int64_t> rows,
                              Pool& pool);

// Makes a column from a tensor per row: dense where all shapes are equal, ragged where
// only the first sizes differ, else a tensor per row. An error when types differ.
absl::StatusOr<Column> FromRows(DType dtype, Tensors rows, Pool& pool);

// Gives every row the one shape it must have to be stacked: the column itself where the
// layout is fixed. An error naming two shapes that differ.
absl::StatusOr<Column> ToUniform(const Column& column, Pool& pool);

// Gives texts that touch: the column itself where they do.
absl::StatusOr<Column> WithoutGaps(const Column& column, Pool& pool);

// Gives a dense column whose values begin where frameworks want them to, at a multiple
// of kAlignment: the column itself where they do, and where it is not dense.
absl::StatusOr<Column> Aligned(const Column& column, Pool& pool);

}  // namespace millrace::core
