// The rows of one field of a part, in order, so many at a time as are asked for,
// however Arrow cuts them. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "arrow/array/array_base.h"
#include "arrow/memory_pool.h"
#include "arrow/result.h"
#include "arrow/status.h"

namespace millrace::arrow_module {

// Gives what comes next; null at the end.
using NextArray = std::function<arrow::Result<std::shared_ptr<arrow::Array>>()>;

class DecodedField {
 public:
  DecodedField(NextArray next, arrow::MemoryPool* pool)
      : next_(std::move(next)), pool_(pool) {}

  // Gives so many rows, or what is left; null when nothing is.
  arrow::Result<std::shared_ptr<arrow::Array>> Take(int64_t rows);

 private:
  const NextArray next_;
  arrow::MemoryPool* const pool_;
  std::vector<std::shared_ptr<arrow::Array>> ready_;
  int64_t ready_rows_ = 0;
  bool ended_ = false;
};

}  // namespace millrace::arrow_module
