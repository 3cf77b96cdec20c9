// For tests: small blocks, and frames of them.
#pragma once

#include <cstdint>
#include <vector>

#include "millrace/core/block.h"
#include "millrace/core/column.h"
#include "millrace/core/dtype.h"
#include "millrace/core/pool.h"
#include "millrace/core/tensor.h"
#include "millrace/frames/frame.h"

namespace millrace::storage {

// Rows 0, 1, 2, … of a field `x`.
inline core::Block NumbersBlock(int64_t rows, int64_t first = 0) {
  std::vector<int64_t> values;
  for (int64_t row = 0; row < rows; ++row) values.push_back(first + row);
  core::Column column = core::Column::Dense(
      core::DType::kInt64, rows, {},
      core::CopyBytes(values.data(), rows * 8, core::HeapPool()).value());
  return {rows, {"x"}, {std::move(column)}};
}

inline frames::Frame FrameOf(int64_t rows) {
  return frames::Encode(NumbersBlock(rows), core::HeapPool()).value();
}

}  // namespace millrace::storage
