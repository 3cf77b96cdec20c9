// The values inside columns and tensors, as loops see them: an address and a distance.
// Whatever the layout, the values of a column that holds no separate tensors lie side
// by side, in row-major order; only what lies above them (levels) differs. Plain views
// over memory that somebody else keeps alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

#include "millrace/core/column.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::kernels {

// Values of one operand at equal distances.
struct Values {
  const std::byte* data = nullptr;   // The first value; of texts, all their bytes.
  const int64_t* offsets = nullptr;  // Of texts: where the first begins and ends, ...
  int64_t value_bytes = 0;           // Of one value; 0 for texts.
  int64_t step = 1;          // From one value to the next; 0 is the same one again.
  int64_t offsets_each = 1;  // 2 where each text has a begin and an end of its own.

  // The same, beginning `distance` values further.
  Values From(int64_t distance) const;

  // Requires: values of T.
  template <typename T>
  const T* As() const {
    return reinterpret_cast<const T*>(data);
  }

  // Requires: texts.
  std::string_view TextAt(int64_t index) const {
    const int64_t* const begin = offsets + index * step * offsets_each;
    return {reinterpret_cast<const char*>(data) + begin[0],
            static_cast<size_t>(begin[1] - begin[0])};
  }
};

Values ValuesOf(const core::Tensor& tensor);

// Gives the same values another shape, without a copy. Requires: as many values.
core::Tensor Reshaped(const core::Tensor& tensor, const core::Shape& shape);

// Requires: not HoldsTensors(), as for all that follows.
Values ValuesOf(const core::Column& column);

// How many values (numbers, or texts) all rows have together.
int64_t CountValues(const core::Column& column);

// Tells whether the rows of two columns have the same shapes, row for row, however the
// levels say it.
bool SameShapes(const core::Column& a, const core::Column& b);

// Gives the levels of a column's shape so that its values start at 0, as those of a new
// column must.
absl::StatusOr<core::Levels> ShapeLevels(const core::Column& column, core::Pool& pool);

// Finds the row that holds a value. Requires: 0 <= index < CountValues(column).
int64_t RowOfValue(const core::Column& column, int64_t index);

}  // namespace millrace::kernels
