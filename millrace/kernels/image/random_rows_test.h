// For tests: rows with identities, to call random kernels with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "millrace/base/random.h"
#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/ir/kernel.h"
#include "millrace/ir/value.h"
#include "millrace/kernels/call_kernel.h"
#include "millrace/kernels/image/samples_test.h"

namespace millrace::kernels {

// Calls a random kernel with a column.
inline absl::StatusOr<core::Column> CallRandom(std::string_view name,
                                               const core::Column& column,
                                               const ir::Arguments& arguments = {}) {
  std::vector<core::RowId> ids;
  ids.reserve(column.rows());
  for (int64_t row = 0; row < column.rows(); ++row) {
    ids.push_back({7, static_cast<uint64_t>(row)});
  }
  const core::Block block = core::Block(column.rows(), core::FieldNames{}, {})
                                .WithIds(*core::IdColumn(ids, core::HeapPool()));
  const ir::Draws draws = {.key = base::RandomKey(1, 2, 3), .rows = &block};
  return CallKernel(name, {Rows(column)}, arguments, &draws);
}

inline core::Tensor TensorOf(const Picture& picture) {
  return core::Tensor::FromValues<uint8_t>(
      picture.pixels, {picture.size.height, picture.size.width, picture.channels});
}

// The same picture in every row.
inline core::Column Copies(const Picture& picture, int64_t rows) {
  core::Tensors tensors(rows, TensorOf(picture));
  return core::Column::OfTensors(core::DType::kUint8, std::move(tensors));
}

// How many rows hold the very tensor.
inline int64_t CountOf(const core::Column& column, const core::Tensor& tensor) {
  int64_t count = 0;
  for (int64_t row = 0; row < column.rows(); ++row) {
    count += *column.Row(row) == tensor ? 1 : 0;
  }
  return count;
}

// How many rows are unlike all before them.
inline int64_t CountDifferent(const core::Column& column) {
  core::Tensors seen;
  for (int64_t row = 0; row < column.rows(); ++row) {
    const core::Tensor tensor = *column.Row(row);
    if (std::ranges::find(seen, tensor) == seen.end()) seen.push_back(tensor);
  }
  return static_cast<int64_t>(seen.size());
}

}  // namespace millrace::kernels
