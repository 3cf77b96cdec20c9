// Collects a result row by row, each written in place by the kernel: into one dense
// buffer (result_buffer.h) where the shape is known beforehand, else into a tensor per
// row. Nothing is copied afterwards. For kernels that make large rows. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "millrace/core/buffer.h"
#include "millrace/core/column.h"
#include "millrace/core/shape.h"
#include "millrace/ir/kernel.h"

namespace millrace::kernels {

class ResultRows {
 public:
  // Requires: the call outlives it, and its result is no text.
  static absl::StatusOr<ResultRows> Open(const ir::KernelCall& call);

  // Gives the place of the next row, which will have this shape.
  // Requires: the inferred type admits it, and rows are still missing.
  absl::StatusOr<std::byte*> Take(const core::Shape& shape);

  // The same as values of one type. Requires: of that size.
  template <typename T>
  absl::StatusOr<T*> TakeAs(const core::Shape& shape) {
    absl::StatusOr<std::byte*> place = Take(shape);
    if (!place.ok()) return place.status();
    return reinterpret_cast<T*>(*place);
  }

  // Gives all rows, once. Requires: none is missing.
  core::Column ToColumn() &&;

 private:
  explicit ResultRows(const ir::KernelCall& call) : call_(&call) {}

  const ir::KernelCall* call_;
  bool dense_ = false;
  core::Buffer values_;    // Where dense.
  core::Tensors tensors_;  // Where not.
  int64_t taken_ = 0;
};

// Takes one row's place and fills it.
using WriteRow = absl::FunctionRef<absl::Status(int64_t row, ResultRows& out)>;

// Writes all rows of a call. An error is about the first row that fails; those that
// say the row itself is wrong (InvalidArgument) become row errors.
absl::StatusOr<core::Column> WriteRows(const ir::KernelCall& call, WriteRow write);

}  // namespace millrace::kernels
