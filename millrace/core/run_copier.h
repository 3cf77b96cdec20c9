// Moves runs of rows of several columns into a new one, level by level: what Gather and
// Concatenate are made of, and nobody else calls. A copier serves once, on one thread.
// Costs a few nanoseconds per run and level, and a memcpy per run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/copy_rows.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"

namespace millrace::core {

// Neighbouring values of one source, at some level.
struct Run {
  int32_t source = 0;
  Extent extent;
};

using Runs = std::vector<Run>;

// Counts the rows that lie one after another in one source, from the first on. Here, as
// the next, because it is called for every row. Requires: at least one row.
inline size_t RunLength(absl::Span<const RowRef> rows) {
  size_t length = 1;
  while (length < rows.size() && rows[length].source == rows[0].source &&
         rows[length].row == rows[length - 1].row + 1) {
    ++length;
  }
  return length;
}

// Asks for the start of what is copied next: where rows lie in random order the
// hardware cannot foresee it. Saves a quarter of the time of 4 KiB rows that are in no
// cache.
inline void PrefetchStart(absl::Span<const std::byte> bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 8 * kLine;
  if (bytes.size() < kAhead) return;
  for (size_t i = 0; i < kAhead; i += kLine) __builtin_prefetch(bytes.data() + i);
}

// Finds the runs that the rows, in their order, are made of.
Runs RunsOf(absl::Span<const RowRef> rows);

// Gives one row as a tensor. A batch of tensors becomes one by a copy; an error when
// they differ in shape.
absl::StatusOr<Tensor> RowOf(const Column& column, int64_t row, Pool& pool);

class RunCopier {
 public:
  // Requires: at least one column, and the runs lie inside them.
  RunCopier(absl::Span<const Column> columns, Runs runs, Pool& pool);

  // Copies the fast way. Requires: all columns have as many levels, over plain values.
  absl::StatusOr<Column> CopyAll();

  // Copies knowing no layout below the first `depth` levels: a tensor for each row that
  // lies there. Requires: all columns have so many levels.
  absl::StatusOr<Column> CopyByRow(size_t depth);

 private:
  absl::StatusOr<Levels> CopyLevels(size_t depth);

  // Gives the new level, and moves the runs to what lies below it.
  absl::StatusOr<Level> CopyLevel(size_t depth);
  absl::StatusOr<Buffer> CopyOffsets(size_t depth);

  // The one fixed size that all columns with rows to copy have at a level.
  std::optional<int64_t> CommonSize(size_t depth) const;

  absl::StatusOr<Buffer> CopyValues() const;
  absl::StatusOr<Tensors> TensorsBelow(size_t depth) const;

  const absl::Span<const Column> columns_;
  Runs runs_;  // At the level where the copying stands.
  Pool& pool_;
  int64_t total_ = 0;  // Of values in all runs.
};

}  // namespace millrace::core
