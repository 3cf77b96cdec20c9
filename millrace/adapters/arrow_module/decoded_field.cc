#include "millrace/adapters/arrow_module/decoded_field.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "arrow/array/array_base.h"
#include "arrow/array/concatenate.h"
#include "arrow/result.h"

namespace millrace::arrow_module {

arrow::Result<std::shared_ptr<arrow::Array>> DecodedField::Take(int64_t rows) {
  while (ready_rows_ < rows && !ended_) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> more, next_());
    ended_ = more == nullptr;
    if (ended_ || more->length() == 0) continue;
    ready_rows_ += more->length();
    ready_.push_back(std::move(more));
  }
  if (ready_.empty()) return nullptr;
  std::shared_ptr<arrow::Array> all = ready_.front();
  if (ready_.size() > 1) {
    ARROW_ASSIGN_OR_RAISE(all, arrow::Concatenate(ready_, pool_));
  }
  ready_.clear();
  const int64_t taken = std::min(rows, ready_rows_);
  if (taken < ready_rows_) ready_.push_back(all->Slice(taken));
  ready_rows_ -= taken;
  return taken < all->length() ? all->Slice(0, taken) : all;
}

}  // namespace millrace::arrow_module
