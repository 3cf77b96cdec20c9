// Collects a column that a plug-in writes row by row, into memory of the pool: side by
// side where the shape is known beforehand, else a value per row. Checks each row
// before it becomes part of a column: shape, offsets, UTF-8, bools. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/ir/type.h"
#include "millrace/kernels/value_writer.h"
#include "millrace/plugin/millrace_plugin.h"

namespace millrace::plugin {

class RowsWriter {
 public:
  // Makes room for `rows` rows of a type. `into` may be where they are wanted: of
  // exactly their size. Requires: the pool outlives it.
  static absl::StatusOr<RowsWriter> Open(const ir::ValueType& type, int64_t rows,
                                         core::Pool& pool,
                                         const core::Buffer* into = nullptr);

  // Gives room for the next row, once the one before is checked.
  absl::Status Allocate(MillraceRoom& room);

  // Gives all rows, once. An error when some are missing or the last one is wrong.
  absl::StatusOr<core::Column> ToColumn() &&;

 private:
  RowsWriter(ir::ValueType type, int64_t rows, core::Pool& pool)
      : type_(std::move(type)), rows_(rows), pool_(&pool) {}

  absl::Status AllocateValues(int64_t count, MillraceRoom& room);
  absl::Status AllocateTexts(int64_t count, MillraceRoom& room);
  absl::StatusOr<core::Buffer> TakeRoom(int64_t bytes, core::Buffer& room);

  // Takes the row that was written last, if it is as it must be.
  absl::Status TakeLast();
  absl::Status CheckTexts(absl::Span<const int64_t> offsets) const;
  absl::Status TakeTexts();

  ir::ValueType type_;
  int64_t rows_;
  core::Pool* pool_;
  int64_t allocated_ = 0;
  core::Buffer dense_;                         // All values, where the shape is known.
  std::optional<kernels::ValueWriter> texts_;  // The same of texts.
  core::Tensors tensors_;                      // Where it is not.

  // The row that is being written.
  bool writing_ = false;
  core::Shape shape_;
  core::Buffer values_;
  core::Buffer offsets_;

  // Where texts are written before they go behind the others.
  core::Buffer text_room_;
  core::Buffer offset_room_;
};

}  // namespace millrace::plugin
