// Collects the values of a result in the order in which they are computed: fixed-size
// ones straight into a pooled buffer, texts with their ends beside them. Kernels write
// into it and take a tensor or a column out of it, once. One thread. Texts cost one
// copy more than they would need, because their length is not known beforehand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/check.h"
#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/shape.h"
#include "millrace/core/tensor.h"

namespace millrace::kernels {

class ValueWriter {
 public:
  // Makes room for `count` values.
  static absl::StatusOr<ValueWriter> Open(core::DType dtype, int64_t count,
                                          core::Pool& pool);

  // Writes into memory that is there already. Requires: no texts, `into` is exactly
  // what is to be written, and nobody reads it yet.
  static ValueWriter Into(core::DType dtype, core::Buffer into, core::Pool& pool);

  // Gives the place of the next `count` values, for the caller to fill.
  // Requires: values of T's size, not texts, and so many are still missing.
  template <typename T>
  T* Take(int64_t count) {
    CHECK_EQ(core::SizeOf(dtype_), sizeof(T));
    return reinterpret_cast<T*>(TakeBytes(count * static_cast<int64_t>(sizeof(T))));
  }

  // Adds a part to the text being written. Requires: texts.
  void AddPart(std::string_view part) { texts_.append(part); }

  // Ends the text being written; the next part begins another.
  void EndText() { ends_.push_back(static_cast<int64_t>(texts_.size())); }

  // Adds a whole text.
  void AddText(std::string_view text) {
    AddPart(text);
    EndText();
  }

  // Gives what was written as one value. Requires: as many values as the shape says.
  absl::StatusOr<core::Tensor> ToTensor(const core::Shape& shape) &&;

  // Gives it as rows of one shape. Requires: as many values as rows and shape say.
  absl::StatusOr<core::Column> ToColumn(int64_t rows, const core::Shape& row_shape) &&;

  // Gives it as rows under levels that describe their shapes.
  absl::StatusOr<core::Column> ToColumn(int64_t rows, core::Levels shape_levels) &&;

 private:
  ValueWriter(core::DType dtype, core::Buffer values, core::Pool& pool);

  std::byte* TakeBytes(int64_t bytes);

  // Moves texts and their ends into pooled buffers.
  absl::StatusOr<core::Buffer> TakeEnds();
  absl::StatusOr<core::Buffer> TakeValues();

  core::DType dtype_;
  core::Pool* pool_;
  core::Buffer values_;  // Of fixed-size types.
  int64_t written_bytes_ = 0;
  std::string texts_;  // Of texts, like what follows.
  std::vector<int64_t> ends_;
};

}  // namespace millrace::kernels
